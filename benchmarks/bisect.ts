/**
 * How `bench bisect` decides, against `git bisect run` with a script that holds a fixed number of runs against a
 * threshold: how often the answer is right, and what it costs. A simulation of the decision rules with seeded random
 * numbers; nothing is built or run, and a line of commits is halved as git does it.
 *
 *     node benchmarks/bisect.ts [SEARCHES]
 */
import { cellsToRepeat } from '../src/judge/adaptive-repeats.ts';
import { compareCells } from '../src/judge/compare/compare-cells.ts';
import { median } from '../src/statistics/order-statistics.ts';
import { seededRandom } from '../src/matrix/plan/order.ts';

const COMMITS = 200;
const MAX_RUNS = 30;
const SEARCHES = Number(process.argv[2] ?? 2000);

interface Setting {
  readonly name: string;
  /** Of the culprit, as a share of the time. */
  readonly change: number;
  /** Standard deviation from run to run, as a share. */
  readonly noise: number;
  /** Share of commits that cannot be built. */
  readonly broken?: number;
  /** Standard deviation between engines built from commits that are alike. */
  readonly builds?: number;
  /** The machine is so much slower from the 31st run on. */
  readonly drift?: number;
}

const SETTINGS: readonly Setting[] = [
  { name: '3 % slower, noise 1 %', change: 0.03, noise: 0.01 },
  { name: '... 10 % of commits broken', change: 0.03, noise: 0.01, broken: 0.1 },
  { name: '... builds differ by 0.5 %', change: 0.03, noise: 0.01, builds: 0.005 },
  { name: '... machine 2 % slower later', change: 0.03, noise: 0.01, drift: 0.02 },
  { name: '3 % slower, noise 2 %', change: 0.03, noise: 0.02 },
  { name: '... 10 % of commits broken', change: 0.03, noise: 0.02, broken: 0.1 },
  { name: '1.5 % slower, noise 1 %', change: 0.015, noise: 0.01 },
  { name: '10 % slower, noise 1 %', change: 0.1, noise: 0.01 },
  { name: 'no commit is slower, noise 1 %', change: 0, noise: 0.01 },
];

const LAST = COMMITS - 1;
/** Of `bench bisect`: runs of each side, at least. */
const LEAST_RUNS = 4;

type StepVerdict = 'good' | 'bad' | 'skip';

type Answer = 'right' | 'range' | 'none' | 'wrong';

interface Outcome {
  readonly answer: Answer;
  readonly runs: number;
}

/** A repository on a machine: every look at a commit is one run. The good end is commit -1. */
class Machine {
  readonly culprit: number;
  runs = 0;
  private readonly setting: Setting;
  private readonly random: () => number;
  private readonly luck: readonly number[];
  private readonly broken: readonly boolean[];

  constructor(setting: Setting, seed: number) {
    this.setting = setting;
    this.random = seededRandom(seed);
    this.culprit = setting.change === 0 ? COMMITS : Math.floor(this.random() * COMMITS);
    this.luck = Array.from({ length: COMMITS }, () => (setting.builds ?? 0) * this.normal());
    this.broken = Array.from(
      { length: COMMITS },
      (_, place) => place !== LAST && this.random() < (setting.broken ?? 0),
    );
  }

  isBroken(commit: number): boolean {
    return this.broken[commit] ?? false;
  }

  run(commit: number): number {
    this.runs += 1;
    const drift = this.runs > 30 ? (this.setting.drift ?? 0) : 0;
    const level = (commit >= this.culprit ? this.setting.change : 0) + (this.luck[commit] ?? 0);
    return Math.exp(level + drift + this.setting.noise * this.normal());
  }

  private normal(): number {
    const radius = Math.sqrt(-2 * Math.log(this.random() + 1e-12));
    return radius * Math.cos(2 * Math.PI * this.random());
  }
}

/** What the search ends with when `judge` gives the verdicts; what is skipped is replaced by a neighbor. */
function search(machine: Machine, judge: (commit: number) => StepVerdict): Answer {
  const skipped = new Set<number>();
  let [good, bad] = [-1, LAST];
  for (;;) {
    const open = Array.from({ length: bad - good - 1 }, (_, place) => good + 1 + place).filter(
      (at) => !skipped.has(at),
    );
    const commit = open[Math.floor(open.length / 2)];
    if (commit === undefined) break;
    const verdict = machine.isBroken(commit) ? 'skip' : judge(commit);
    if (verdict === 'skip') skipped.add(commit);
    else if (verdict === 'good') good = commit;
    else bad = commit;
  }
  if (machine.culprit <= good || machine.culprit > bad) return 'wrong';
  return bad - good === 1 ? 'right' : 'range';
}

/** Rounds of both sides, as `bench compare --run` decides how many, and its verdict. */
function compared(machine: Machine, commit: number, smallest: number) {
  const [base, head]: [number[], number[]] = [[], []];
  const cell = { cellKey: '', base, head, past: [], kind: '', betterIs: 'lower' as const, runS: 1 };
  for (;;) {
    base.push(machine.run(-1));
    head.push(machine.run(commit));
    if (base.length < LEAST_RUNS) continue;
    const { open, limitedByNights } = cellsToRepeat([cell], 1 + base.length - LEAST_RUNS, {
      percent: smallest,
      deviations: 0,
    });
    if (base.length === MAX_RUNS || open.length + limitedByNights.length === 0) break;
  }
  const { verdict, changePercent, ciPercent } = compareCells([cell]).cells[0] ?? {};
  const [low, high] = ciPercent ?? [-Infinity, Infinity];
  return { verdict, changePercent: changePercent ?? 0, isSmall: Math.max(-low, high) < smallest };
}

/** As `--min-change` of half the change of the ends maps to exit codes. */
function ours(machine: Machine): Answer {
  const ends = compared(machine, LAST, 1);
  if (ends.verdict !== 'slower') return machine.culprit < COMMITS ? 'none' : 'right';
  const half = ends.changePercent / 2;
  return search(machine, (commit) => {
    const { changePercent, isSmall, verdict } = compared(machine, commit, half);
    if (verdict === 'slower' && changePercent >= half) return 'bad';
    return verdict === 'unclear' && !isSmall ? 'skip' : 'good';
  });
}

/** `git bisect run` with a script that exits by a threshold: midway between both ends, measured as often as a commit. */
function plain(machine: Machine, runs: number): Answer {
  const level = (commit: number): number => median(Array.from({ length: runs }, () => machine.run(commit))) ?? 0;
  const threshold = (level(-1) + level(LAST)) / 2;
  return search(machine, (commit) => (level(commit) > threshold ? 'bad' : 'good'));
}

const STRATEGIES: readonly (readonly [string, (machine: Machine) => Answer])[] = [
  ['bench bisect', ours],
  ['git bisect run, 1 run', (machine) => plain(machine, 1)],
  ['git bisect run, 5 runs', (machine) => plain(machine, 5)],
  ['git bisect run, 15 runs', (machine) => plain(machine, 15)],
];

function percent(outcomes: readonly Outcome[], answer: Answer): string {
  const share = outcomes.filter((outcome) => outcome.answer === answer).length / outcomes.length;
  return `${(share * 100).toFixed(1)} %`.padStart(8);
}

process.stdout.write(
  `${COMMITS} commits, ${SEARCHES} searches of each kind, at most ${MAX_RUNS} runs of a commit\n\n` +
    `| ${'setting'.padEnd(31)} | ${''.padEnd(23)} |    right |    range |     none |    wrong |  runs |  95 % |\n` +
    '| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n',
);
for (const setting of SETTINGS) {
  for (const [name, strategy] of STRATEGIES) {
    const outcomes = Array.from({ length: SEARCHES }, (_, seed): Outcome => {
      const machine = new Machine(setting, seed + 1);
      return { answer: strategy(machine), runs: machine.runs };
    });
    const runs = outcomes.map((outcome) => outcome.runs).toSorted((a, b) => a - b);
    const mean = runs.reduce((sum, value) => sum + value, 0) / runs.length;
    const most = runs[Math.floor(runs.length * 0.95)] ?? 0;
    const shares = (['right', 'range', 'none', 'wrong'] as const).map((answer) => percent(outcomes, answer));
    const label = strategy === ours ? setting.name : '';
    process.stdout.write(
      `| ${label.padEnd(31)} | ${name.padEnd(23)} | ${shares.join(' | ')} | ${mean.toFixed(0).padStart(5)} | ${String(most).padStart(5)} |\n`,
    );
  }
}
