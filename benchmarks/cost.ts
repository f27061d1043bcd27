/**
 * What the same F1 costs of the GPU: fixed repeats, `--until-sure` and pairs, on runs that were measured on GPUs
 * (test/fixtures/real-runs): `node benchmarks/cost.ts [MATRICES] [SEED]`, 100 and 1.
 */
import { realChanges } from './cost/real-changes.ts';
import { readVisits } from './cost/real-runs.ts';
import { PERCENTS, score, type Scored } from './cost/score.ts';
import type { Benchmark, Row } from './row.ts';
import { sized } from './size.ts';

const MATRICES = sized(100, 2);
/** An F1 that is worth having, and of changes of which size. */
const GOAL = { f1: 0.95, percent: 2 };

export const cost: Benchmark = { name: 'cost', run: () => Promise.resolve(rows(MATRICES, 1)) };

/** Cells with a CUDA graph on one H100, whose runs are drawn once each, and those without on an H200. */
export function scoredCells(matrices: number, seed: number): { steady: readonly Scored[]; noisy: readonly Scored[] } {
  const of = (name: string, hasGraph: boolean): Scored[] =>
    readVisits()
      .filter((visit) => visit.name === name)
      .flatMap((visit) => score(visit, hasGraph, matrices, seed));
  return { steady: of('h100', true), noisy: of('h200', false) };
}

function rows(matrices: number, seed: number): Row[] {
  const { steady } = scoredCells(matrices, seed);
  const fixed = cheapest(steady, (way) => FIXED.test(way) && way.endsWith('compare'));
  const what = `GPU time to F1 ${GOAL.f1} at ${GOAL.percent} %, nothing changed`;
  return ['--until-sure', '--confirm'].map((option): Row => {
    const found = cheapest(steady, (way) => way.includes(option));
    const against = fixed?.way ?? 'fixed repeats';
    if (found === null || fixed === null) {
      return { kind: 'not measured', what: `${option}: ${what}`, against, reason: 'it is not reached' };
    }
    const [ours, theirs] = [found.quiet.secondsACell, fixed.quiet.secondsACell];
    return {
      kind: 'measured',
      what: `${found.way}: ${what}`,
      against,
      ratio: ours / theirs,
      unit: '×',
      target: null,
      ours: `${ours.toFixed(2)} s a cell`,
      theirs: `${theirs.toFixed(2)} s a cell`,
    };
  });
}

/** Always the same runs. */
const FIXED = /^--repeats \d+, (?:compare|check)$/;

function cheapest(scored: readonly Scored[], isOne: (way: string) => boolean): Scored | null {
  const good = scored.filter(({ byPercent, way }) => isOne(way) && (byPercent.get(GOAL.percent)?.f1 ?? 0) >= GOAL.f1);
  return good.toSorted((a, b) => a.quiet.secondsACell - b.quiet.secondsACell)[0] ?? null;
}

/** The table of benchmarks/README.md, and what the models that were really slower add. */
function markdown(matrices: number, seed: number): string[] {
  const { noisy, steady } = scoredCells(matrices, seed);
  const heads = ['s', ...PERCENTS.map((percent) => `${percent} %`), 'false'];
  const slower = readVisits().find(({ name }) => name === 'h100-slower');
  return [
    line(['', ...heads, ...heads]),
    line(['---', ...[...heads, ...heads].map(() => '---:')]),
    ...steady.map((one, place) => line([one.way, ...figuresOf(one), ...figuresOf(noisy[place])])),
    '',
    ...(slower === undefined ? [] : realChanges(slower)).map(
      ({ falseCalls, found, percent, replaced, same, secondsACell, way }) => {
        const change = percent.map((one) => one.toFixed(1)).join(' to ');
        return `a slower model, ${change} %: ${way}: ${found} of ${replaced} found, ${falseCalls} of ${same} others called, ${secondsACell.toFixed(1)} s a cell`;
      },
    ),
  ];
}

function figuresOf(scored: Scored | undefined): string[] {
  if (scored === undefined) return [];
  const { byPercent, changed, quiet } = scored;
  const [still, moved] = [quiet, changed].map(({ secondsACell }) => secondsACell.toFixed(1));
  const rate = (quiet.falseCalls + changed.falseCalls) / (quiet.unchanged + changed.unchanged);
  return [
    FIXED.test(scored.way) || still === moved ? `${still}` : `${still}, ${moved}`,
    ...PERCENTS.map((percent) => (byPercent.get(percent)?.f1 ?? 0).toFixed(2).replace(/^0/, '')),
    (1000 * rate).toFixed(0),
  ];
}

function line(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}

if (import.meta.main) {
  const [matrices = MATRICES, seed = 1] = process.argv.slice(2).map(Number);
  process.stdout.write(`${markdown(matrices, seed).join('\n')}\n`);
}
