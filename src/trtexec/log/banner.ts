import type { Immutable } from '../../records/scalars.ts';
import { finiteOrNull } from './printed-values.ts';

/** trtexec's options banner with the options really used: section, key, value. */
export type Banner = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** The known lines of the banner, normalized over versions. Null: not printed. */
export type EffectiveOptions = Immutable<ReturnType<typeof effectiveOptions>>;

export interface BuildShape {
  readonly min: readonly number[];
  readonly opt: readonly number[];
  readonly max: readonly number[];
}

/** The banner while it is parsed: an open map, as versions use different keys. */
export type BannerDraft = Record<string, Record<string, string>>;

/** Takes one line of an options section, `Key: value`; ignores other text. */
export function readBannerLine(draft: BannerDraft, section: string, text: string): void {
  const colon = text.indexOf(':');
  if (colon <= 0) return;
  const key = text.slice(0, colon).trim();
  const value = text.slice(colon + 1).trim();
  const keys: Record<string, string> = (draft[section] ??= Object.create(null));
  const before = keys[key];
  // Shapes are printed on one line per input: join them.
  keys[key] = before === undefined || before === '' ? value : `${before},${value}`;
}

/** Normalizes the banner: the same fields for every version from 7.x to 11.x. */
export function effectiveOptions(banner: Banner) {
  const model = banner['Model Options'] ?? {};
  const build = banner['Build Options'] ?? {};
  const inference = banner['Inference Options'] ?? {};
  const reporting = banner['Reporting Options'] ?? {};
  const system = banner['System Options'] ?? {};
  const duration = /^(.*?)s \(\+ (.*?)ms warm up\)/.exec(inference['Duration'] ?? '');
  return {
    onnx: named(model['Model']),
    loadEngine: named(build['Load engine']),
    saveEngine: named(build['Save engine']),
    /** As printed: `FP32+FP16`, `Strongly Typed`. Absent if an engine was loaded (10.0 and newer). */
    precision: named(build['Precision']),
    // Up to 8.0 it is among the inference options.
    skipInference: enabled(build['Skip inference'] ?? build['Build only'] ?? inference['Skip inference']),
    profilingVerbosity: finiteOrNull(
      build['Profiling verbosity'] ?? inference['NVTX verbosity'] ?? build['NVTX verbosity'],
    ),
    builderOptimizationLevel: finiteOrNull(build['BuilderOptimizationLevel']),
    buildShapes: buildShapes(build),
    shapes: runShapes(inference),
    iterations: finiteOrNull(inference['Iterations']),
    durationS: finiteOrNull(duration?.[1]),
    warmUpMs: finiteOrNull(duration?.[2]),
    sleepMs: milliseconds(inference['Sleep time']),
    idleMs: milliseconds(inference['Idle time']),
    streams: finiteOrNull(inference['Inference Streams'] ?? inference['Streams']),
    exposeDma: enabled(inference['ExposeDMA']),
    dataTransfers: enabled(inference['Data transfers']),
    spinWait: enabled(inference['Spin-wait']),
    multithreading: enabled(inference['Multithreading']),
    /** The request, not the outcome: see `CudaGraphFacts`. */
    cudaGraph: enabled(inference['CUDA Graph']),
    separateProfiling: enabled(inference['Separate profiling']),
    averageRuns: finiteOrNull(reporting['Averages']?.split(' ')[0]),
    percentiles: percentileList(reporting['Percentiles'] ?? reporting['Percentile']),
    profile: enabled(reporting['Profile']),
    exportTimes: named(reporting['Export timing to JSON file']),
    exportProfile: named(reporting['Export profile to JSON file']),
    exportOutput: named(reporting['Export output to JSON file']),
    deviceId: finiteOrNull(system['Device']),
  };
}

function named(value: string | undefined): string | null {
  return value === undefined || value === '' ? null : value;
}

function enabled(value: string | undefined): boolean | null {
  if (value === undefined) return null;
  if (value.startsWith('Enabled')) return true;
  return value.startsWith('Disabled') ? false : null;
}

function milliseconds(value: string | undefined): number | null {
  return finiteOrNull(value?.replace(/ms$/, ''));
}

function percentileList(value: string | undefined): number[] {
  return (value ?? '')
    .split(',')
    .map((part) => finiteOrNull(part))
    .filter((part): part is number => part !== null);
}

/** `8x3x224x224`; an empty list for a scalar. Null if it is not a list of dimensions. */
export function parseDimensions(text: string): number[] | null {
  if (text === '') return [];
  const dimensions = text.split('x').map(Number);
  return dimensions.every((dimension) => Number.isInteger(dimension)) ? dimensions : null;
}

function runShapes(inference: Readonly<Record<string, string>>): Record<string, number[]> {
  return shapeList(inference['Input inference shape'] ?? '', parseDimensions);
}

function buildShapes(build: Readonly<Record<string, string>>): Record<string, BuildShape> {
  const key = Object.keys(build).find((name) => name.startsWith('Input build shape'));
  return shapeList(key === undefined ? '' : (build[key] ?? ''), (text) => {
    const [min, opt, max] = text.split('+').map(parseDimensions);
    return min && opt && max ? { min, opt, max } : null;
  });
}

/** `a=1x3,b=2x4`: names may contain `=` and `:`, so the last `=` of each part separates. */
function shapeList<T>(text: string, parse: (dimensions: string) => T | null): Record<string, T> {
  const shapes: Record<string, T> = Object.create(null);
  for (const part of text.split(',')) {
    const equals = part.lastIndexOf('=');
    if (equals <= 0) continue;
    const value = parse(part.slice(equals + 1).trim());
    if (value !== null) shapes[part.slice(0, equals).trim()] = value;
  }
  return shapes;
}
