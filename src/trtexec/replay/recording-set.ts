import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';

import { UsageError } from '../../errors.ts';
import type { Immutable } from '../../records/scalars.ts';
import { isRecord } from '../../text/unknown-values.ts';
import { flagsOf } from '../flags/flag-table.ts';

export const RECORDING_SET_VERSION = 1;

/** One recorded process: a folder with `run.json`, logs and exports, possibly compressed. */
export interface Recording {
  readonly folder: string;
  /** The build whose engine the run loaded; a build names itself. */
  readonly build: string;
  readonly meaning: Meaning;
  readonly omitted: readonly string[];
}

export interface RecordedModel {
  /** The ONNX files from which its engines were built, by file name. `identity` represents their content. */
  readonly inputs: Readonly<Record<string, readonly number[]>>;
  /** The ONNX files from which its engines were built, by file name: what represents their content. */
  readonly onnx: Readonly<Record<string, { readonly precision: string; readonly identity: string }>>;
}

/** A named set of recordings: `manifest.json` and the folders next to it. */
export interface RecordingSet {
  readonly name: string;
  readonly folder: string;
  readonly description: string;
  readonly tensorrt: string;
  /** Sets of one pool were recorded with the same engines, so one can load what another built. */
  readonly enginePool: string;
  readonly environment: Readonly<Record<string, string | number | null>>;
  readonly models: Readonly<Record<string, RecordedModel>>;
  readonly recordings: readonly Recording[];
}

/** @throws UsageError if the folder has no readable manifest */
export function readRecordingSet(folder: string): RecordingSet {
  const path = join(folder, 'manifest.json');
  let parsed: unknown;
  try {
    parsed = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new UsageError(`${path}: no manifest of recordings there`, { cause: error });
  }
  if (!isManifest(parsed)) throw new UsageError(`${path}: not a manifest of this version`);
  return { ...parsed, folder };
}

/** Checks the fields of a manifest, which `scripts/pack-recordings.ts` writes. */
function isManifest(value: unknown): value is Omit<RecordingSet, 'folder'> {
  return (
    isRecord(value) &&
    value['schemaVersion'] === RECORDING_SET_VERSION &&
    typeof value['name'] === 'string' &&
    isRecord(value['models']) &&
    Array.isArray(value['recordings'])
  );
}

export type Match =
  | { readonly kind: 'found'; readonly recordings: readonly Recording[] }
  | { readonly kind: 'missing'; readonly problem: string };

const NEAREST = 3;

/**
 * Recordings in the order they were made; the nearest ones if none matches. `build` is the one whose engine a run
 * loads.
 */
export function findRecordings(set: RecordingSet, meaning: Meaning, build: string | null): Match {
  const sameKind = set.recordings.filter(
    (recording) =>
      (recording.meaning.kind === 'build') === (meaning.kind === 'build') &&
      (build === null || recording.build === build),
  );
  const wanted = JSON.stringify(meaning);
  const recordings = sameKind.filter((recording) => JSON.stringify(recording.meaning) === wanted);
  if (recordings.length > 0) return { kind: 'found', recordings };
  const ranked = sameKind
    .map((recording) => ({ recording, apart: differences(meaning, recording.meaning) }))
    .toSorted((a, b) => a.apart.length - b.apart.length);
  const near = [...new Map(ranked.map((entry) => [entry.apart.join('; '), entry])).values()]
    .slice(0, NEAREST)
    .map(({ recording, apart }) => `${recording.folder} (${apart.join('; ')})`);
  const what = meaning.kind === 'build' ? 'build' : `${meaning.kind} run`;
  const hint = near.length === 0 ? '' : `; nearest: ${near.join(', ')}`;
  return { kind: 'missing', problem: `"${set.name}" has no recording of this ${what}${hint}` };
}

/** The meaning of a trtexec command line in terms of 10.x, without paths, durations and outputs. */
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

/** Null if a command line neither builds nor loads an engine, such as `--help`. */
export function meaningOf(args: readonly string[]) {
  const flags = flagsOf(args);
  // All other flags that decide what is built or measured, sorted by name.
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

/** The fields in which two meanings differ, in words: `cudaGraph: true instead of false`. */
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
