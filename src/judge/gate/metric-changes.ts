import type { KeyedCell } from '../../records/cell.ts';
import type { Finding } from '../../records/finding.ts';
import { type GatedMetricId, gatedMetricOf, isJudgedOnly } from '../../records/gated-metric.ts';
import type { CellKey } from '../../records/scalars.ts';
import type { Sweep } from '../../records/sweep.ts';
import { percentOfLog } from '../../statistics/logarithms.ts';
import { directionOf } from '../history/change-points.ts';
import { isBuildLuck } from '../history/noise.ts';
import type { CellJudgement } from '../sweep/judgement.ts';
import type { CellWords } from './cell-words.ts';
import type { CellEvidence, MetricHistory, PairResult, SweepEvidence } from './evidence.ts';

export type FindingCell = Finding['cells'][number];

/** A finding of an earlier sweep, with the places of its sweeps: -1 for one before the first known. */
export interface PlacedFinding {
  readonly finding: Finding;
  readonly place: number;
  readonly lastPlace: number;
  readonly reportedPlace: number;
}

/** Changes of cells: a broken limit says nothing of where a level began. */
export function placeFindings(findings: readonly Finding[], sweeps: readonly Sweep[]): PlacedFinding[] {
  const places = new Map(sweeps.map(({ sweepId }, place) => [sweepId, place]));
  return findings
    .filter(({ kind }) => kind !== 'limit')
    .map((finding) => {
      const place = places.get(finding.firstBadSweepId) ?? -1;
      return {
        finding,
        place,
        lastPlace: Math.max(place, places.get(finding.lastBadSweepId ?? '') ?? place),
        reportedPlace: places.get(finding.reportedSweepId) ?? -1,
      };
    });
}

export function cellIn({ cells }: Finding, { cellKey, metric }: Pick<FindingCell, 'cellKey' | 'metric'>) {
  return cells.find((cell) => cell.cellKey === cellKey && cell.metric === metric);
}

/** What is known of the judged sweep. */
export interface JudgedFacts {
  readonly evidence: SweepEvidence;
  readonly known: readonly PlacedFinding[];
  /** Findings that may stay: ids of the acknowledged ones. */
  readonly accepted: ReadonlySet<string>;
  readonly words: CellWords;
  /** Of what has a value in it. */
  readonly states: MetricStates;
}

/** Logs are of 1 / value for a metric of which more is better, so that above 0 is worse. */
export interface MetricState extends CellJudgement {
  /** In the unit of the metric: reference level, and level of the newest sweeps that agree with the judged one. */
  readonly before: number;
  readonly now: number;
  /** Of the sweep that it is judged in: the newest with a value. */
  readonly place: number;
}

/** By cell, then by metric; only of metrics that vary from run to run. */
export type MetricStates = ReadonlyMap<CellKey, ReadonlyMap<GatedMetricId, MetricState>>;

/** Of what has a value in that sweep. */
export function statesAt(states: MetricStates, place: number): MetricStates {
  return new Map(
    [...states].map(([key, own]) => [key, new Map([...own].filter(([, state]) => state.place === place))]),
  );
}

export function stateIn(states: MetricStates, { cellKey, metric }: Pick<FindingCell, 'cellKey' | 'metric'>) {
  return states.get(cellKey)?.get(metric) ?? null;
}

/** A metric of a cell that moved. */
export interface CellChange extends FindingCell {
  readonly direction: Finding['direction'];
  /** Places of the first sweep at the new level, and of the last one at the old one (null: unknown). */
  readonly place: number;
  readonly lastGood: number | null;
  readonly lasts: Finding['lasts'];
  readonly pairs: PairResult | null;
  /** It began with another build of the same sources. */
  readonly isBuildLuck: boolean;
}

type Levels = Pick<FindingCell, 'before' | 'after'>;

/** In percent of the value before; of shares in percent the difference in points. */
export function changePercentOf(metric: GatedMetricId, { before, after }: Levels): number {
  if (isJudgedOnly(metric)) return after - before;
  return before === 0 ? 100 : percentOfLog(Math.log(after / before));
}

export function cellChange(
  { key: cellKey }: KeyedCell,
  metric: GatedMetricId,
  levels: Levels,
  facts: Pick<CellChange, 'place' | 'lastGood'> & Partial<CellChange>,
): CellChange {
  return {
    cellKey,
    metric,
    ...levels,
    direction: directionOf(levels.after - levels.before, gatedMetricOf(metric).betterIs),
    changePercent: changePercentOf(metric, levels),
    ciPercent: null,
    margin: 1,
    lasts: null,
    pairs: null,
    isBuildLuck: false,
    ...facts,
  };
}

/** At least half of the change is there at a value. */
export function isMostlyLeft({ after, before, metric }: Levels & Pick<FindingCell, 'metric'>, value: number): boolean {
  const isRelative = !isJudgedOnly(metric) && before > 0 && after > 0 && value > 0;
  const left = isRelative ? Math.log(value / before) / Math.log(after / before) : (value - before) / (after - before);
  return left >= 0.5;
}

/** Raw change of a value, in percent, for a log on the scale where above 0 is worse. */
export function rawPercent(metric: GatedMetricId, worse: number): number {
  return percentOfLog(gatedMetricOf(metric).betterIs === 'lower' ? worse : -worse);
}

/** Interval of 95 % of a raw change, in percent. */
export function rawInterval(metric: GatedMetricId, worse: number, reach: number): [number, number] {
  const [a, b] = [rawPercent(metric, worse - reach), rawPercent(metric, worse + reach)];
  return [Math.min(a, b), Math.max(a, b)];
}

/** A change as it is shown, from a level in the unit of the metric. */
export function sizeOf(metric: GatedMetricId, before: number, { error, log, reach }: CellJudgement['change']) {
  const changePercent = rawPercent(metric, log);
  return {
    before,
    after: before * (1 + changePercent / 100),
    changePercent,
    ciPercent: rawInterval(metric, log, reach),
    margin: error > 0 ? Math.abs(log) / error : 1,
  };
}

/**
 * Where a metric of a cell lies in the judged sweep: against its reference, or, on top of an open finding, against the
 * level before its newest step.
 */
export function changeOfState(
  { cell }: CellEvidence,
  { history, metric }: MetricHistory,
  state: MetricState,
  step: MetricState['reported'],
): CellChange {
  const place = step?.first ?? state.since;
  const before = step === null ? state.before : state.now / (1 + rawPercent(metric, step.change.log) / 100);
  const size = sizeOf(metric, before, (step ?? state).change);
  const index = history.nights.indexOf(place);
  const lastGood = history.nights[index - 1] ?? null;
  return cellChange(cell, metric, size, { ...size, place, lastGood, isBuildLuck: isBuildLuck(history, index) });
}

/** What only pairs show. @param pair says that the newest engine is slower */
export function changeOfPair(
  { cell, metrics }: CellEvidence,
  pair: PairResult,
  facts: Partial<CellChange>,
): CellChange[] {
  const history = metrics.find(({ metric }) => metric === pair.metric)?.history;
  const [after, place] = [history?.values.at(-1), history?.nights.at(-1)];
  if (after === undefined || place === undefined) return [];
  const levels = { before: after / (1 + pair.changePercent / 100), after };
  return [cellChange(cell, pair.metric, levels, { place, lastGood: history?.nights.at(-2) ?? null, ...facts })];
}
