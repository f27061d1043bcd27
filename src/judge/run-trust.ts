import type { MetricId } from '../records/metric.ts';
import type { RunFlag } from '../records/run-flag.ts';

/** Metrics that hold the time of the host: a host without CPUs moves them, and not the GPU's time. */
const HOST_METRICS: readonly MetricId[] = ['throughputQps', 'enqueueMs', 'p99Ms'];

/** Sizes and times of building and loading say nothing of the hour of the run. */
const OF_ENGINE: readonly MetricId[] = ['buildS', 'engineMib', 'contextMib', 'loadS', 'refitMs'];

/** The flag for which a run is left out where this metric is asked for; null when the run counts. */
export function leftOutFor<Flag extends Pick<RunFlag, 'id' | 'effect'>>(
  flags: readonly Flag[],
  metric: MetricId,
): Flag | null {
  if (isOfEngine(metric)) return null;
  const isStarved = (flag: Flag): boolean => flag.id === 'hostBound' && flag.effect === 'widened';
  return (
    flags.find(
      (flag) =>
        flag.effect === 'excluded' || flag.effect === 'barred' || (isStarved(flag) && HOST_METRICS.includes(metric)),
    ) ?? null
  );
}

function isOfEngine(metric: MetricId): boolean {
  return OF_ENGINE.includes(metric);
}

/** Flags whose value is the width, in percent, of the band in which the true value may lie. */
const WIDTHS: readonly RunFlag['id'][] = ['coarseTimer', 'drifting', 'bimodal', 'contended'];

/**
 * How far the value of a run may be off for what is flagged, as a standard deviation in logarithms: anywhere within
 * the widest band with the same chance. More runs do not make it smaller, as the next one may be off the same way.
 */
export function doubtOf(flags: readonly RunFlag[], metric: MetricId): number {
  if (isOfEngine(metric)) return 0;
  const widths = flags.map(({ id, effect, value }) => (effect === 'widened' && WIDTHS.includes(id) ? (value ?? 0) : 0));
  return Math.log1p(Math.max(0, ...widths) / 100) / Math.sqrt(12);
}
