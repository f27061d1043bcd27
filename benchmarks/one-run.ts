/**
 * How many steps any rule can tell in their sweep, when a cell has one run a sweep and single runs of some cells are off
 * by 5 to 40 %: such a run and such a step look the same until the next sweep. The rule here knows how the sweeps were
 * simulated, and the level before exactly, so that no other one tells more at the same rate of false alarms.
 *
 *     node benchmarks/one-run.ts FOLDER...        each with sweeps.jsonl and truth.jsonl
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

interface Truth {
  readonly kind: string;
  /** Runs of a sweep. */
  readonly k: number;
  /** Logs of the true values by sweep. */
  readonly levels: readonly number[];
  readonly events: readonly { readonly at: number; readonly kind: string; readonly rel: number }[];
  readonly sigma_run: number;
  readonly sigma_sweep: number;
  readonly sigma_night: number;
}

interface Simulated {
  readonly sweeps: readonly (readonly number[] | null)[];
}

/** Shares of cells and sweeps, and sizes, of the simulation. */
const OFF = { cells: 0.06, sweeps: 0.08, least: 0.05, most: 0.4, slower: 0.85 } as const;
const STEP = { cells: 0.069, young: 0.35, youngSweeps: 9, slower: 0.75, large: 0.08 } as const;
const EXCURSION = { cells: 0.037, sweeps: 0.00092, least: 0.03, most: 0.3 } as const;

/** Least z, the size of a change in standard deviations of a sweep, at which it counts. */
const LEAST_Z = 6;
/** False alarms in 1,000 sweeps of cells with such runs. */
const FALSE_PER_1000 = 5;

/** Size of a slow-down, or of the slow-down that a speed-up takes back. */
function sizeOf(rel: number): number {
  return rel > 0 ? rel : 1 / (1 + rel) - 1;
}

function within(size: number, { least, most }: { readonly least: number; readonly most: number }): number {
  return size >= least && size <= most ? 1 / (most - least) : 0;
}

/** Odds that a change of this size is one, and no run that is off. `seen`, `off`: earlier sweeps, and those off. */
function oddsOf(rel: number, at: number, sweeps: number, seen: number, off: number): number {
  const size = sizeOf(rel);
  const likelihood = (share: number): number => share ** off * (1 - share) ** (seen - off);
  const [ofOff, others] = [OFF.cells * likelihood(OFF.sweeps), (1 - OFF.cells) * likelihood(EXCURSION.sweeps)];
  const isOff = ofOff / (ofOff + others);
  const direction = (slower: number): number => (rel > 0 ? slower : 1 - slower);
  const hazard = (at <= 10 ? STEP.young / STEP.youngSweeps : 0) + (1 - STEP.young) / Math.max(1, sweeps - 2);
  const small = size >= 0.005 && size <= 0.6 ? (1 - STEP.large) / (size * Math.log(120)) : 0;
  const step = hazard * direction(STEP.slower) * (small + STEP.large * within(size, { least: 1, most: 3 }));
  const excursion = ((1 - isOff) * EXCURSION.cells * within(rel, EXCURSION)) / Math.max(1, sweeps - 2);
  return (STEP.cells * step + excursion) / (isOff * OFF.sweeps * direction(OFF.slower) * within(size, OFF));
}

const rows = new Map<string, number[]>();
const falseOdds: number[] = [];
let sweepsOfOff = 0;

for (const folder of process.argv.slice(2)) {
  const [truths = [], simulated = []] = ['truth.jsonl', 'sweeps.jsonl'].map((name) =>
    readFileSync(join(folder, name), 'utf8').trim().split('\n'),
  );
  for (const [place, line] of truths.entries()) {
    const truth: Truth = JSON.parse(line);
    const { sweeps }: Simulated = JSON.parse(simulated[place] ?? '');
    judge(truth, sweeps);
  }
}

function judge({ events, k, kind, levels, ...truth }: Truth, sweeps: Simulated['sweeps']): void {
  const deviation = Math.hypot(truth.sigma_sweep, truth.sigma_night, truth.sigma_run / Math.sqrt(k));
  const measured = [...sweeps.keys()].filter((at) => sweeps[at] !== null);
  const hasOff = kind === 'outlier' && k === 1;
  if (hasOff) sweepsOfOff += measured.filter((at) => at > 0).length;
  const begins = new Map(
    events.map((event) => [event.kind === 'excursion' ? event.at : measured.find((at) => at >= event.at), event]),
  );
  let off = 0;
  for (const [seen, at] of measured.entries()) {
    const event = begins.get(at);
    const log = Math.log(sweeps[at]?.[0] ?? 1) - (levels[at] ?? 0);
    const size = Math.min(OFF.most, Math.max(OFF.least, Math.expm1(Math.abs(log))));
    const isOff = hasOff && event === undefined && Math.abs(log) > OFF.least - 0.02;
    const rel = event?.rel ?? (log > 0 ? size : 1 / (1 + size) - 1);
    if (event === undefined && !isOff) continue;
    const isCommon = event?.kind === 'group' || event?.kind === 'all';
    const odds = k > 1 || isCommon ? Infinity : oddsOf(rel, at, sweeps.length, seen, off);
    if (isOff) falseOdds.push(odds);
    else if (event !== undefined) addTo(event, Math.abs(Math.log1p(rel)) / deviation, odds);
    if ((isOff || event?.kind === 'excursion') && within(sizeOf(rel), OFF) > 0) off += 1;
  }
}

function addTo({ at, kind, rel }: Truth['events'][number], z: number, odds: number): void {
  if (z < LEAST_Z) return;
  const names = kind === 'excursion' ? ['excursions'] : [z > 10 ? 'all >10' : 'all 6-10'];
  if (/step|recovery/.test(kind)) names.push(`single, ${at <= 10 ? 'young' : 'later'} ${z > 10 ? '>10' : '6-10'}`);
  if (kind === 'step' && Math.abs(rel) >= 0.2 && at > 20) names.push('20 % and more after 20 sweeps');
  for (const name of names) rows.set(name, [...(rows.get(name) ?? []), odds]);
}

const allowed = Math.floor((FALSE_PER_1000 * sweepsOfOff) / 1000);
const threshold = falseOdds.toSorted((a, b) => b - a)[allowed] ?? 0;
for (const [name, odds] of [...rows].toSorted()) {
  const told = odds.filter((own) => own > threshold).length;
  process.stdout.write(`${name.padEnd(30)} ${((100 * told) / odds.length).toFixed(1)} % of ${odds.length}\n`);
}
