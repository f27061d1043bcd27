import type { CellEvidence, MetricHistory } from './evidence.ts';

/** The histories of a cell without some sweeps. @param places among the sweeps */
export function withoutSweeps(cell: CellEvidence, places: readonly number[]): CellEvidence {
  if (places.length === 0) return cell;
  return { ...cell, metrics: cell.metrics.map((measured) => withoutPlaces(measured, places)) };
}

export function withoutPlaces(measured: MetricHistory, places: readonly number[]): MetricHistory {
  if (places.length === 0) return measured;
  const { history, metric, runs } = measured;
  const kept = history.nights.flatMap((night, index) => (places.includes(night) ? [] : [index]));
  const pick = <Value>(values: readonly Value[]): Value[] => kept.flatMap((index) => values.slice(index, index + 1));
  const pickKnown = <Value>(values: readonly Value[] | undefined) => (values === undefined ? undefined : pick(values));
  const { builds, clock, nights, sources, values } = history;
  return {
    metric,
    runs: pick(runs),
    history: {
      nights: pick(nights),
      values: Float64Array.from(pick([...values])),
      builds: pickKnown(builds),
      clock: pickKnown(clock),
      sources: pickKnown(sources),
    },
  };
}
