import * as z from 'zod';

import { count, type Immutable, numberOrNull } from './scalars.ts';
import { keysOf } from '../text/unknown-values.ts';

export const FAILURE_REASONS = [
  'modelMissing',
  'modelInvalid',
  'operatorUnsupported',
  'shapeInvalid',
  'flagUnknown',
  'flagInvalid',
  'buildFailed',
  'buildFailedSilently',
  'conversionFailed',
  'nothingConverted',
  'engineMissing',
  'engineInvalid',
  'outOfMemory',
  'noGpu',
  'deviceInvalid',
  'dlaUnavailable',
  'inputInvalid',
  'libraryMissing',
  'cudaError',
  'inferenceFailed',
  'outputNotWritten',
  'diskFull',
  'timeout',
  'logTooLong',
  'neighborEnded',
  'killed',
  'cancelled',
  'incomplete',
  'unknown',
] as const;

export type FailureReason = (typeof FAILURE_REASONS)[number];

/** Why a run with numbers is not the requested measurement. */
export const UNFIT_REASONS = [
  'graphNotCaptured',
  'precisionIgnored',
  'shapeGuessed',
  'optionsDiffer',
  'tooFewQueries',
  'notWarmedUp',
  'exportMissing',
  'summaryHidden',
  'excerpt',
  'engineEmpty',
  'suspectErrors',
  'throttled',
  'contended',
  'debugTensors',
] as const;

export type UnfitReason = (typeof UNFIT_REASONS)[number];

const LOG_STREAMS = ['stdout', 'stderr'] as const;

export type LogStream = (typeof LOG_STREAMS)[number];

export const evidenceSchema = z.object({
  line: count.describe('Line number from 1; 0 if it is not in the log'),
  text: z.string(),
  stream: z.enum(LOG_STREAMS),
});

export type Evidence = Immutable<z.infer<typeof evidenceSchema>>;

/** `built`: an engine was built, but nothing was timed. */
export const OUTCOME_KINDS = ['measured', 'built', 'unfit', 'failed'] as const;

export type Outcome =
  | { readonly kind: 'measured' | 'built'; readonly evidence: readonly Evidence[] }
  | { readonly kind: 'unfit'; readonly reason: UnfitReason; readonly evidence: readonly Evidence[] }
  | { readonly kind: 'failed'; readonly reason: FailureReason; readonly evidence: readonly Evidence[] };

/** Whether the request was fulfilled with a measurement or an engine. */
export function isFine({ kind }: Outcome): boolean {
  return kind === 'measured' || kind === 'built';
}

/** A line of a log may be a megabyte long, so evidence is shortened. */
const LONGEST_EVIDENCE = 400;

/** Why runs failed, each reason once with its first evidence: `outOfMemory: CUDA error …`. */
export function failureSentences(outcomes: readonly Outcome[]): string[] {
  const evidence = new Map<string, string | null>();
  for (const outcome of outcomes) {
    const reason = outcomeReason(outcome);
    if (reason === null) continue;
    evidence.set(reason, evidence.get(reason) ?? outcome.evidence[0]?.text ?? null);
  }
  return [...evidence].map(([reason, text]) =>
    text === null ? reason : `${reason}: ${text.slice(0, LONGEST_EVIDENCE)}`,
  );
}

export function outcomeReason(outcome: Outcome): FailureReason | UnfitReason | null {
  return outcome.kind === 'unfit' || outcome.kind === 'failed' ? outcome.reason : null;
}

/** What may be wrong with the number of a run, or explains it, in words for tables and for the reasons of a verdict. */
export const FLAG_LABELS = {
  /** The software power cap limited the clock, which is always so for large networks. */
  powerLimited: 'power-limited',
  /** The GPU was too hot, or the board slowed it down. */
  thermalSlowdown: 'thermal slowdown',
  hardwareSlowdown: 'hardware slowdown',
  /** The SM clock differs from that of the other sweeps of this cell. */
  clockOffLevel: 'clock off its level',
  /** Query times change during the whole run. */
  drifting: 'drifting',
  /** Something else used the GPU. */
  contended: 'contended',
  /** The GPU waited for the host, so that throughput does not describe the engine. */
  hostBound: 'host-bound',
  /** Some launches took the host long, and GPU times include that. */
  hostJitter: 'host jitter',
  /** Other work kept the host's CPUs busy. */
  hostLoaded: 'host loaded',
  /** Query times have two levels. */
  bimodal: 'two levels',
  /** The steps of the timer are visible in the times: float32 events, six printed digits. */
  coarseTimer: 'coarse timer',
  /** One query took far longer than all others. */
  loneOutlier: 'single outlier',
  /** Debug tensors: layers are not fused across them, and they are copied to the host. */
  debugTensors: 'debug tensors',
  /** The log does not show the number of warm-up queries. */
  warmUpUnknown: 'warmup unknown',
  /** The PCIe link was slower than card and slot support. */
  pcieReduced: 'PCIe reduced',
  /** Something was idealized, so that the number is the best case rather than the real one. */
  upperBound: 'upper bound',
  /** The computed output is wrong, so that only the speed is meaningful. */
  invalidOutput: 'invalid output',
  /** A profiler or a debugging switch slowed the run down. */
  profilingOn: 'profiling on',
  /** A fixed number of queries without a warm-up, for a profiler. */
  capture: 'capture',
} satisfies Readonly<Record<string, string>>;

export type RunFlagId = keyof typeof FLAG_LABELS;

export const RUN_FLAGS = keysOf(FLAG_LABELS);

export const RUN_MARKS = ['upperBound', 'invalidOutput'] as const satisfies readonly RunFlagId[];

export type RunMark = (typeof RUN_MARKS)[number];

/**
 * Effect of a flag on analysis: it leaves the run out, trusts it less, or only explains it. A 'barred' run measures the
 * cell under conditions that nobody deploys. It is never a baseline and never the best.
 */
export const FLAG_EFFECTS = ['excluded', 'barred', 'widened', 'explained'] as const;

const EFFECT_WORDS =
  'Effect on judging: excluded from comparisons, ineligible as baseline or best (barred), less weight, or explanation only';

export const runFlagSchema = z.object({
  id: z.enum(RUN_FLAGS),
  effect: z.enum(FLAG_EFFECTS).describe(EFFECT_WORDS),
  value: numberOrNull.describe('The value that raised it, in the unit of the evidence'),
  /** One line with numbers: `SM clock 1200 MHz in 8 of 20 samples, thermal slowdown at 85 °C`. */
  evidence: z.string(),
});

export type RunFlag = Immutable<z.infer<typeof runFlagSchema>>;

/** Flags because of which a run is never a baseline and never the best; usually empty. */
export function ineligibleFlags<Flag extends Pick<RunFlag, 'effect'>>(flags: readonly Flag[]): Flag[] {
  return flags.filter(({ effect }) => effect === 'barred');
}

export function isIneligible(flags: readonly Pick<RunFlag, 'effect'>[]): boolean {
  return flags.some(({ effect }) => effect === 'barred');
}
