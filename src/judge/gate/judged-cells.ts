import type { Finding } from '../../records/finding.ts';
import type { GatedMetricId } from '../../records/gated-metric.ts';
import { median } from '../../statistics/median.ts';
import { changePercentOf } from './cell-change.ts';
import type { CellEvidence, MetricHistory } from './evidence.ts';
import { rawInterval, rawPercent } from './metric-changes.ts';
import { type MetricStates, stateIn } from './metric-state.ts';
import { hasCell } from './placed-finding.ts';
import type { JudgedCell } from './verdict.ts';

/** Newest values that say where a metric without noise lies. */
const LEVEL_SWEEPS = 7;

/** Of one metric of a cell in the judged sweep. @param findings after it; @param accepted ids of those that may stay */
export function judgedCell(
  evidence: CellEvidence,
  measured: MetricHistory,
  states: MetricStates,
  findings: readonly Finding[],
  accepted: ReadonlySet<string>,
  judged: number,
): JudgedCell {
  const { cell, failures, isPlanned } = evidence;
  const { history, metric, runs } = measured;
  const isMeasured = history.nights.at(-1) === judged;
  const about = { cellKey: cell.key, metric, runs: isMeasured ? (runs.at(-1)?.length ?? 0) : 0 };
  const value = history.values.at(-1) ?? null;
  if (!isMeasured) {
    const reason = isPlanned ? ('failed' as const) : ('missing' as const);
    return { ...NOTHING, ...about, verdict: 'noResult', reason, notes: failures };
  }
  if (history.values.length === 1) {
    return { ...NOTHING, ...about, verdict: 'unclear', reason: 'new', now: value, notes: [] };
  }
  const own = findings.filter((finding) => finding.state === 'open' && hasCell(finding, cell.key, metric));
  const state = stateIn(states, cell.key, metric);
  const mark = own.find(({ findingId }) => !accepted.has(findingId));
  if (state === null) return withoutNoise(about, metric, [...history.values], mark);
  // What pairs alone show, or took back, is not what the runs of the sweep say.
  const isAccepted = own.length > 0 && mark === undefined;
  const verdict = isAccepted
    ? 'same'
    : (mark?.direction ?? (wasCleared(findings, cell.key, metric, state.verdict) ? 'same' : state.verdict));
  const shown = isAccepted ? own[0]?.cells.find((one) => one.cellKey === cell.key && one.metric === metric) : undefined;
  const before = shown?.after ?? state.reference;
  const worse = shown === undefined ? state.worse : 0;
  return {
    ...about,
    verdict,
    reason: null,
    before,
    now: value,
    changePercent:
      shown === undefined ? rawPercent(metric, worse) : changePercentOf(metric, { before, after: value ?? before }),
    ciPercent: rawInterval(metric, worse, state.error),
    mdePercent: 100 * Math.expm1(state.detectable),
    levels: state.levels,
    referenceSweeps: state.referenceSweeps,
    notes: state.isOnlyRunFarOff ? ['far off in its only run'] : [],
  };
}

const NOTHING = {
  reason: null,
  before: null,
  now: null,
  changePercent: null,
  ciPercent: null,
  mdePercent: null,
  levels: null,
  referenceSweeps: 0,
} as const;

/** A metric that hardly varies is as its findings say. */
function withoutNoise(
  about: Pick<JudgedCell, 'cellKey' | 'metric' | 'runs'>,
  metric: GatedMetricId,
  values: readonly number[],
  mark: Finding | undefined,
): JudgedCell {
  const now = values.at(-1) ?? null;
  const found = mark?.cells.find((cell) => cell.cellKey === about.cellKey && cell.metric === metric);
  const before = found?.before ?? median(values.slice(0, -1).slice(-LEVEL_SWEEPS));
  const changePercent = before === null || now === null ? null : changePercentOf(metric, { before, after: now });
  const verdict = mark?.direction ?? 'same';
  return { ...NOTHING, ...about, verdict, before, now, changePercent, notes: [] };
}

function wasCleared(
  findings: readonly Finding[],
  cellKey: JudgedCell['cellKey'],
  metric: GatedMetricId,
  verdict: string,
): boolean {
  return findings.some(
    (finding) =>
      finding.pairs?.outcome === 'cleared' && finding.direction === verdict && hasCell(finding, cellKey, metric),
  );
}
