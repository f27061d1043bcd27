import * as z from 'zod';

import { type Immutable, numberOrNull } from './scalars.ts';

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
  /** The host took long for some launches, and the times of the GPU hold that. */
  'hostJitter',
  /** Other work kept the host's CPUs busy. */
  'hostLoaded',
  /** The times of the queries have two levels. */
  'bimodal',
  /** The timer's steps are visible in the times: float32 events, six printed digits. */
  'coarseTimer',
  /** One query took far longer than all others. */
  'loneOutlier',
  /** Tensors were marked to be looked at: layers are not fused around them, and they are copied out. */
  'debugTensors',
  /** The PCIe link was slower than the card and slot can do. */
  'pcieReduced',
  /** Something was idealized: as fast as it could be at best, not as it is. */
  'upperBound',
  /** What it computed is wrong: only its speed means anything. */
  'invalidOutput',
  /** A profiler or a debugging switch slowed it down. */
  'profilingOn',
] as const;

export type RunFlagId = (typeof RUN_FLAGS)[number];

/** What an experiment may say of its own runs. */
export const RUN_MARKS = ['upperBound', 'invalidOutput'] as const satisfies readonly RunFlagId[];

export type RunMark = (typeof RUN_MARKS)[number];

/** In a table, and among the reasons of a verdict. */
export const FLAG_LABELS: Readonly<Record<RunFlagId, string>> = {
  powerLimited: 'power-limited',
  thermalSlowdown: 'thermal slowdown',
  hardwareSlowdown: 'hardware slowdown',
  clockOffLevel: 'clock off its level',
  drifting: 'drifting',
  contended: 'contended',
  hostBound: 'host-bound',
  hostJitter: 'host jitter',
  hostLoaded: 'host loaded',
  bimodal: 'two levels',
  coarseTimer: 'coarse timer',
  loneOutlier: 'lone outlier',
  debugTensors: 'debug tensors',
  pcieReduced: 'PCIe reduced',
  upperBound: 'upper bound',
  invalidOutput: 'invalid output',
  profilingOn: 'profiling on',
};

/**
 * What analysis does with a flag: leaves the run out, trusts it less, or only names it as an explanation. A run that is
 * barred is a measurement, but of something else than the cell is as it is used: never a baseline, never the best.
 */
export const FLAG_EFFECTS = ['excluded', 'barred', 'widened', 'explained'] as const;

export const runFlagSchema = z.object({
  id: z.enum(RUN_FLAGS),
  effect: z
    .enum(FLAG_EFFECTS)
    .describe(
      'Left out of comparisons (excluded), never a baseline or the best (barred), trusted less, or only named as an explanation',
    ),
  value: numberOrNull.describe('The number it rests on, in the unit of the evidence'),
  /** One line with the numbers: `SM clock 1200 MHz in 8 of 20 samples, thermal slowdown at 85 °C`. */
  evidence: z.string(),
});

export type RunFlag = Immutable<z.infer<typeof runFlagSchema>>;

/** Why a run is never a baseline and never the best; none for most. */
export function ineligibleFlags<Flag extends Pick<RunFlag, 'effect'>>(flags: readonly Flag[]): Flag[] {
  return flags.filter(({ effect }) => effect === 'barred');
}

export function isIneligible(flags: readonly Pick<RunFlag, 'effect'>[]): boolean {
  return flags.some(({ effect }) => effect === 'barred');
}
