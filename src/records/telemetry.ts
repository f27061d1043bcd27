import * as z from 'zod';

import { count, type Immutable, numberOrNull } from './scalars.ts';

const share = z.number().min(0).max(1).exactOptional();

/**
 * In the order of the bits of NVML (nvml.h, `nvmlClocksEventReason…`). Before driver 535 they are called throttle
 * reasons.
 */
const clockReasonsSchema = z.object({
  gpuIdle: share,
  applicationsClocks: share,
  swPowerCap: share,
  hwSlowdown: share,
  syncBoost: share,
  swThermalSlowdown: share,
  hwThermalSlowdown: share,
  hwPowerBrake: share,
  displayClocks: share,
});

export const CLOCK_REASONS = clockReasonsSchema.keyof().options;

export type ClockReason = (typeof CLOCK_REASONS)[number];

export const otherProcessSchema = z.object({ pid: z.number().int(), name: z.string(), memoryMib: numberOrNull });

export type OtherProcess = Immutable<z.infer<typeof otherProcessSchema>>;

/** GPU and host state during one run. Medians are over the samples with GPU activity. */
export const telemetrySchema = z.object({
  samples: count.describe('Samples in which the GPU worked'),
  smClockMhz: numberOrNull,
  smClockMinMhz: numberOrNull,
  memoryClockMhz: numberOrNull,
  powerW: numberOrNull,
  powerMaxW: numberOrNull,
  powerLimitW: numberOrNull,
  temperatureStartC: numberOrNull,
  temperatureMaxC: numberOrNull,
  gpuUtilisationPercent: numberOrNull,
  memoryUsedMaxMib: numberOrNull.describe('Memory use of the whole GPU'),
  processMemoryMaxMib: numberOrNull.describe('GPU memory of the process of the run'),
  hostMemoryMaxMib: numberOrNull.describe('Peak resident memory of that process on the host'),
  /** Reasons that were never active are absent, but hwSlowdown is 0: without it, the driver gave no reasons. */
  clockReasons: clockReasonsSchema.describe('Share of the samples in which each reason lowered the clock'),
  /** Lowest observed value, because a link may drop under load. */
  pcieGeneration: count.nullable(),
  pcieWidth: count.nullable(),
  otherProcesses: z.array(otherProcessSchema).describe('Other processes on the GPU at the end of the run'),
  hostLoad: numberOrNull.describe('Load average of one minute for each CPU'),
});

export type RunTelemetry = Immutable<z.infer<typeof telemetrySchema>>;
