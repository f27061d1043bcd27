/** What may be wrong with the number of a run that did run, or explains it. */
export const RUN_FLAGS = [
  /** The software power cap held the clock down: large networks run so every night. */
  'powerLimited',
  /** The GPU was too hot, or the board slowed it down. */
  'thermalSlowdown',
  'hardwareSlowdown',
  /** The SM clock is not the one that this cell has on other nights. */
  'clockOffLevel',
  /** The times of the queries still change over the run. */
  'drifting',
  /** Something else used the GPU. */
  'contended',
  /** The GPU waited for the host: throughput says nothing of the engine. */
  'hostBound',
  /** Other work kept the host's CPUs busy. */
  'hostLoaded',
  /** The times of the queries have two levels. */
  'bimodal',
  /** The timer's steps are visible in the times: float32 events, six printed digits. */
  'coarseTimer',
  /** Tensors were marked to be looked at: layers are not fused around them, and they are copied out. */
  'debugTensors',
  /** The PCIe link was slower than the card and slot can do. */
  'pcieReduced',
] as const;

export type RunFlagId = (typeof RUN_FLAGS)[number];

/** In a table, and among the reasons of a verdict. */
export const FLAG_LABELS: Readonly<Record<RunFlagId, string>> = {
  powerLimited: 'power-limited',
  thermalSlowdown: 'thermal slowdown',
  hardwareSlowdown: 'hardware slowdown',
  clockOffLevel: 'clock off its level',
  drifting: 'drifting',
  contended: 'contended',
  hostBound: 'host-bound',
  hostLoaded: 'host loaded',
  bimodal: 'two levels',
  coarseTimer: 'coarse timer',
  debugTensors: 'debug tensors',
  pcieReduced: 'PCIe reduced',
};

/** What analysis does with a flag: leaves the run out, trusts it less, or only names it as an explanation. */
export const FLAG_EFFECTS = ['excluded', 'widened', 'explained'] as const;

export type FlagEffect = (typeof FLAG_EFFECTS)[number];

export interface RunFlag {
  readonly id: RunFlagId;
  readonly effect: FlagEffect;
  /** The number that the flag rests on, in the unit that the evidence names; null where there is none. */
  readonly value: number | null;
  /** One line with the numbers: `SM clock 1200 MHz in 8 of 20 samples, thermal slowdown at 85 °C`. */
  readonly evidence: string;
}
