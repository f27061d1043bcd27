import * as z from 'zod';

import { keysOf } from '../text/unknown-values.ts';
import { type Immutable, numberOrNull } from './scalars.ts';

/**
 * What may be wrong with the number of a run that did run, or explains it, as it is called in a table and among the
 * reasons of a verdict.
 */
export const FLAG_LABELS = {
  /** The software power cap held the clock down: large networks always run so. */
  powerLimited: 'power-limited',
  /** The GPU was too hot, or the board slowed it down. */
  thermalSlowdown: 'thermal slowdown',
  hardwareSlowdown: 'hardware slowdown',
  /** The SM clock differs from this cell's other sweeps. */
  clockOffLevel: 'clock off its level',
  /** Query times still change over the run. */
  drifting: 'drifting',
  /** Something else used the GPU. */
  contended: 'contended',
  /** The GPU waited for the host: throughput does not describe the engine. */
  hostBound: 'host-bound',
  /** The host took long for some launches, and GPU times include it. */
  hostJitter: 'host jitter',
  /** Other work kept the host's CPUs busy. */
  hostLoaded: 'host loaded',
  /** Query times have two levels. */
  bimodal: 'two levels',
  /** The timer's steps are visible in the times: float32 events, six printed digits. */
  coarseTimer: 'coarse timer',
  /** One query took far longer than all others. */
  loneOutlier: 'single outlier',
  /** Debug tensors: layers are not fused around them, and they are copied out. */
  debugTensors: 'debug tensors',
  /** The log does not say how many queries warmed up. */
  warmUpUnknown: 'warmup unknown',
  /** The PCIe link was slower than card and slot support. */
  pcieReduced: 'PCIe reduced',
  /** Something was idealized: the number is the best case, not the real one. */
  upperBound: 'upper bound',
  /** The computed output is wrong: only its speed means anything. */
  invalidOutput: 'invalid output',
  /** A profiler or a debugging switch slowed it down. */
  profilingOn: 'profiling on',
  /** A number of queries without a warm-up, for a profiler. */
  capture: 'capture',
} satisfies Readonly<Record<string, string>>;

export type RunFlagId = keyof typeof FLAG_LABELS;

export const RUN_FLAGS = keysOf(FLAG_LABELS);

export const RUN_MARKS = ['upperBound', 'invalidOutput'] as const satisfies readonly RunFlagId[];

export type RunMark = (typeof RUN_MARKS)[number];

/**
 * What analysis does with a flag: leaves the run out, trusts it less, or only names it as an explanation. A run that is
 * 'barred' measures the cell under conditions that nobody deploys: never a baseline, never the best.
 */
export const FLAG_EFFECTS = ['excluded', 'barred', 'widened', 'explained'] as const;

export const runFlagSchema = z.object({
  id: z.enum(RUN_FLAGS),
  effect: z
    .enum(FLAG_EFFECTS)
    .describe(
      'Effect on judging: excluded from comparisons, ineligible as baseline or best (barred), less weight, or explanation only',
    ),
  value: numberOrNull.describe('The value that raised it, in the unit of the evidence'),
  /** One line with the numbers: `SM clock 1200 MHz in 8 of 20 samples, thermal slowdown at 85 °C`. */
  evidence: z.string(),
});

export type RunFlag = Immutable<z.infer<typeof runFlagSchema>>;

/** Why a run is never a baseline and never the best; usually empty. */
export function ineligibleFlags<Flag extends Pick<RunFlag, 'effect'>>(flags: readonly Flag[]): Flag[] {
  return flags.filter(({ effect }) => effect === 'barred');
}

export function isIneligible(flags: readonly Pick<RunFlag, 'effect'>[]): boolean {
  return flags.some(({ effect }) => effect === 'barred');
}
