import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { compareCells } from '../../../src/judge/compare/compare-cells.ts';
import type { KeyedCell } from '../../../src/records/cell.ts';
import type { MetricId } from '../../../src/records/metric.ts';
import { isCalled } from '../../../src/records/verdict.ts';
import { textWidth } from '../../../src/terminal/look.ts';
import { bench, ROOT } from '../../support/bench.ts';
import { simulatedStore } from '../../support/made-stores.ts';
import { imageCell } from '../../support/image-cell.ts';
import { simulateNights, sweepOfNight } from '../../support/simulated-store.ts';
import { change } from '../../support/store-dump.ts';

interface RealRun {
  readonly sweep: number;
  /** 0 is the first one measured; others are of a model with more layers. */
  readonly engine: number;
  readonly isPair: boolean;
  /** Center of the GPU compute times. */
  readonly ms: number;
}

type VisitedCell = { readonly cell: KeyedCell; readonly runs: readonly RealRun[] };

/** Sweeps of a ResNet and a ViT on an H100; in the second and the third the ResNet has more small layers. */
function visitedCells(): VisitedCell[] {
  const { visits } = JSON.parse(readFileSync(join(ROOT, 'test', 'fixtures', 'real-runs', 'runs.json'), 'utf8'));
  const { cells, runs } = visits.find(({ name }: { readonly name: string }) => name === 'h100-slower');
  return cells.map((cell: Parameters<typeof imageCell>[0], place: number) => ({
    cell: imageCell({ ...cell, precisionVia: 'flag' }),
    runs: runs
      .filter(([ofCell]: readonly number[]) => ofCell === place)
      .map(([, sweep, engine, pair, , , ms]: readonly number[]) => ({ sweep, engine, isPair: pair === 1, ms })),
  }));
}

test.each([
  [1, 1.4, 2.5],
  [2, 3.8, 4.8],
])(
  'of sweep %i each cell of the model with more layers is slower by %f to %f %%, and no other',
  (head, least, most) => {
    const cells = visitedCells();
    const valuesOf = ({ runs }: VisitedCell, sweep: number): number[] =>
      runs.flatMap((run) => (run.sweep === sweep && !run.isPair ? [run.ms] : []));
    const judged = compareCells(
      cells.map((one) => ({
        cellKey: one.cell.key,
        base: valuesOf(one, 0),
        head: valuesOf(one, head),
        betterIs: 'lower',
      })),
    ).cells.filter(isCalled);
    const replaced = cells.filter(({ runs }) => runs.some(({ engine, sweep }) => sweep === head && engine > 0));
    expect(judged.map(({ cellKey, verdict }) => [cellKey, verdict])).toEqual(
      replaced.map(({ cell }) => [cell.key, 'slower']),
    );
    const percents = judged.map(({ changePercent }) => changePercent ?? 0);
    expect([Math.min(...percents) > least, Math.max(...percents) < most]).toEqual([true, true]);
  },
);

/**
 * Sweeps of an H100, the first of them `quiet` times, and the pairs that were measured after the last, of the cells of these batches: of a ResNet, in the
 * last with three more small layers, and of a ViT.
 * @returns the lines of `bench check`
 */
async function checkedPairs(
  columns: number,
  batches: readonly number[],
  models: readonly string[],
  metric: MetricId = 'gpuComputeMs',
  quiet = 1,
) {
  const chosen = visitedCells().filter(
    ({ cell }) => batches.includes(cell.shapes['input']?.[0] ?? 0) && models.includes(cell.model),
  );
  const cells = chosen.map(({ cell }) => cell);
  const runsOf = (place: number, isWanted: (run: RealRun) => boolean): readonly RealRun[] =>
    (chosen[place]?.runs ?? []).filter(isWanted);
  const timed = (place: number, sweep: number, repeat: number): number | null =>
    runsOf(place, (run) => run.sweep === (sweep < quiet ? 0 : 1) && !run.isPair)[repeat - 1]?.ms ?? null;
  const db = simulatedStore({ cells, nights: quiet + 1, repeats: 2, value: timed });
  // The newest engine has the odd numbers.
  const paired = (place: number, repeat: number): number | null =>
    runsOf(place, ({ engine, isPair }) => isPair && engine > 0 === (repeat % 2 === 1))[(repeat - 1) >> 1]?.ms ?? null;
  const value = (place: number, _: number, repeat: number) => paired(place, repeat);
  simulateNights(db, { cells, nights: 1, repeats: 10, after: quiet + 1, value });
  const pairs = cells
    .filter((_, place) => paired(place, 1) !== null)
    .map(({ key }) => ({
      cellKey: key,
      metric,
      lastGoodSweepId: sweepOfNight(quiet - 1),
      newestBuildId: 'newest',
      lastGoodBuildId: 'last good',
      isUnsteady: false,
      problem: null,
    }));
  const [second, third] = [sweepOfNight(quiet), sweepOfNight(quiet + 1)];
  change(db, `UPDATE runs SET sweep_id = '${second}', role = 'pair' WHERE sweep_id = '${third}'`);
  change(db, `DELETE FROM sweeps WHERE sweep_id = '${third}'`);
  change(db, `UPDATE sweeps SET plan = '${JSON.stringify({ pairs })}' WHERE sweep_id = '${second}'`);
  const env = { ...process.env, COLUMNS: String(columns) };
  const { code, stdout } = await bench(['check'], { env: { ...env, BENCH_DB: db } });
  return { code, lines: stdout.split('\n') };
}

test('the finding names the whole group, its sizes, and how many cells were measured in pairs', async () => {
  const { code, lines } = await checkedPairs(120, [1, 2, 4, 8, 16], ['resnet', 'vit']);
  expect([code, lines[0]]).toEqual([1, '5 cells slower: 5 new']);
  expect(lines[4]).toMatch(/^▲ \w{8} 5 of 10 cells slower by 1\.4 to 2\.4 %: all resnet, since 2026-01-02$/);
  expect(lines.slice(5, 7)).toEqual([
    '  new in GPU compute time: 5 of 5 pairs with the last good engine in 3 of its 5 cells (median +2.1 %), 95 % interval',
    '    +1.3 … +2.4 % in the clearest cell',
  ]);
  expect(lines.filter((line) => /^(?:resnet|vit) /.test(line)).map((line) => line.split(/ {2,}/).slice(2, 5))).toEqual([
    ['b2', '0.1785 ms', '+2.4 %'],
    ['b1', '0.1721 ms', '+2.1 %'],
    ['b16', '0.3109 ms', '+1.9 %'],
    ['b4', '0.1925 ms', '+1.7 %'],
    ['b8', '0.2111 ms', '+1.4 %'],
  ]);
  const narrow = await checkedPairs(60, [1, 2, 4, 8, 16], ['resnet', 'vit']);
  expect(narrow.lines.filter((line) => textWidth(line) > 60)).toEqual([]);
});

test('pairs of five of five confirm 2 % in the second sweep of a store that has one cell', async () => {
  const { code, lines } = await checkedPairs(120, [1], ['resnet']);
  expect(code).toBe(1);
  expect(lines).toContain('  new in GPU compute time: 5 of 5 pairs with the last good engine (median +2.1 %)');
});

test('pairs of another metric than that of the finding name it', async () => {
  const { lines } = await checkedPairs(120, [1], ['resnet'], 'throughputQps', 3);
  const text = 'new in GPU compute time: 5 of 5 pairs with the last good engine (median throughput -2.1 %)';
  expect(lines.join(' ')).toContain(text);
});
