import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib';

import * as z from 'zod';

import { isTelemetryName } from '../../artefacts/read/read-telemetry.ts';
import { parseRunManifest } from '../../artefacts/run-manifest.ts';
import { UsageError } from '../../errors.ts';
import { readJson } from '../../files/folders.ts';
import { flagsOf } from '../flags/flag-table.ts';
import { USUAL_NAMES } from '../run-facts.ts';
import type { Recording, RecordingSet } from './recording-set.ts';
import { findRecordings, meaningOf, notRecorded, readRecordingSet } from './recording-set.ts';

export interface ReplaySettings {
  readonly folder: string;
  /** Working directory for relative paths of the command line. */
  readonly cwd: string;
  /** Index among several recordings of the same cell. */
  readonly index: number;
  /** File that receives the name of the recording; null to write none. */
  readonly reportPath: string | null;
}

export type Answer = ReturnType<typeof replayed>;

/**
 * Answers a trtexec command line from recordings, with the log, byte-exact exports and the exit code.
 * @throws UsageError for what was never recorded
 */
export function answer(args: readonly string[], { cwd, folder, index, reportPath }: ReplaySettings): Answer {
  const set = readRecordingSet(folder);
  const meaning = meaningOf(args);
  if (meaning === null) return replayed(set, 'help');
  const flags = flagsOf(args);
  const isBuild = meaning.kind === 'build';
  const build = isBuild ? null : loadedBuild(flags.get('--loadEngine') ?? '', set, cwd);
  const recordings = findRecordings(set, meaning, build);
  const recording = recordings[index];
  if (recording === undefined) {
    throw new UsageError(notRecorded(set, meaning, recordings.length, index + 1));
  }
  writeExports(set, recording, flags, cwd);
  const engine = flags.get('--saveEngine');
  if (isBuild && engine !== undefined) {
    writeFileSync(resolve(cwd, engine), engineToken(set.enginePool, recording.build));
  }
  if (reportPath !== null) {
    const report = { set: set.name, id: recording.folder, omitted: recording.omitted };
    writeFileSync(reportPath, `${JSON.stringify(report)}\n`);
    writeTelemetry(set, recording, dirname(reportPath));
  }
  return replayed(set, recording.folder);
}

function loadedBuild(path: string, set: RecordingSet, cwd: string): string {
  const token = readJson(resolve(cwd, path), tokenSchema);
  if (token === null) throw new UsageError(`${path} is missing, or not an engine of a replay`);
  if (token.pool === set.enginePool) return token.build;
  throw new UsageError(`${path} is an engine of "${token.pool}", "${set.name}" was recorded with others`);
}

function writeExports(set: RecordingSet, recording: Recording, flags: ReadonlyMap<string, string>, cwd: string): void {
  for (const [flag, name] of Object.entries(USUAL_NAMES)) {
    const target = flags.get(flag);
    const content = target === undefined ? null : readRecorded(set, recording.folder, name);
    if (target !== undefined && content !== null) writeFileSync(resolve(cwd, target), content);
  }
}

/** Writes the telemetry of the recording: that of this machine would mean nothing. */
function writeTelemetry(set: RecordingSet, recording: Recording, folder: string): void {
  const entries = readdirSync(join(set.folder, recording.folder));
  for (const name of entries.map((entry) => entry.replace(/\.(?:br|gz|zst)$/, ''))) {
    const content = isTelemetryName(name) ? readRecorded(set, recording.folder, name) : null;
    if (content !== null) writeFileSync(join(folder, name), content);
  }
}

function replayed(set: RecordingSet, folder: string) {
  const { manifest } = parseRunManifest(String(readRecorded(set, folder, 'run.json') ?? ''));
  return {
    stdout: readRecorded(set, folder, 'stdout.log') ?? Buffer.alloc(0),
    stderr: readRecorded(set, folder, 'stderr.log') ?? Buffer.alloc(0),
    exitCode: manifest?.exitCode ?? 0,
    signal: SIGNALS.find((signal) => signal === manifest?.signal) ?? null,
    wallS: manifest?.wallS ?? 0,
  };
}

const SIGNALS = ['SIGKILL', 'SIGTERM', 'SIGINT', 'SIGABRT'] as const;

/** A recorded file, decompressed; null if it was not kept. */
function readRecorded(set: RecordingSet, recording: string, name: string): Buffer | null {
  const folder = join(set.folder, recording);
  const file = readdirSync(folder).find((entry) => entry === name || entry.startsWith(`${name}.`));
  if (file === undefined) return null;
  const bytes = readFileSync(join(folder, basename(file)));
  if (file.endsWith('.br')) return brotliDecompressSync(bytes);
  if (file.endsWith('.gz')) return gunzipSync(bytes);
  return file.endsWith('.zst') ? zstdDecompressSync(bytes) : bytes;
}

const MARK = 'trtbench-replay-engine';

/** Content of an engine file in replays. It is small, and marked so that nobody takes it for a real engine. */
function engineToken(pool: string, build: string): string {
  return `${JSON.stringify({ [MARK]: 1, pool, build })}\n`;
}

const tokenSchema = z.object({ [MARK]: z.literal(1), pool: z.string(), build: z.string() });
