import { median } from '../../statistics/median.ts';
import { CLOCK_REASONS, type OtherProcess, type RunTelemetry, type TelemetrySample } from '../../records/telemetry.ts';

/** Facts that can only be read during the run, in addition to the samples. */
export interface HostMoment {
  readonly otherProcesses: readonly OtherProcess[];
  readonly hostLoad: number | null;
  readonly hostMemoryMaxMib: number | null;
  readonly processMemoryMaxMib: number | null;
}

export const NOT_WATCHED: HostMoment = {
  otherProcesses: [],
  hostLoad: null,
  hostMemoryMaxMib: null,
  processMemoryMaxMib: null,
};

/** An idle H200 reported up to 12 % for a moment after a process had ended. */
const LEAST_BUSY_PERCENT = 15;

/**
 * Summarizes the samples of one run. A run first loads its engine and ends within a second, so that some samples show
 * an idle GPU, and one at an edge is mixed. A sample counts if the GPU was at least half as busy as in the busiest one;
 * without utilization, if it was not reported as idle. If no sample is active, all count.
 */
export function summariseTelemetry(samples: readonly TelemetrySample[], moment: HostMoment): RunTelemetry {
  const working = workingSamples(samples);
  const values = (field: NumberField): number[] => working.flatMap((sample) => sample[field] ?? []);
  return {
    samples: working.length,
    smClockMhz: median(values('smClockMhz')),
    smClockMinMhz: lowest(values('smClockMhz')),
    memoryClockMhz: median(values('memoryClockMhz')),
    powerW: median(values('powerW')),
    powerMaxW: highest(values('powerW')),
    powerLimitW: median(values('powerLimitW')),
    temperatureMaxC: highest(values('temperatureC')),
    gpuUtilisationPercent: median(values('gpuUtilisationPercent')),
    memoryUsedMaxMib: highest(values('memoryUsedMib')),
    clockReasons: reasonShares(working),
    // On many cards, an idle link slows down, so that only the link of a busy GPU is meaningful.
    pcieGeneration: lowest(values('pcieGeneration')),
    pcieWidth: lowest(values('pcieWidth')),
    ...moment,
  };
}

type NumberField = Exclude<keyof TelemetrySample, 'at' | 'clockReasons'>;

function workingSamples(samples: readonly TelemetrySample[]): readonly TelemetrySample[] {
  const busiest = highest(samples.flatMap((sample) => sample.gpuUtilisationPercent ?? []));
  const working =
    busiest === null
      ? samples.filter(({ clockReasons }) => clockReasons?.includes('gpuIdle') !== true)
      : samples.filter(
          ({ gpuUtilisationPercent: busy }) => busy !== null && busy >= Math.max(LEAST_BUSY_PERCENT, busiest / 2),
        );
  return working.length === 0 ? samples : working;
}

function reasonShares(samples: readonly TelemetrySample[]): RunTelemetry['clockReasons'] {
  const stated = samples.flatMap(({ clockReasons }) => (clockReasons === null ? [] : [clockReasons]));
  return Object.fromEntries(
    CLOCK_REASONS.flatMap((reason) => {
      const active = stated.filter((reasons) => reasons.includes(reason)).length;
      return active === 0 ? [] : [[reason, active / stated.length]];
    }),
  );
}

function lowest(values: readonly number[]): number | null {
  return values.reduce<number | null>((low, value) => Math.min(low ?? value, value), null);
}

function highest(values: readonly number[]): number | null {
  return values.reduce<number | null>((high, value) => Math.max(high ?? value, value), null);
}
