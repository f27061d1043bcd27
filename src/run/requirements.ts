import { existsSync } from 'node:fs';
import { freemem } from 'node:os';
import { dirname } from 'node:path';

import { sizeOf } from '../files/folders.ts';
import { modelBytes } from '../files/hashes.ts';
import { sweepManifestPath } from '../files/layout.ts';
import { buildMemoryBytes } from '../machine/host-facts.ts';
import { formatBytes } from '../terminal/numbers.ts';
import { DiskFullError, errorCode, StoreLostError } from '../errors.ts';
import { freeBytesOf, fullDisk } from '../process/disk-space.ts';
import type { Attempt } from './start.ts';
import type { SweepContext } from './sweep-context.ts';
import { sqliteRefusal } from '../store/file/store-file.ts';
import { printable } from '../text/printable.ts';
import { flagValue } from '../trtexec/flags/flag-table.ts';

const MIB = 1 << 20;
const RUN_BYTES = 16 * MIB;
/** Space for the files next to an engine: its log, the timing cache and layer information. */
const BUILD_BYTES = 32 * MIB;
/**
 * Ratio of engine to model size. Weights in other precisions and copies for several tactics can make the engine larger.
 */
const ENGINE_TO_MODEL = 1.5;

type Room = Pick<SweepContext, 'artefactsFolder' | 'db' | 'onNote' | 'program' | 'sweep'>;

/** The folders that a process writes into, with the space that it needs there. */
function needsOf({ artefactsFolder }: Room, { args }: Attempt) {
  const engine = flagValue(args, '--saveEngine');
  const results = { folder: artefactsFolder, bytes: RUN_BYTES, what: 'logs and results go there' };
  if (engine === null) return [results];
  const bytes = BUILD_BYTES + ENGINE_TO_MODEL * onnxBytesOf(args);
  return [{ folder: dirname(engine), bytes, what: 'an engine is built there' }, results];
}

function onnxBytesOf(args: Attempt['args']): number {
  const onnx = flagValue(args, '--onnx');
  return onnx === null || !existsSync(onnx) ? 0 : modelBytes(onnx);
}

/** The kernel may still find enough, in swap or caches, so this is no refusal. */
function noteMemory({ onNote, program }: Room, { args, label }: Attempt): void {
  const [free, needed] = [freemem(), buildMemoryBytes(onnxBytesOf(args))];
  if (flagValue(args, '--saveEngine') === null || program.recordings !== null || free >= needed) return;
  onNote(`${label}: ${formatBytes(free)} of host memory free, a build needs about ${formatBytes(needed)}`);
}

/**
 * Checks for free space before a process starts, when stopping loses nothing. Notes a lack of memory for a build.
 * @throws DiskFullError
 */
export async function requireRoom(context: Room, attempt: Attempt): Promise<void> {
  noteMemory(context, attempt);
  for (const { bytes, folder, what } of needsOf(context, attempt)) {
    const free = await freeBytesOf(folder);
    if (free === null || free >= bytes) continue;
    const sizes = `${Math.floor(free / MIB)} MiB free, about ${Math.ceil(bytes / MIB)} MiB needed (${what})`;
    throw new DiskFullError(`${printable(folder)}: ${sizes}. ${resumeAdvice(context)}`);
  }
}

/**
 * On a full disk nothing is a result, because trtexec does not report failed exports and a log may be truncated.
 * @throws DiskFullError
 */
export function refuseFullDisk(context: Room, attempt: Attempt): void {
  for (const { folder } of needsOf(context, attempt)) {
    const full = fullDisk(folder);
    if (full === null) continue;
    throw new DiskFullError(
      `${printable(folder)}: ${full}: the last run may be cut off and is not stored. ${resumeAdvice(context)}`,
    );
  }
}

const NO_ROOM = new Set(['ENOSPC', 'EDQUOT', 'SQLITE_FULL']);

/**
 * An error that says in one line how to continue after a failed write of bench on a full disk. Other errors stay
 * unchanged.
 */
export function asDiskFull(context: Room, error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof DiskFullError) return error;
  const store = context.db.$client.name;
  const isOfStore = sqliteRefusal(error) !== null;
  const where = isOfStore ? store : 'path' in error ? String(error.path) : context.artefactsFolder;
  const full = isOfStore || NO_ROOM.has(errorCode(error)) ? fullDisk(dirname(where)) : null;
  const isFull = full !== null || [error, error.cause].some((each) => NO_ROOM.has(errorCode(each)));
  if (!isFull) return error;
  const what = `${printable(where)}: ${full ?? 'no space or no inodes left'}`;
  return new DiskFullError(`${what}; what was measured is stored. ${resumeAdvice(context)}`, { cause: error });
}

function resumeAdvice({ sweep }: Room): string {
  return `Free some space, then continue with \`bench run --resume ${sweep.sweepId.slice(0, 8)}\``;
}

export function engineBytesOf({ args }: Attempt): number {
  const path = flagValue(args, '--loadEngine');
  return path === null ? 0 : sizeOf(path);
}

/** @throws StoreLostError if the file of the store is gone; the runs are still in their folders */
export function requireStore(context: Pick<SweepContext, 'artefactsFolder' | 'db' | 'storeFile' | 'sweep'>): void {
  const { artefactsFolder, db, storeFile, sweep } = context;
  const loss = storeFile.loss();
  if (loss === null) return;
  if (loss.kind !== 'damaged') storeFile.dropWal();
  const store = printable(db.$client.name);
  // The next attempt recreates the folder.
  if (!existsSync(sweepManifestPath(artefactsFolder, sweep.sweepId))) {
    throw new StoreLostError(
      `${store}: ${loss.what} while bench wrote into it, and the artefacts of this sweep are gone, too`,
    );
  }
  const restored = `restore them with \`bench import ${printable(artefactsFolder)} --db ${store}\``;
  const advice = loss.kind === 'deleted' ? restored : `move that file away and ${restored}`;
  throw new StoreLostError(
    `${store}: ${loss.what} while bench wrote into it; no run is lost: ${advice}, then continue with \`bench run --resume ${sweep.sweepId.slice(0, 8)}\``,
  );
}
