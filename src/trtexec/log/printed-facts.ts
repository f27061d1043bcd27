import type { BuildShape } from '../../records/cell.ts';
import { keysOf } from '../../text/unknown-values.ts';
import { readInstant } from '../../text/utc-instant.ts';

/** A number as a C++ stream prints it: six significant digits, possibly scientific, `inf` or `nan`. */
const NUMBER = String.raw`[-+]?(?:\d+(?:\.\d+)?(?:e[-+]?\d+)?|inf|nan)`;

/**
 * Makes a pattern from one in which `(N)` is a printed number. Without flags it matches only at the start of a text.
 */
export function printedPattern(pattern: string, flags?: string): RegExp {
  return new RegExp((flags === undefined ? '^' : '') + pattern.replaceAll(/(?<=\(|:)N(?=\))/g, NUMBER), flags);
}

/** NaN if `text` is not a number. */
export function parseStreamNumber(text: string): number {
  const value = Number(text);
  if (!Number.isNaN(value) || !/^[-+]?inf$/.test(text)) return value;
  return text.startsWith('-') ? -Infinity : Infinity;
}

export function finiteOrNull(text = ''): number | null {
  const value = text.trim() === '' ? Number.NaN : parseStreamNumber(text.trim());
  return Number.isFinite(value) ? value : null;
}

/** `MM/DD/YYYY-HH:MM:SS` as `YYYY-MM-DDTHH:MM:SS`, local time without a zone; null for an invalid stamp. */
export function isoOfStamp(stamp: string): string | null {
  const [, month, day, year, time] = /^(\d\d)\/(\d\d)\/(\d{4})-(\d\d:\d\d:\d\d)$/.exec(stamp) ?? [];
  const iso = `${year}-${month}-${day}T${time}`;
  return readInstant(iso) === null ? null : iso;
}

/** trtexec's options banner: section, key, and the value that was really used. */
export type Banner = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** The known lines of the banner: the same fields for every version from 7.x to 11.x; null if not printed. */
export function effectiveOptions(banner: Banner) {
  const build = banner['Build Options'] ?? {};
  const inference = banner['Inference Options'] ?? {};
  const reporting = banner['Reporting Options'] ?? {};
  const duration = /^(.*?)s \(\+ (.*?)ms warm up\)/.exec(inference['Duration'] ?? '');
  const buildShape = Object.entries(build).find(([name]) => name.startsWith('Input build shape'))?.[1];
  return {
    onnx: banner['Model Options']?.['Model'] || null,
    loadEngine: build['Load engine'] || null,
    saveEngine: build['Save engine'] || null,
    /** As printed: `FP32+FP16`, `Strongly Typed`. Absent if an engine was loaded (since 10.0). */
    precision: build['Precision'] || null,
    // Up to 8.2 it was among the inference options.
    skipInference: enabled(build['Skip inference'] ?? build['Build only'] ?? inference['Skip inference']),
    profilingVerbosity: finiteOrNull(
      build['Profiling verbosity'] ?? inference['NVTX verbosity'] ?? build['NVTX verbosity'],
    ),
    builderOptimizationLevel: finiteOrNull(build['BuilderOptimizationLevel']),
    buildShapes: shapeList(buildShape, (text): BuildShape | null => {
      const [min, opt, max] = text.split('+').map(parseDimensions);
      return min && opt && max ? { min, opt, max } : null;
    }),
    shapes: shapeList(inference['Input inference shape'], parseDimensions),
    iterations: finiteOrNull(inference['Iterations']),
    durationS: finiteOrNull(duration?.[1]),
    warmUpMs: finiteOrNull(duration?.[2]),
    sleepMs: finiteOrNull(inference['Sleep time']?.replace(/ms$/, '')),
    idleMs: finiteOrNull(inference['Idle time']?.replace(/ms$/, '')),
    streams: finiteOrNull(inference['Inference Streams'] ?? inference['Streams']),
    exposeDma: enabled(inference['ExposeDMA']),
    dataTransfers: enabled(inference['Data transfers']),
    spinWait: enabled(inference['Spin-wait']),
    multithreading: enabled(inference['Multithreading']),
    /** This is the request; `CudaGraphFacts` has the outcome. */
    cudaGraph: enabled(inference['CUDA Graph']),
    separateProfiling: enabled(inference['Separate profiling']),
    averageRuns: finiteOrNull(reporting['Averages']?.split(' ')[0]),
    percentiles: (reporting['Percentiles'] ?? reporting['Percentile'] ?? '')
      .split(',')
      .flatMap((part) => finiteOrNull(part) ?? []),
    profile: enabled(reporting['Profile']),
    exportTimes: reporting['Export timing to JSON file'] || null,
    exportProfile: reporting['Export profile to JSON file'] || null,
    exportOutput: reporting['Export output to JSON file'] || null,
    deviceId: finiteOrNull(banner['System Options']?.['Device']),
  };
}

function enabled(value = ''): boolean | null {
  return value.startsWith('Enabled') ? true : value.startsWith('Disabled') ? false : null;
}

/** `8x3x224x224`; an empty list for a scalar. Null if it is not a list of dimensions. */
export function parseDimensions(text: string): number[] | null {
  if (text === '') return [];
  const dimensions = text.split('x').map(Number);
  return dimensions.every((dimension) => Number.isInteger(dimension)) ? dimensions : null;
}

/** `a=1x3,b=2x4`: names may contain `=` and `:`, so the last `=` of each part separates. */
function shapeList<T>(text = '', parse: (dimensions: string) => T | null): Record<string, T> {
  const shapes: Record<string, T> = Object.create(null);
  for (const part of text.split(',')) {
    const equals = part.lastIndexOf('=');
    const value = equals <= 0 ? null : parse(part.slice(equals + 1).trim());
    if (value !== null) shapes[part.slice(0, equals).trim()] = value;
  }
  return shapes;
}

/** Lines that are printed once per phase; `(N)` is their number. The order differs by version. */
const PHASE_LINES = {
  engineBuiltS: 'Engine built in (N) sec',
  createdEngineMib: 'Created engine with size: (N) MiB',
  loadedEngineMib: 'Loaded engine (?:with )?size: (N) MiB',
  deserializedS: 'Engine (?:deserialized|loaded) in (N) sec',
  // Strategies that do not reserve the memory of the largest profile print the second form.
  contextMemoryMib:
    '(?:Created execution context with device memory size|Only allocated device memory enough for current (?:profile|input shapes)): (N) MiB',
  peakMemoryMib: '\\[MemUsageStats\\] Peak memory usage of TRT CPU/GPU memory allocators: CPU \\d+ MiB, GPU (N) MiB',
  refitMs: 'Engine refitted in (N) ms',
  warmUpQueries: 'Warmup completed (\\d+) queries over (?:N) ms',
  queries: 'Timing trace has (\\d+) queries over (?:N) s',
} as const;
const PHASE_PATTERNS = keysOf(PHASE_LINES).map((fact) => [fact, printedPattern(PHASE_LINES[fact])] as const);

/** What a process printed once about its engine and its queries; null if it did not. */
export class PhaseFacts {
  engineBuiltS: number | null = null;
  /** Size of the engine that this process built. */
  createdEngineMib: number | null = null;
  /** Size of the engine that this process loaded; whole MiB, as the library prints it. */
  loadedEngineMib: number | null = null;
  deserializedS: number | null = null;
  contextMemoryMib: number | null = null;
  /** Mean of ten refits with the same weights that the engine was built with (`--timeRefit`). */
  refitMs: number | null = null;
  /** The most GPU memory that the builder's allocators held at once; whole MiB. */
  peakMemoryMib: number | null = null;
  warmUpQueries: number | null = null;
  queries: number | null = null;
  inferenceSkipped = false;
  inferenceStarted = false;

  /** Takes one `[I]` line outside the banner and the report. */
  read(text: string): void {
    this.inferenceStarted ||= text.startsWith('Starting inference');
    this.inferenceSkipped ||= text.startsWith('Skipped inference phase since');
    for (const [fact, pattern] of PHASE_PATTERNS) {
      const match = pattern.exec(text);
      if (match !== null) this[fact] = finiteOrNull(match[1]);
    }
  }
}

/** @param lines of the `=== Device Information ===` block, by their labels */
export function deviceFacts(lines: ReadonlyMap<string, string>) {
  const memory = lines.get('Device Global Memory') ?? lines.get('Device Memory');
  return {
    name: lines.get('Selected Device') ?? null,
    uuid: lines.get('Selected Device UUID') ?? null,
    computeCapability: lines.get('Compute Capability') ?? null,
    globalMemoryMib: finiteOrNull(memory?.split(' ')[0]),
  };
}
