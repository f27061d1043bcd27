import { isOfBuild, metricOf, type MetricId } from '../records/metric.ts';
import type { RunFlag } from '../records/outcome.ts';
import { median } from '../statistics/order-statistics.ts';
import { type CellRun, isMeasured } from '../records/run.ts';

function isOfEngine(metric: MetricId): boolean {
  return isOfBuild(metric) || metric === 'contextMib' || metric === 'loadS';
}

/**
 * The flag that excludes a run for this metric; null when it counts. The effect of another process is unknown. Clock and
 * throttling do not change memory, and another process only that of the whole GPU.
 */
export function leftOutFor<Flag extends Pick<RunFlag, 'id' | 'effect'>>(flags: readonly Flag[], metric: MetricId) {
  if (isOfEngine(metric)) return null;
  const isMemory = metricOf(metric).unit === 'MiB';
  const isDisturbed = ({ effect, id }: Flag): boolean =>
    isMemory ? metric === 'memoryMib' && id === 'contended' : effect === 'excluded' || id === 'contended';
  return flags.find((flag) => flag.effect === 'barred' || isDisturbed(flag)) ?? null;
}

/** Whether the host sometimes failed to feed the GPU. The throughput is then below what the engine allows. */
export function isStarved({ flags }: { readonly flags: readonly Pick<RunFlag, 'id' | 'effect'>[] }): boolean {
  return flags.some(({ id, effect }) => id === 'hostBound' && effect === 'widened');
}

/** Flags whose value is the width of the band around the true value, in percent. */
const WIDTHS: readonly RunFlag['id'][] = ['coarseTimer', 'drifting', 'bimodal'];

/** Error that more runs do not reduce: standard deviation (log scale) of a uniform distribution over the band. */
export function systematicErrorOf(flags: readonly RunFlag[], metric: MetricId): number {
  if (isOfEngine(metric) || metricOf(metric).unit === 'MiB') return 0;
  const widths = flags.map(({ id, effect, value }) => (effect === 'widened' && WIDTHS.includes(id) ? (value ?? 0) : 0));
  return Math.log1p(Math.max(0, ...widths) / 100) / Math.sqrt(12);
}

export const CLOCK_LEVEL = {
  leastKnown: 3,
  off: 0.04,
  /** Number of sweeps on either side that define the level, so that a lasting clock becomes the level. */
  neighborSweeps: 5,
} as const;

export function clockLevelMhz(clocks: readonly (number | null)[]): number | null {
  const known = clocks.filter((clock) => clock !== null);
  return known.length < CLOCK_LEVEL.leastKnown ? null : median(known);
}

/** The flag of a run at another clock than the level of its cell; null if there is none. */
export function clockOffLevel(
  { flags, smClockMhz }: Pick<CellRun, 'smClockMhz'> & { readonly flags: readonly Pick<RunFlag, 'id'>[] },
  levelMhz: number | null,
): RunFlag | null {
  if (smClockMhz === null || levelMhz === null || flags.some(({ id }) => id === 'powerLimited')) return null;
  const off = smClockMhz / levelMhz - 1;
  if (Math.abs(off) <= CLOCK_LEVEL.off) return null;
  return {
    id: 'clockOffLevel',
    effect: 'excluded',
    value: off * 100,
    evidence: `SM clock ${smClockMhz.toFixed(0)} MHz, this cell's level is ${levelMhz.toFixed(0)} MHz`,
  };
}

const DISTURBANCES: readonly string[] = ['throttled', 'contended'];

export function disturbedCells(runs: readonly CellRun[], repeats: number) {
  const timed = runs.filter(({ role }) => role === 'timed');
  return [...Map.groupBy(timed, ({ cellKey }) => cellKey)].flatMap(([cellKey, own]) => {
    const disturbed = own.filter(
      ({ outcome, repeat }) => repeat <= repeats && outcome.kind === 'unfit' && DISTURBANCES.includes(outcome.reason),
    ).length;
    const beyond = own.filter(({ repeat }) => repeat > repeats);
    /** Planned runs that the machine disturbed and that have no replacement yet. */
    const missing = Math.max(0, disturbed - beyond.length);
    const replaced = Math.min(disturbed, beyond.filter(isMeasured).length);
    const highestRepeat = Math.max(...own.map(({ repeat }) => repeat));
    return disturbed === 0 ? [] : [{ cellKey, missing, replaced, highestRepeat }];
  });
}
