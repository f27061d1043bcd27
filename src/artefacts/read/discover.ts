import { readdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';

import { headOfFile, plainName, unpackedHead } from '../../files/files.ts';
import { ATTEMPT_PREFIX, isTemporary, runOfAttached } from '../../files/layout.ts';
import { isRunFolder, readBareLog } from './read-run.ts';
import { isDmon } from './read-telemetry.ts';
import { lackingUnpacker } from '../../files/recode.ts';
import { EXPLORER_GRAPH, recogniseLayers, recogniseReport, REPORT_NAME, TRTEXEC } from './recognise.ts';
import type { ImportHints, RunSource } from './recognise.ts';

/** A file inside a folder counts as a log if its name matches and it contains trtexec output. */
const LOG_NAME = /\.(?:log|txt|out|err)(?:\.\d+)?$/;
/** Programs and scripts also have no extension, so such a file must look like a log. */
const NO_ENDING = /^[^.]+$/;
const LOOKS_LIKE_LOG = /^(?:&&&& RUNNING TensorRT\.trtexec|\[\d\d\/\d\d\/\d{4}-[\d:]{8}\] \[I\] === Model Options)/m;
const STAMP = /\[\d\d\/\d\d\/\d{4}-[\d:]{8}\] \[[FEWIV]\] /;
const SPEAKS = /TensorRT\.trtexec|=== (?:Performance summary|Model Options|Profile \()/;
const SNIFFED_BYTES = 1 << 20;
/** Enough for the first line of nearly every log. */
const HEAD_BYTES = 2048;
const MAGIC_BYTES = 16;
const FOREIGN_NAME = /\.(?:log|txt|out|err|json)(?:\.\d+)?(?:\.(?:xz|bz2))?$/;

export interface OnTheWay {
  readonly signal?: AbortSignal;
  readonly link?: (path: string) => void;
  readonly damaged?: (path: string) => void;
  readonly archive?: (path: string, program: string, from: string) => void;
  /** Called for a file whose name is that of a log, but that holds nothing readable. */
  readonly leftOut?: (path: string, kind: LeftOutKind) => void;
}

export const LEFT_OUT_KINDS = ['oldTrtexec', 'empty', 'other'] as const;

export type LeftOutKind = (typeof LEFT_OUT_KINDS)[number];

/** Output of TensorRT 6 and earlier, which has only averages. */
const OLD_TRTEXEC = /Average over \d+ runs is [\d.]+ ms \(host walltime is/;

/** Why nothing could be read from a file. */
export function leftOutKind(path: string): LeftOutKind {
  if (headOfFile(path, 1).length === 0) return 'empty';
  return isOld(path) ? 'oldTrtexec' : 'other';
}

function isOld(path: string): boolean {
  return OLD_TRTEXEC.test(headOfFile(path, SNIFFED_BYTES).toString('latin1'));
}

/**
 * Finds the runs under a path: run folders at any depth, bare logs, and reports of other harnesses. A file that the
 * user names may have any name if it holds output of trtexec, or of a failed start of it; it may also hold layers.
 * Symbolic links in a folder are not followed, because they may lead anywhere.
 * @throws when the path does not exist, or when the signal aborts
 */
export async function discoverRuns(
  path: string,
  hints: ImportHints = { as: null, metric: null },
  onTheWay: OnTheWay = {},
): Promise<RunSource[]> {
  const { as } = hints;
  const info = await stat(path);
  if (info.isDirectory()) return discoverFolder(path, hints, onTheWay);
  // A pipe can be read only once.
  if (!info.isFile()) return [{ kind: 'log', path }];
  if (isForeign(path, onTheWay) || (await isGarbage(path, onTheWay))) return [];
  const isTrtexec = as === null || as === TRTEXEC;
  if (isTrtexec && isOld(path)) return [];
  if (isTrtexec && (await speaksTrtexec(path))) return [{ kind: 'log', path }];
  const { signal } = onTheWay;
  const found = (await recogniseReport(path, hints, signal)) ?? (await recogniseLayers(path, as, signal));
  if (found !== null) return [found];
  return isTrtexec && (await readBareLog(path)).length > 0 ? [{ kind: 'log', path }] : [];
}

async function discoverFolder(folder: string, hints: ImportHints, onTheWay: OnTheWay): Promise<RunSource[]> {
  const isRun = await isRunFolder(folder);
  const entries = await readdir(folder, { withFileTypes: true });
  const found: RunSource[] = isRun ? [{ kind: 'folder', path: folder }] : [];
  const watched: string[] = [];
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    await nextTurn();
    onTheWay.signal?.throwIfAborted();
    const path = join(folder, entry.name);
    if (isTemporary(entry.name) || entry.name.startsWith(ATTEMPT_PREFIX)) continue;
    if (runOfAttached(entry.name) !== null) continue;
    if (entry.isDirectory()) found.push(...(await discoverFolder(path, hints, onTheWay)));
    else if (entry.isSymbolicLink()) onTheWay.link?.(path);
    else if (FOREIGN_NAME.test(entry.name) && isForeign(path, onTheWay)) continue;
    else if (!isRun && entry.isFile() && !(await isGarbage(path, onTheWay))) {
      const source = await discoverFile(path, plainName(entry.name), hints, onTheWay);
      if (source !== null) found.push(source);
      else if (isDmon(headOfFile(path, HEAD_BYTES).toString('latin1'))) watched.push(path);
      else if (LOG_NAME.test(plainName(entry.name))) onTheWay.leftOut?.(path, leftOutKind(path));
    }
  }
  // With several logs it is unknown during which one nvidia-smi ran.
  const [log, ...logs] = found.filter(({ kind, path }) => kind === 'log' && dirname(path) === folder);
  const [telemetry, ...more] = watched;
  if (log?.kind === 'log' && telemetry !== undefined && logs.length + more.length === 0) {
    return found.map((source) => (source === log ? { ...log, watched: telemetry } : source));
  }
  for (const path of watched) onTheWay.leftOut?.(path, 'other');
  return found;
}

function isForeign(path: string, { archive }: OnTheWay): boolean {
  const found = lackingUnpacker(headOfFile(path, MAGIC_BYTES));
  if (found !== null) archive?.(path, found.program, found.from);
  return found !== null;
}

/** First bytes of each format; Brotli has none. */
const MAGIC = { gz: [0x1f, 0x8b], zst: [0x28, 0xb5, 0x2f, 0xfd] } as const;

/** Whether the name promises compressed data, and not even the beginning can be read. */
async function isGarbage(path: string, { damaged, signal }: OnTheWay): Promise<boolean> {
  const magic = path.endsWith('.gz') ? MAGIC.gz : path.endsWith('.zst') ? MAGIC.zst : [];
  const head = headOfFile(path, MAGIC_BYTES);
  if (magic.every((byte, index) => head[index] === byte)) return false;
  if ((await unpackedHead(path, 1, signal)) !== null) return false;
  damaged?.(path);
  return true;
}

/**
 * Takes layers without a log from a folder only if the user stated their cell, because they may belong to a log next to
 * them.
 */
async function discoverFile(path: string, name: string, hints: ImportHints, { signal }: OnTheWay) {
  const { as } = hints;
  if (as === null || as === TRTEXEC) {
    const isLog = LOG_NAME.test(name) ? await isLogOfTrtexec(path) : NO_ENDING.test(name) && (await looksLikeLog(path));
    if (isLog) return isOld(path) ? null : { kind: 'log' as const, path };
  }
  const report = REPORT_NAME.test(name) ? await recogniseReport(path, hints, signal) : null;
  if (report !== null) return report;
  return EXPLORER_GRAPH.test(name) || (as !== null && as !== TRTEXEC) ? recogniseLayers(path, as, signal) : null;
}

/** The only trace of trtexec in an excerpt may be the time stamps of its logger. */
async function isLogOfTrtexec(path: string): Promise<boolean> {
  if (await speaksTrtexec(path)) return true;
  return STAMP.test(headOfFile(path, HEAD_BYTES).toString('latin1')) && (await readBareLog(path)).length > 0;
}

async function speaksTrtexec(path: string): Promise<boolean> {
  if (SPEAKS.test(headOfFile(path, HEAD_BYTES).toString('latin1'))) return true;
  const head = await unpackedHead(path, SNIFFED_BYTES);
  return head === null ? plainName(path) !== path : SPEAKS.test(head.head.toString('latin1'));
}

/** A damaged file without an extension may hold anything. */
async function looksLikeLog(path: string): Promise<boolean> {
  const head = await unpackedHead(path, SNIFFED_BYTES);
  return head !== null && LOOKS_LIKE_LOG.test(head.head.toString('latin1'));
}
