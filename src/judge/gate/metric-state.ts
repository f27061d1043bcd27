import type { GatedMetricId } from '../../records/gated-metric.ts';
import type { CellKey } from '../../records/scalars.ts';

/** Natural logarithms, so that 0.01 is 1 %; above 0 is worse, also of a metric of which more is better. */
export interface MetricState {
  readonly verdict: 'slower' | 'faster' | 'same' | 'unclear';
  /** Reference level in the unit of the metric, and the number of sweeps that it is estimated from. */
  readonly reference: number;
  readonly referenceSweeps: number;
  /** Level of the newest sweeps that agree with the judged one, in the unit of the metric. */
  readonly level: number;
  /** Place of the sweep since which it has been on this side of the reference. */
  readonly since: number;
  /** Of the level against the reference. */
  readonly worse: number;
  readonly error: number;
  readonly detectable: number;
  readonly levels: readonly [number, number] | null;
  /** What is reported for the first time in the judged sweep. */
  readonly reported: ReportedStep | null;
  readonly isOnlyRunFarOff: boolean;
  /** Of the sweep that it is judged in: the newest with a value. */
  readonly place: number;
}

export interface ReportedStep {
  /** Place of the first sweep at the new level. */
  readonly first: number;
  /** Against the level before, which is the reference unless a finding is open. */
  readonly worse: number;
  readonly error: number;
}

/** By cell, then by metric; only of metrics that vary from run to run. */
export type MetricStates = ReadonlyMap<CellKey, ReadonlyMap<GatedMetricId, MetricState>>;

/** Of what has a value in that sweep. */
export function statesAt(states: MetricStates, place: number): MetricStates {
  const isOfSweep = ([, state]: readonly [GatedMetricId, MetricState]): boolean => state.place === place;
  return new Map([...states].map(([key, own]) => [key, new Map([...own].filter(isOfSweep))]));
}

export function stateIn(states: MetricStates, cellKey: CellKey, metric: GatedMetricId): MetricState | null {
  return states.get(cellKey)?.get(metric) ?? null;
}
