import { judgePairs, pairsNeeded } from '../../src/judge/gate/judge-pairs.ts';
import type { PairResult, Candidate } from '../../src/judge/gate/evidence.ts';
import type { GatedMetricId } from '../../src/records/gated-metric.ts';
import { alarms, SimulatedGate } from '../../test/support/gate-evidence.ts';
import { normals, simulatedCells } from '../../test/support/simulated-store.ts';

const METRICS = ['gpuComputeMs', 'throughputQps', 'p99Ms'] as const satisfies readonly GatedMetricId[];
const SWEEPS = 19;
const RUNS = 3;
/** Standard deviations in logarithms: of a sweep of a cell, of its runs, and of their p99. */
const NIGHT = 0.002;
const RUN = 0.003;
const P99 = 0.012;

export interface FewSweeps {
  readonly cells: number;
  readonly isPaired: boolean;
  /** Cell 0 is slower by this share from this sweep on. */
  readonly step: { readonly sweep: number; readonly share: number } | null;
  readonly seed: number;
}

/** In which sweeps there is an alarm; counted from 1. */
function alarmedSweeps({ cells, isPaired, step, seed }: FewSweeps): number[] {
  const normal = normals(seed);
  const isSlow = (cell: number, sweep: number): boolean => step !== null && cell === 0 && sweep + 1 >= step.sweep;
  const levelOf = (cell: number, sweep: number): number => (isSlow(cell, sweep) ? Math.log1p(step?.share ?? 0) : 0);
  const drawn = new Map<string, number[]>();
  const timesOf = (cell: number, sweep: number): number[] => {
    const name = `${cell} ${sweep}`;
    const found = drawn.get(name);
    if (found !== undefined) return found;
    const night = levelOf(cell, sweep) + NIGHT * normal();
    const made = Array.from({ length: RUNS }, () => 2 * Math.exp(night + RUN * normal()));
    drawn.set(name, made);
    return made;
  };
  const keyed = simulatedCells(cells);
  const pairsOf = (candidates: readonly Candidate[], sweep: number): PairResult[] =>
    candidates.flatMap(({ cellKeys, isUnsteady, changePercent, metric }) =>
      cellKeys.map((cellKey) => {
        const cell = keyed.findIndex(({ key }) => key === cellKey);
        const value = (level: number): number => 2 * Math.exp(level + RUN * normal());
        const { count } = pairsNeeded({ isUnsteady });
        const pairs = Array.from({ length: count }, () => ({
          newest: value(levelOf(cell, sweep)),
          lastGood: value(0),
        }));
        const now = 2 * (1 + Math.abs(changePercent) / 100);
        const judged = judgePairs({
          cellKey,
          pairs,
          sigma: RUN,
          before: 2,
          now,
          isUnsteady,
          isSameSources: false,
          minChangePercent: 0,
        });
        return { metric, ...judged };
      }),
    );
  const gate = new SimulatedGate({
    cells: keyed,
    metrics: METRICS,
    values: (cell, sweep, metric) => {
      const times = timesOf(cell, sweep);
      if (metric === 'gpuComputeMs') return times;
      if (metric === 'throughputQps') return times.map((ms) => (1000 / ms) * Math.exp(0.001 * normal()));
      return times.map((ms) => ms * 1.05 * Math.exp(P99 * normal()));
    },
    ...(isPaired ? { pairs: pairsOf } : {}),
  });
  const alarmed: number[] = [];
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    if (alarms(gate.next(), sweep).length > 0) alarmed.push(sweep + 1);
  }
  return alarmed;
}

/** Share of sweeps 2 to 19 with an alarm where nothing changed. */
export function falseRate(cells: number, isPaired: boolean, matrices: number, seed: number): number {
  let alarmed = 0;
  for (let matrix = 0; matrix < matrices; matrix += 1) {
    alarmed += alarmedSweeps({ cells, isPaired, step: null, seed: seed + matrix }).length;
  }
  return alarmed / matrices / (SWEEPS - 1);
}

/** Share of steps of 3 % in one of 40 cells that are reported at once. */
export function foundAtOnce(sweep: number, isPaired: boolean, matrices: number, seed: number): number {
  let found = 0;
  for (let matrix = 0; matrix < matrices; matrix += 1) {
    const step = { sweep, share: 0.03 };
    if (alarmedSweeps({ cells: 40, isPaired, step, seed: seed + matrix }).includes(sweep)) found += 1;
  }
  return found / matrices;
}
