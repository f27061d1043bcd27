/**
 * Why a GPU does not clock higher, in the order of NVML's bits (nvml.h, `nvmlClocksEventReason…`). Drivers before 535
 * call them throttle reasons.
 */
export const CLOCK_REASONS = [
  'gpuIdle',
  'applicationsClocks',
  'swPowerCap',
  'hwSlowdown',
  'syncBoost',
  'swThermalSlowdown',
  'hwThermalSlowdown',
  'hwPowerBrake',
  'displayClocks',
] as const;

export type ClockReason = (typeof CLOCK_REASONS)[number];

/** What nvidia-smi said of one GPU at one moment. Null: this driver or GPU does not say it. */
export interface TelemetrySample {
  /** UTC, ISO 8601; null where the tool prints no time (`dmon` without `-o T`). */
  readonly at: string | null;
  readonly smClockMhz: number | null;
  readonly memoryClockMhz: number | null;
  readonly powerW: number | null;
  readonly powerLimitW: number | null;
  readonly temperatureC: number | null;
  readonly gpuUtilisationPercent: number | null;
  readonly memoryUsedMib: number | null;
  /** Null when the reasons were not asked for; empty when none is active. */
  readonly clockReasons: readonly ClockReason[] | null;
  readonly pcieGeneration: number | null;
  readonly pcieWidth: number | null;
}

/** A process of somebody else on the GPU while a run was timed. */
export interface OtherProcess {
  readonly pid: number;
  readonly name: string;
  readonly memoryMib: number | null;
}

/** The machine beside one run: what is stored of it. Medians are over the samples in which the GPU worked. */
export interface RunTelemetry {
  readonly samples: number;
  readonly smClockMhz: number | null;
  readonly smClockMinMhz: number | null;
  readonly memoryClockMhz: number | null;
  readonly powerW: number | null;
  readonly powerMaxW: number | null;
  readonly powerLimitW: number | null;
  readonly temperatureMaxC: number | null;
  readonly gpuUtilisationPercent: number | null;
  readonly memoryUsedMaxMib: number | null;
  /** Share of those samples, from 0 to 1, in which a reason was active; reasons that never were are absent. */
  readonly clockReasons: Readonly<Partial<Record<ClockReason, number>>>;
  /** The lowest that was seen: a link may drop under load. */
  readonly pcieGeneration: number | null;
  readonly pcieWidth: number | null;
  readonly otherProcesses: readonly OtherProcess[];
  /** Load average of one minute at the end of the run, for each CPU of the host. */
  readonly hostLoad: number | null;
}
