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

/** Of one metric of a cell in the judged sweep, or, of a cell that was left out of it, in its newest one. @param findings after it; @param accepted ids of those that may stay */
export function judgedCell(
  evidence: CellEvidence,
  measured: MetricHistory,
  states: MetricStates,
  findings: readonly Finding[],
  accepted: ReadonlySet<string>,
  judged: number,
): JudgedCell {
  const { cell, failures, isLeftOut = false, isPlanned } = evidence;
  const { history, metric, runs } = measured;
  const isMeasured = history.nights.at(-1) === judged || (isLeftOut && history.nights.length > 0);
  const about = { cellKey: cell.key, metric, runs: isMeasured ? (runs.at(-1)?.length ?? 0) : 0 };
  const value = history.values.at(-1) ?? null;
  const own = findings.filter((finding) => finding.state === 'open' && hasCell(finding, cell.key, metric));
  const state = stateIn(states, cell.key, metric);
  const mark = own.find(({ findingId }) => !accepted.has(findingId));
  if (!isMeasured) {
    const reason = isPlanned ? ('failed' as const) : ('missing' as const);
    const before = acceptedLevel(own, mark, cell.key, metric) ?? state?.reference ?? levelOf([...history.values]);
    return { ...NOTHING, ...about, verdict: 'noResult', reason, before, notes: failures };
  }
  if (history.values.length === 1) {
    return { ...NOTHING, ...about, verdict: 'unclear', reason: 'new', now: value, notes: [] };
  }
  if (state === null) return withoutNoise(about, metric, [...history.values], mark);
  // What pairs alone show, or took back, is not what the runs of the sweep say.
  const isAccepted = own.length > 0 && mark === undefined;
  const verdict = isAccepted
    ? 'same'
    : (mark?.direction ?? (wasCleared(findings, cell.key, metric, state.verdict) ? 'same' : state.verdict));
  const shown = acceptedLevel(own, mark, cell.key, metric);
  const before = shown ?? state.reference;
  const worse = shown === null ? state.worse : 0;
  return {
    ...about,
    verdict,
    reason: null,
    before,
    now: value,
    changePercent:
      shown === null ? rawPercent(metric, worse) : changePercentOf(metric, { before, after: value ?? before }),
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

/** Where every finding of a metric of a cell may stay, the level that it reported. */
function acceptedLevel(
  [first]: readonly Finding[],
  mark: Finding | undefined,
  cellKey: JudgedCell['cellKey'],
  metric: GatedMetricId,
): number | null {
  if (mark !== undefined) return null;
  return first?.cells.find((one) => one.cellKey === cellKey && one.metric === metric)?.after ?? null;
}

function levelOf(values: readonly number[]): number | null {
  return median(values.slice(-LEVEL_SWEEPS));
}

/** A metric that hardly varies is as its findings say. */
function withoutNoise(
  about: Pick<JudgedCell, 'cellKey' | 'metric' | 'runs'>,
  metric: GatedMetricId,
  values: readonly number[],
  mark: Finding | undefined,
): JudgedCell {
  const now = values.at(-1) ?? null;
  const found = mark?.cells.find((cell) => cell.cellKey === about.cellKey && cell.metric === metric);
  const before = found?.before ?? levelOf(values.slice(0, -1));
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
