import { type ChangePoint, directionOf } from '../history/change-points.ts';
import { judgeLatest, type LatestJudgement } from '../history/judge-latest.ts';
import { ALERTING } from '../history/settings.ts';
import { type GatedMetricId, gatedMetricOf } from '../../records/gated-metric.ts';
import { type CellChange, cellChange, mainOf } from './cell-change.ts';
import type { CellEvidence, MetricHistory } from './evidence.ts';

/**
 * A metric other than the one that the cell is compared by must be this much clearer to be reported by itself: the rate
 * of false reports holds over all metrics of a cell, and a percentile is several times as noisy as a median.
 */
const OTHER_METRIC = { margin: 1.5, deviations: 8 } as const;

/** A metric of a cell by its own history. */
export interface JudgedHistory {
  readonly metric: GatedMetricId;
  readonly changes: readonly CellChange[];
  /** Every change of level that the history shows, reported or not. */
  readonly seen: readonly ChangePoint[];
  /** How far the judged sweep lies off its level for the worse, in standard deviations; null where it does not. */
  readonly worseDeviations: number | null;
}

/** True where a history knows its own noise. */
export function hasHistory({ history }: MetricHistory): boolean {
  return history.values.length >= ALERTING.firstNight;
}

/** Of a rate: the length of a clock period in place of the clock, as more of it is done in a second and not less. */
function byPeriod({ metric, history }: MetricHistory): MetricHistory['history'] {
  if (gatedMetricOf(metric).betterIs === 'lower' || history.clock === undefined) return history;
  return { ...history, clock: history.clock.map((mhz) => (mhz === null ? null : 1e6 / mhz)) };
}

/** @param known its reported places */
export function judgeHistory(
  evidence: CellEvidence,
  measured: MetricHistory,
  judged: number,
  known: { readonly reported: readonly number[] },
): JudgedHistory {
  const { metric } = measured;
  const history = byPeriod(measured);
  const latest = judgeLatest(history, known.reported);
  const isMeasured = history.nights.at(-1) === judged;
  const changes = isMeasured
    ? [...newsOf(evidence, metric, history.nights, latest), ...suspects(evidence, metric, history.nights, latest)]
    : [];
  return {
    metric,
    changes,
    seen: latest.changes,
    worseDeviations: isMeasured ? worseDeviations(metric, history, latest.deviations) : null,
  };
}

function newsOf(evidence: CellEvidence, metric: GatedMetricId, nights: readonly number[], { news }: LatestJudgement) {
  return news
    .filter(({ margin }) => metric === mainOf(evidence)?.metric || margin >= OTHER_METRIC.margin)
    .map(({ after, before, index, isBuildLuck, margin, night }) =>
      cellChange(
        evidence.cell,
        metric,
        { before: Math.exp(before), after: Math.exp(after) },
        { place: night, lastGood: nights[index - 1] ?? null, confirmedBy: 'history', isBuildLuck, margin },
      ),
    );
}

function suspects(
  evidence: CellEvidence,
  metric: GatedMetricId,
  nights: readonly number[],
  { news, suspected }: LatestJudgement,
) {
  if (suspected === null || news.length > 0) return [];
  const { before, deviations, firstNight, now, sweeps } = suspected;
  if (metric !== mainOf(evidence)?.metric && deviations < OTHER_METRIC.deviations) return [];
  const lastGood = nights[nights.length - sweeps - 1] ?? null;
  return [
    cellChange(
      evidence.cell,
      metric,
      { before, after: now },
      { place: firstNight, lastGood, confirmedBy: null, margin: deviations },
    ),
  ];
}

/** @param newest how far the newest sweep lies off its level */
function worseDeviations(
  metric: GatedMetricId,
  { values }: MetricHistory['history'],
  newest: number | null,
): number | null {
  if (newest === null) return null;
  const now = values.at(-1) ?? Number.NaN;
  const recent = [...values.subarray(-1 - RECENT.sweeps, -1)].toSorted((a, b) => a - b);
  const [least = now, most = now] = [recent[RECENT.beyond - 1], recent.at(-RECENT.beyond)];
  if (now >= least && now <= most) return null;
  const isWorse = directionOf(now - most, gatedMetricOf(metric).betterIs) === 'slower';
  return isWorse ? newest : null;
}

const RECENT = { sweeps: 20, beyond: 2 } as const;
