import { join } from 'node:path';

import { absolute, type Row } from '../row.ts';
import { sized } from '../timing.ts';
import { checkedAfter, news, removeStore, share } from './morning.ts';
import { type Affected, CALM, type Disturbance, gateCells, simulateSweeps } from './simulate-sweeps.ts';

const SEEDS = sized(20, 1);
const SWEEPS = 20;
const CELLS = 12;
const MATRICES = ['first', 'second'] as const;

/** One cell each, in turn. */
const WORSE = [
  { what: 'throughput', metric: 'throughputQps', from: 3, percent: 20 },
  { what: 'p99', metric: 'p99Ms', from: 6, percent: 30 },
  { what: 'hostBound', metric: 'hostBoundPercent', from: 9, percent: 0 },
  { what: 'memory', metric: 'engineMib', from: 12, percent: 20 },
  { what: 'accuracy', metric: 'sqnrDb', from: 15, percent: 6 },
] as const satisfies readonly (Pick<Disturbance, 'what' | 'from' | 'percent'> & { readonly metric: string })[];

/** Sweeps after the first bad one in which a finding is still in time without pairs. */
const LATEST = 3;

/** Twenty sweeps of two matrices, checked after each two, in which one cell of each metric is made worse in turn. */
export async function worseMetrics(folder: string): Promise<Row[]> {
  const cells = gateCells(CELLS);
  const delays = new Map<Affected, number[]>(WORSE.map(({ what }) => [what, []]));
  let others = 0;
  let repeated = 0;
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const path = join(folder, 'metrics.sqlite');
    const seen = new Map<string, number>();
    for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
      for (const [number, name] of MATRICES.entries()) {
        // Of either matrix another cell.
        const disturbances = WORSE.map(({ what, from, percent }, place): Disturbance => {
          const cell = 2 * place + number;
          return { what, from, percent, isAffected: (_, other) => other === cell };
        });
        const matrix = { name, number };
        simulateSweeps(path, { cells: CELLS, repeats: 3, seed, noise: CALM, disturbances, matrix }, sweep, 1);
      }
      for (const finding of news(await checkedAfter(path, sweep))) {
        const number = MATRICES.findIndex((name) => name === finding.matrix);
        const place = WORSE.findIndex(
          ({ from, metric }, index) =>
            finding.cells.every((key) => key === cells[2 * index + number]?.key) &&
            sweep >= from &&
            finding.metrics.some((one) => one.metric === metric),
        );
        const expected = WORSE[place];
        const name = `${number} ${place}`;
        if (expected === undefined) others += 1;
        else if (seen.has(name)) repeated += 1;
        else {
          seen.set(name, sweep);
          delays.get(expected.what)?.push(sweep - expected.from);
        }
      }
    }
    removeStore(path);
  }
  const against = `${SEEDS} seeds, two matrices of ${CELLS} cells`;
  const rows = WORSE.map(({ what, percent }) => {
    const found = delays.get(what) ?? [];
    const unit = what === 'accuracy' ? 'dB' : '%';
    return share(
      `${what}${percent === 0 ? '' : ` ${percent} ${unit}`} worse: reported by the fourth sweep`,
      against,
      [found.filter((delay) => delay <= LATEST).length, SEEDS * MATRICES.length],
      { atLeast: 100 },
      `in the first: ${found.filter((delay) => delay === 0).length}`,
    );
  });
  const what = 'other findings of one cell worse in one metric';
  const ours = `${others} others, ${repeated} reported twice`;
  return [...rows, absolute(what, others + repeated, '', { atMost: 1 }, { against, ours })];
}
