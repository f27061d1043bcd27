import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { UsageError } from '../../errors.ts';
import { isRecord } from '../../text/unknown-values.ts';
import { differences, type Meaning } from './meaning.ts';

export const RECORDING_SET_VERSION = 1;

/** One recorded process: a folder with `run.json`, logs and exports, possibly compressed. */
export interface Recording {
  readonly folder: string;
  /** The build whose engine a run loaded; for a build its own. */
  readonly build: string;
  readonly meaning: Meaning;
  readonly omitted: readonly string[];
}

export interface RecordedModel {
  /** By input name; -1 for a dynamic dimension. */
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
  /** Sets of one pool were recorded with the same engines: one may load what another built. */
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

/** Checks the head of a manifest, which `scripts/pack-recordings.ts` writes. */
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

/** In the order they were made; else the nearest ones. `build` is the one whose engine a run loads. */
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
