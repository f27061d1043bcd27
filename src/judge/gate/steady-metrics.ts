import { type GatedMetricId, gatedMetricOf, isBoundShare } from '../../records/gated-metric.ts';
import { MAX_DROP_DB } from '../../records/accuracy.ts';
import type { CellKey } from '../../records/scalars.ts';
import { median } from '../../statistics/median.ts';
import { type CellChange, cellChange, isMostlyLeft } from './cell-change.ts';
import type { CellEvidence, MetricHistory } from './evidence.ts';
import type { PlacedFinding } from './placed-finding.ts';

interface Margin {
  readonly share?: number;
  readonly difference?: number;
  /** Sweeps that say what is expected; 1 where nothing is stated. */
  readonly leastPast?: number;
}

/**
 * Metrics that hardly vary from run to run: a value beyond all of its recent past is a change by itself, and measuring
 * again would give it again. The margin is a share of the value, or a difference in its unit.
 */
const MARGINS: Readonly<Partial<Record<GatedMetricId, Margin>>> = {
  engineMib: { share: 0.02, difference: 0.1 },
  contextMib: { share: 0.02, difference: 0.1 },
  precisionSharePercent: { difference: 5 },
  sqnrDb: { difference: MAX_DROP_DB },
  // A build takes as long as its machine has other work: only a far longer one is worth a line.
  buildS: { share: 1, difference: 10, leastPast: 3 },
};

/** Recent values that a new one is held against. */
const RECENT_SWEEPS = 20;
const BOUND = {
  /** A cell that never had this bottleneck in this many sweeps, */
  calmSweeps: 10,
  /** and has it in every run of the first number of sweeps, or in some runs of each of the second. */
  sweeps: 2,
  mostSweeps: 4,
} as const;

export function isSteady(metric: GatedMetricId): boolean {
  return isBoundShare(metric) || MARGINS[metric] !== undefined;
}

/**
 * What the judged sweep says of a steady metric.
 * @param known what was reported of it in earlier sweeps
 * @param judged place of the judged sweep
 */
export function steadyChanges(
  evidence: CellEvidence,
  measured: MetricHistory,
  known: readonly PlacedFinding[],
  judged: number,
): CellChange[] {
  const { nights, values } = measured.history;
  if (nights.at(-1) !== judged || (isBoundShare(measured.metric) && values.at(-1) === 0)) return [];
  const entries = nights.map((place, index): Entry => ({ place, value: values[index] ?? 0 }));
  return isBoundShare(measured.metric)
    ? boundChanges(evidence, measured.metric, entries)
    : marginChanges(evidence, measured.metric, entries, known);
}

interface Entry {
  readonly place: number;
  readonly value: number;
}

function marginChanges(
  { cell }: CellEvidence,
  metric: GatedMetricId,
  entries: readonly Entry[],
  known: readonly PlacedFinding[],
): CellChange[] {
  const { share = 0, difference = 0, leastPast = 1 } = MARGINS[metric] ?? {};
  const now = entries.at(-1);
  const past = expectedPast(entries.slice(0, -1), cell.key, metric, known).slice(-RECENT_SWEEPS);
  const last = past.at(-1);
  if (now === undefined || last === undefined || past.length < leastPast) return [];
  const values = past.map(({ value }) => value);
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const distanceFrom = (edge: number): number =>
    Math.abs(now.value - edge) / Math.max(share * Math.abs(edge), difference);
  const margin = now.value > most ? distanceFrom(most) : now.value < least ? distanceFrom(least) : 0;
  if (margin <= 1) return [];
  const isWorse = now.value > most === (gatedMetricOf(metric).betterIs === 'lower');
  // A better value is no news of a metric that only warns.
  if (!isWorse && metric === 'buildS') return [];
  const facts = { place: now.place, lastGood: last.place, lasts: 'measured' as const, margin };
  return [cellChange(cell, metric, { before: last.value, after: now.value }, facts)];
}

/** The values that are expected after what was reported: those since it began, or the others where it is over. */
function expectedPast(
  entries: readonly Entry[],
  cellKey: CellKey,
  metric: GatedMetricId,
  known: readonly PlacedFinding[],
): readonly Entry[] {
  return known.reduce((past, { finding, place }) => {
    const change = finding.cells.find((cell) => cell.cellKey === cellKey && cell.metric === metric);
    if (change === undefined || place < 0) return past;
    return past.filter((entry) =>
      finding.state === 'recovered' ? entry.place < place || !isMostlyLeft(change, entry.value) : entry.place >= place,
    );
  }, entries);
}

/** From no run in all of the last sweeps to every run of the newest ones; some runs of each need more sweeps. */
function boundChanges({ cell }: CellEvidence, metric: GatedMetricId, entries: readonly Entry[]): CellChange[] {
  for (let count: number = BOUND.sweeps; count <= BOUND.mostSweeps; count += 1) {
    const [before, now] = [entries.slice(-count - BOUND.calmSweeps, -count), entries.slice(-count)];
    const [first, last] = [now[0], before.at(-1)];
    if (first === undefined || last === undefined || before.some(({ value }) => value > 0)) continue;
    const values = now.map(({ value }) => value);
    const isAll = values.every((value) => value >= 100);
    if (!isAll && !(count === BOUND.mostSweeps && values.every((value) => value > 0))) continue;
    const facts = { place: first.place, lastGood: last.place, lasts: 'history' as const };
    return [cellChange(cell, metric, { before: 0, after: median(values) ?? 100 }, facts)];
  }
  return [];
}
