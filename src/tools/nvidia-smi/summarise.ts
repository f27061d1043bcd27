import { median } from '../../statistics/median.ts';
import { CLOCK_REASONS, type OtherProcess, type RunTelemetry, type TelemetrySample } from '../../records/telemetry.ts';

/** What only the moment of a run knows, besides the samples. */
export interface HostMoment {
  readonly otherProcesses: readonly OtherProcess[];
  readonly hostLoad: number | null;
}

/** An idle H200 was seen to report up to 12 % for a moment after a process had left. */
const LEAST_BUSY_PERCENT = 15;

/**
 * What is stored of the samples of one run.
 *
 * A run loads its engine first and ends in the middle of a second, so a part of its samples is of a GPU that did not
 * work, and one of its edges is of both. Those count in which the GPU was at least half as busy as in the busiest; when
 * nothing says how busy it was, those in which it did not call itself idle. When it worked in none of them, all do.
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
    // An idle link of many cards drops by itself: only the link of a GPU that works tells something.
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
