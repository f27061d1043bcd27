import { type GatedMetricId, gatedMetricOf } from '../../records/gated-metric.ts';
import { MAX_DROP_DB } from '../../records/accuracy.ts';
import { type CellChange, cellChange } from './cell-change.ts';
import type { CellEvidence, MetricHistory } from './evidence.ts';

/**
 * Metrics that hardly vary from run to run: a value beyond all of its recent past is a change by itself, and measuring
 * again would give it again. The margin is a share of the value, or a difference in its unit.
 */
const MARGINS: Readonly<Partial<Record<GatedMetricId, { readonly share?: number; readonly difference?: number }>>> = {
  engineMib: { share: 0.02, difference: 0.1 },
  contextMib: { share: 0.02, difference: 0.1 },
  precisionSharePercent: { difference: 5 },
  sqnrDb: { difference: MAX_DROP_DB },
  // A build takes as long as its machine has other work: only a far longer one is worth a line.
  buildS: { share: 1, difference: 10 },
};

/** Recent values that a new one is held against. */
const RECENT_SWEEPS = 20;
/** A cell that never waited for the host in this many sweeps, and now does in every run. */
const HOST_SWEEPS = 10;

export function isSteady(metric: GatedMetricId): boolean {
  return metric === 'hostBoundPercent' || MARGINS[metric] !== undefined;
}

/** What the judged sweep says of a steady metric. @param judged place of the judged sweep */
export function steadyChanges(evidence: CellEvidence, measured: MetricHistory, judged: number): CellChange[] {
  const { nights } = measured.history;
  if (nights.at(-1) !== judged || nights.length < 2) return [];
  return measured.metric === 'hostBoundPercent'
    ? hostChanges(evidence, measured, judged)
    : marginChanges(evidence, measured, judged);
}

function marginChanges({ cell }: CellEvidence, { metric, history }: MetricHistory, judged: number): CellChange[] {
  const values = [...history.values];
  const after = values.pop() ?? Number.NaN;
  const recent = values.slice(-RECENT_SWEEPS);
  const isLowerBetter = gatedMetricOf(metric).betterIs === 'lower';
  const [least, most] = [Math.min(...recent), Math.max(...recent)];
  const { share = 0, difference = 0 } = MARGINS[metric] ?? {};
  const isBeyond = (edge: number): boolean => Math.abs(after - edge) > Math.max(share * Math.abs(edge), difference);
  const isAbove = after > most && isBeyond(most);
  const isBelow = after < least && isBeyond(least);
  if (!isAbove && !isBelow) return [];
  const before = values.at(-1) ?? Number.NaN;
  const isWorse = isAbove === isLowerBetter;
  // A better value is no news of a metric that only warns.
  if (!isWorse && metric === 'buildS') return [];
  const lastGood = history.nights.at(-2) ?? null;
  return [cellChange(cell, metric, { before, after }, { place: judged, lastGood, confirmedBy: 'measured' })];
}

function hostChanges({ cell }: CellEvidence, { metric, history }: MetricHistory, judged: number): CellChange[] {
  const { nights, values } = history;
  const bound = [...values].toReversed();
  const running = bound.findIndex((value) => value < 100);
  const past = bound.slice(running, running + HOST_SWEEPS);
  if (running < 1 || running > 2 || past.some((value) => value > 0)) return [];
  const [place = judged, lastGood = null] = [nights[nights.length - running], nights[nights.length - running - 1]];
  const confirmedBy = running === 2 ? ('history' as const) : null;
  return [cellChange(cell, metric, { before: 0, after: 100 }, { place, lastGood, confirmedBy })];
}
