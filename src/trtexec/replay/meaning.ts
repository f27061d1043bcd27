import { basename } from 'node:path';
import type { Immutable } from '../../records/scalars.ts';
import { flagsOf } from '../flags/flag-table.ts';

/** Meaning of a trtexec command line in terms of 10.x, without paths, durations and outputs. */
export type Meaning = Immutable<NonNullable<ReturnType<typeof meaningOf>>>;

/** Flags for durations, verbosity and outputs, ignored when matching a recording. */
const IRRELEVANT = new Set([
  '--onnx',
  '--loadEngine',
  '--saveEngine',
  '--skipInference',
  '--profilingVerbosity',
  '--timingCacheFile',
  '--exportTimes',
  '--exportProfile',
  '--exportLayerInfo',
  '--dumpProfile',
  '--separateProfileRun',
  '--warmUp',
  '--duration',
  '--iterations',
  '--avgRuns',
  '--percentile',
  '--verbose',
  '--minShapes',
  '--optShapes',
  '--maxShapes',
  '--shapes',
  '--useCudaGraph',
  '--noDataTransfers',
  '--useSpinWait',
  '--infStreams',
]);

/** Null for a command line that neither builds nor loads, such as `--help`. */
export function meaningOf(args: readonly string[]) {
  const flags = flagsOf(args);
  // Every other flag that decides what is built or measured, in order of their names.
  const others = [...flags]
    .filter(([flag]) => !IRRELEVANT.has(flag))
    .map(([flag, value]) => (value === '' ? flag : `${flag}=${value}`))
    .toSorted();
  const onnx = flags.get('--onnx');
  if (onnx !== undefined) {
    return {
      kind: 'build' as const,
      onnx: basename(onnx),
      minShapes: sortedShapes(flags.get('--minShapes')),
      optShapes: sortedShapes(flags.get('--optShapes')),
      maxShapes: sortedShapes(flags.get('--maxShapes')),
      flags: others,
    };
  }
  if (!flags.has('--loadEngine')) return null;
  return {
    kind: flags.has('--exportProfile') ? ('profile' as const) : ('timed' as const),
    shapes: sortedShapes(flags.get('--shapes')),
    cudaGraph: flags.has('--useCudaGraph'),
    dataTransfers: !flags.has('--noDataTransfers'),
    spinWait: flags.has('--useSpinWait'),
    streams: Number(flags.get('--infStreams') ?? 1),
    flags: others,
  };
}

function sortedShapes(shapes = ''): string {
  return shapes.split(',').toSorted().join(',');
}

/** The differing fields of two meanings, in words: `cudaGraph: true instead of false`. */
export function differences(requested: Meaning, recorded: Meaning): string[] {
  const other = new Map<string, unknown>(Object.entries(recorded));
  return Object.entries(requested)
    .filter(([field, value]) => JSON.stringify(value) !== JSON.stringify(other.get(field)))
    .map(([field]) => `${field}: ${shown(other.get(field))}`);
}

function shown(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.join(' ');
  return String(value);
}
