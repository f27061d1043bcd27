import type { LayerInfo } from '../../records/layer-info.ts';
import type { Shapes } from '../../records/cell.ts';
import type { Excerpt, Measurement } from '../../records/harness.ts';
import type { Evidence, FailureReason } from '../../records/outcome.ts';
import type { TensorrtVersion } from '../../text/version.ts';
import type { Banner, EffectiveOptions } from './printed-facts.ts';
import type { BuildFacts, DeviceFacts } from './printed-facts.ts';

export interface CudaGraphFacts {
  readonly capturesStarted: number;
  readonly capturesSucceeded: number;
  readonly captureFailed: boolean;
}

/** Averages over groups of consecutive queries, as printed. From 9.1 on trtexec shortens long traces. */
export interface TraceAverages {
  readonly groupSize: number;
  readonly gpuMs: readonly number[];
  readonly hostMs: readonly number[];
  /** Empty for TensorRT 7.0, which does not print it. */
  readonly enqueueMs: readonly number[];
  readonly omittedQueries: number;
}

export interface LayerTime {
  readonly index: number;
  readonly name: string;
  readonly timeMs: number;
  readonly averageMs: number;
  /** Absent before TensorRT 8.4. */
  readonly medianMs: number | null;
  readonly percentage: number;
}

/** Times of each engine layer with the profiler attached: never a measure of the end-to-end time. */
export interface LayerProfile {
  /** Profiled iterations, including warmup. */
  readonly iterations: number;
  readonly layers: readonly LayerTime[];
  /** Averages of one whole query, if the table is an excerpt whose last row states them. */
  readonly total?: Pick<LayerTime, 'averageMs' | 'medianMs'>;
}

export interface Hint extends Evidence {
  /** An ID of `hints.ts`. */
  readonly id: string;
  /** The hint's number, such as the coefficient of variance in percent. */
  readonly value: number | null;
}

export interface FailureEvidence extends Evidence {
  readonly reason: FailureReason;
}

export interface TrtexecRun {
  /** The text after `#` in the marker. trtexec joined it without quotes, so it cannot be split reliably. */
  readonly commandLine: string | null;
  readonly firstLine: number;
  readonly lastLine: number;
  readonly tensorrtVersion: TensorrtVersion | null;
  readonly closingMarker: 'PASSED' | 'FAILED' | 'WAIVED' | null;
  readonly startedByMarker: boolean;
  /** The time of its first line, `YYYY-MM-DDTHH:MM:SS`: local time of that machine, without a zone. Null if invalid. */
  readonly startedAtLocal: string | null;
  /** True if another trtexec wrote to the same log at the same time, so that no number can be attributed. */
  readonly overlaps: boolean;
  readonly helpPrinted: boolean;
  /** Minimum number of bytes removed from the middle of a long log; 0 for a whole log. */
  readonly omittedBytes: number;
  readonly banner: Banner;
  readonly options: EffectiveOptions;
  readonly device: Readonly<DeviceFacts>;
  readonly build: Readonly<BuildFacts>;
  /** Actual input shapes, from the bindings. */
  readonly inputBindings: Readonly<Record<string, readonly number[]>>;
  readonly cudaGraph: CudaGraphFacts;
  readonly warmUpQueries: number | null;
  readonly queries: number | null;
  readonly traceWalltimeS: number | null;
  readonly traceAverages: TraceAverages | null;
  readonly measurement: Measurement | null;
  /** Numbers of an incomplete summary; null if there is a measurement, or no number at all. */
  readonly excerpt: Excerpt | null;
  /** The log has no line about the warm-up. */
  readonly warmUpUnknown: boolean;
  /** Images in a query of an implicit batch. */
  readonly imagesPerQuery: number | null;
  /** Formulas of the numbers above that were computed from printed ones, by name. */
  readonly derived: Readonly<Record<string, string>>;
  /** Two contradicting numbers of this run, in words; null if there are none. */
  readonly contradiction: string | null;
  readonly profile: LayerProfile | null;
  readonly layerInfo: LayerInfo | null;
  readonly hints: readonly Hint[];
  /** Lines that name a cause of failure, most specific first. */
  readonly failures: readonly FailureEvidence[];
  /** The first lines that say why something failed, whether or not their reason is known. */
  readonly causes: readonly Evidence[];
  /** `[E]` and `[F]` lines, the first 100. */
  readonly errors: readonly Evidence[];
}

export interface TrtexecLog {
  /** Number of start markers, without child processes that trtexec started itself. */
  readonly processes: number;
  readonly runs: readonly TrtexecRun[];
  readonly lineCount: Readonly<Record<'stdout' | 'stderr', number>>;
}

/** The input shapes: as requested, else from the engine's bindings. */
export function shapesOf({ options, inputBindings }: TrtexecRun): Shapes {
  return Object.keys(options.shapes).length > 0 ? options.shapes : inputBindings;
}
