import { type GatedMetricId, gatedMetricOf } from '../../records/gated-metric.ts';
import { type CellChange, cellChange } from './cell-change.ts';
import type { CellEvidence, MetricHistory, PairResult } from './evidence.ts';
import type { MetricState } from './metric-state.ts';

/** Standard errors of an interval of 95 %. */
const INTERVAL_ERRORS = 1.96;

/** Raw change of a value, in percent, for a change on the scale where above 0 is worse. */
export function rawPercent(metric: GatedMetricId, worse: number): number {
  return 100 * Math.expm1(gatedMetricOf(metric).betterIs === 'lower' ? worse : -worse);
}

/** Interval of 95 % of a raw change, in percent. */
export function rawInterval(metric: GatedMetricId, worse: number, error: number): readonly [number, number] {
  const ends = [-INTERVAL_ERRORS, INTERVAL_ERRORS].map((errors) => rawPercent(metric, worse + errors * error));
  return [Math.min(...ends), Math.max(...ends)];
}

/**
 * Where a metric of a cell lies in the judged sweep: against its reference, or, on top of an open finding, against the
 * level before its newest step.
 */
export function changeOfState(
  evidence: CellEvidence,
  measured: MetricHistory,
  state: MetricState,
  step: MetricState['reported'],
): CellChange {
  const { history, metric } = measured;
  const { error, first, worse } = step ?? { error: state.error, first: state.since, worse: state.worse };
  const percent = rawPercent(metric, worse);
  const before = step === null ? state.reference : state.level / (1 + percent / 100);
  const index = history.nights.indexOf(first);
  return cellChange(
    evidence.cell,
    metric,
    { before, after: before * (1 + percent / 100) },
    {
      place: first,
      lastGood: history.nights[index - 1] ?? null,
      ciPercent: [...rawInterval(metric, worse, error)],
      margin: error > 0 ? Math.abs(worse) / error : 1,
      isBuildLuck: isBuildLuckAt(history, index),
    },
  );
}

/** Two builds of the same sources: another choice of tactics. */
function isBuildLuckAt({ builds = [], sources = [] }: MetricHistory['history'], index: number): boolean {
  const [source = null, before = null] = [sources[index], sources[index - 1]];
  return builds[index] !== builds[index - 1] && source !== null && source === before;
}

/** What only pairs show. @param pair says that the newest engine is slower */
export function changeOfPair(evidence: CellEvidence, pair: PairResult): CellChange[] {
  const measured = evidence.metrics.find(({ metric }) => metric === pair.metric);
  const after = measured?.history.values.at(-1);
  const place = measured?.history.nights.at(-1);
  if (measured === undefined || after === undefined || place === undefined) return [];
  const levels = { before: after / (1 + pair.changePercent / 100), after };
  return [cellChange(evidence.cell, pair.metric, levels, { place, lastGood: measured.history.nights.at(-2) ?? null })];
}
