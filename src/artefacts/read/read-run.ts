import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { basename } from 'node:path';

import { errorText } from '../../errors.ts';
import { isFine, type LogStream, type Outcome } from '../../records/outcome.ts';
import {
  DEFAULT_FITNESS_LIMITS,
  type FitnessLimits,
  NO_EXPORTS,
  type ProcessFacts,
  type RunExports,
  type ParsedRun,
} from '../../trtexec/run-facts.ts';
import { COLD_START, isColdStart } from '../../records/harness.ts';
import type { RunTelemetry } from '../../records/telemetry.ts';
import type { StoredArtefact } from '../../records/run.ts';
import { isTelemetryName, readTelemetry } from './read-telemetry.ts';
import type { TrtexecRun } from '../../trtexec/log/parsed-log.ts';
import { boundBy } from '../../trtexec/fitness/bound-by.ts';
import { findFlags, findHarnessFlags, marked } from '../../trtexec/fitness/find-flags.ts';

import { judgeHarness } from '../../harnesses/judge-harness.ts';
import { derive } from '../../trtexec/log/derived.ts';
import { failed, judgeRun, syntheticEvidence, unfitFor } from '../../trtexec/log/judge.ts';
import { silentRun } from '../../trtexec/log/run-builder.ts';
import { TrtexecLogParser } from '../../trtexec/log/trtexec-log.ts';
import { contradictedCell } from '../../trtexec/cell-of-run.ts';
import { feed, plainName, readChunks } from '../files.ts';
import { type DrivenFiles, readHarness } from './read-harness.ts';
import { readExports, readStandaloneLayers, USUAL_NAMES } from './read-exports.ts';
import { RUN_MANIFEST } from '../layout.ts';
import { folderFiles, RunFiles } from '../run-files.ts';
import { emptyManifest, parseRunManifest, type RunManifest } from '../run-manifest.ts';
import { defined } from '../../text/unknown-values.ts';

/** A run read from disk, before it has an identity in a store. */
export interface ReadRun extends ParsedRun {
  readonly index: number;
  readonly manifest: RunManifest;
  readonly artefacts: readonly StoredArtefact[];
  /** Equal for equal bytes, at any path. */
  readonly contentId: string;
  /** Source paths with the names to keep them under; absent for a run folder or a log. */
  readonly sources?: ReadonlyMap<string, string>;
}

export interface ReadOptions {
  readonly limits?: Partial<FitnessLimits>;
  /** Files from elsewhere may be made to exhaust memory: reject the whole run then. */
  readonly isForeign?: boolean;
  readonly signal?: AbortSignal;
}

const STDOUT_LOG = 'stdout.log';
const STDERR_LOG = 'stderr.log';

export const NOT_UNDERSTOOD = 'run.json was not understood';

/** Files in a run folder that bench writes, not the process. */
const OWN_FILES = new Set([RUN_MANIFEST, 'attempt.json']);

/**
 * Reads a folder with `run.json` (either form, or none), `stdout.log`, `stderr.log` and exports, each possibly
 * compressed. A log may contain several runs.
 * @throws TooLargeError for a foreign run with a file larger than any real one
 */
export async function readRunFolder(folder: string, options: ReadOptions = {}): Promise<ReadRun[]> {
  const files = await RunFiles.of(folder, options.signal);
  const { manifest, notes } = await readManifest(files);
  const runs = await readStatedRun(files, manifest, notes, options);
  if (options.isForeign === true && files.tooLarge !== null) throw files.tooLarge;
  return runs;
}

/** As `readRunFolder`, with the contents of `run.json` given. */
export async function readStatedRun(
  files: RunFiles,
  manifest: RunManifest,
  notes: string[] = [],
  options: ReadOptions = {},
): Promise<ReadRun[]> {
  if (manifest.lone?.kind === 'layers') return [await layersRun(files, manifest, notes)];
  const driven = await readHarness(files, manifest);
  if (driven !== null) {
    return [await harnessRun(files, manifest, driven, notes)];
  }
  const parser = new TrtexecLogParser();
  const { artefacts, problems } = await hashAll(files, logStreams(files), parser);
  notes.push(...problems);
  const { runs, processes } = parser.end();
  const logs = runs.length > 0 ? runs : [silentRun()];
  const alone = logs.length === 1;
  const judgedLogs = await Promise.all(
    logs.map(async (log, index) => {
      const read = alone
        ? await readExports(files, manifest, log)
        : { exports: NO_EXPORTS, notes: exportsOfSeveral(files, logs.length) };
      const watched = alone ? await readTelemetry(files, manifest, log) : { telemetry: null, notes: [] };
      return judged(files.folder, index, manifest, log, read.exports, watched.telemetry, options, artefacts, [
        ...notes,
        ...read.notes,
        ...watched.notes,
      ]);
    }),
  );
  const { logIndex } = manifest;
  if (logIndex !== null) {
    return judgedLogs.filter(({ index }) => index === logIndex).map(ofItsCell);
  }
  if (alone) return judgedLogs.map(ofItsCell);
  // A manifest that counts attempts describes one process.
  const isOne = manifest.attempt !== null && processes > 1;
  return isOne ? judgedLogs.map((run) => ofSeveral(run, processes)) : judgedLogs;
}

function ofItsCell(run: ReadRun): ReadRun {
  const { cell } = run.manifest;
  const text = cell === null || !isFine(run.outcome) ? null : contradictedCell(cell, run.log);
  return text === null ? run : { ...run, outcome: unfitFor('optionsDiffer', syntheticEvidence(text)) };
}

/** A stand-in for trtexec that starts it several times: it is unknown whose numbers and exports count. */
function ofSeveral(run: ReadRun, processes: number): ReadRun {
  if (!isFine(run.outcome)) return run;
  const text = `trtexec ran ${processes} times in one process: whose numbers these are is unknown`;
  return { ...run, outcome: unfitFor('suspectErrors', syntheticEvidence(text)) };
}

function exportsOfSeveral(files: RunFiles, runs: number): string[] {
  const found = Object.values(USUAL_NAMES).filter((name) => files.has(name));
  return found.length === 0
    ? []
    : [`${found.join(', ')} left out: ${runs} runs are in this log, and which of them wrote it is not said`];
}

/** What a run without a log of trtexec begins with. */
function unjudged({ folder: path }: RunFiles, manifest: RunManifest) {
  const log = silentRun();
  const nothing = { harness: null, exports: NO_EXPORTS, telemetry: null, flags: [] };
  return { ...nothing, path, index: 0, manifest, log, derived: derive(log, null) };
}

async function harnessRun(
  files: RunFiles,
  manifest: RunManifest,
  { result, lastError }: DrivenFiles,
  notes: readonly string[],
): Promise<ReadRun> {
  const { artefacts, problems } = await hashAll(files);
  const run = unjudged(files, manifest);
  const { log, derived } = run;
  const watched = await readTelemetry(files, manifest, log);
  const { telemetry } = watched;
  const machine = defined(manifest.environment);
  const reading = result.kind === 'read' ? result.reading : null;
  const facts = { log, derived, times: null, telemetry, machine };
  const flags = [...marked(manifest), ...findHarnessFlags(facts, reading)];
  return {
    ...run,
    harness: reading,
    telemetry,
    flags,
    outcome: judgeHarness(result, processFacts(manifest), lastError, flags),
    notes: [...manifest.notes, ...notes, ...problems, ...watched.notes],
    artefacts,
    contentId: contentId(manifest, artefacts, manifest.lone?.kind === 'report' ? manifest.lone.index : 0),
  };
}

async function layersRun(files: RunFiles, manifest: RunManifest, notes: readonly string[]): Promise<ReadRun> {
  const { artefacts, problems } = await hashAll(files);
  const read = await readStandaloneLayers(files, manifest);
  const [problem] = read.notes;
  const outcome: Outcome =
    read.exports.profile === null && read.exports.layerInfo === null
      ? failed('incomplete', syntheticEvidence(problem ?? 'no layers in it'))
      : { kind: 'measured', evidence: [] };
  return {
    ...unjudged(files, manifest),
    exports: read.exports,
    outcome,
    notes: [...manifest.notes, ...notes, ...problems, ...read.notes],
    artefacts,
    // The same trace over another number of runs is another measurement.
    contentId: contentId(manifest, artefacts, manifest.lone?.kind === 'layers' ? (manifest.lone.runs ?? 0) : 0),
  };
}

/** Everything that the process left, by name. @param streams files of a log, which is parsed in this order */
async function hashAll(
  files: RunFiles,
  streams: ReadonlyMap<string, LogStream> = new Map(),
  parser: TrtexecLogParser | null = null,
): Promise<{ artefacts: StoredArtefact[]; problems: string[] }> {
  const logs = [...streams.keys()].filter((name) => files.has(name));
  const others = files.names.filter((name) => !streams.has(name) && !OWN_FILES.has(name));
  const artefacts: StoredArtefact[] = [];
  const problems: string[] = [];
  for (const name of [...logs, ...others]) {
    const stream = streams.get(name);
    const take = (chunk: Buffer): void => {
      if (stream !== undefined) parser?.push(chunk, stream);
    };
    const { sha256, bytes, problem } = await feed(files.chunks(name), take);
    artefacts.push({ name, sha256, bytes });
    if (problem !== null) problems.push(`${files.real(name)} ${problem}`);
  }
  return { artefacts: artefacts.toSorted((a, b) => (a.name < b.name ? -1 : 1)), problems };
}

/**
 * Reads a standalone log, with stdout and stderr merged or stdout only. Empty if it has no trtexec output.
 * @throws TooLargeError as `readRunFolder` does
 */
export async function readBareLog(
  path: string,
  options: ReadOptions = {},
  chunks: AsyncIterable<Buffer> = readChunks(path, null, options.signal),
): Promise<ReadRun[]> {
  const parser = new TrtexecLogParser();
  const { sha256, bytes, problem, tooLarge } = await feed(chunks, (chunk) => parser.push(chunk, 'stdout'));
  if (options.isForeign === true && tooLarge !== null) throw tooLarge;
  const artefact = { name: plainName(basename(path)), sha256, bytes };
  const notes = problem === null ? [] : [`${basename(path)} ${problem}`];
  const { runs } = parser.end();
  const logs = runs.length > 0 || problem === null ? runs : [silentRun()];
  return logs.map((log, index) =>
    judged(path, index, emptyManifest(), log, NO_EXPORTS, null, options, [artefact], notes),
  );
}

export function readExportsAlone(path: string, exports: RunExports): ReadRun {
  return judged(path, 0, emptyManifest(), silentRun(), exports, null, {}, [], []);
}

/** `stdout.log` and `stderr.log`; without the first, the only other file named like a log. */
function logStreams(files: RunFiles): ReadonlyMap<string, LogStream> {
  const others = files.names.filter(
    (name) => /\.(?:log|txt|out)$/.test(name) && name !== STDERR_LOG && !isTelemetryName(name),
  );
  const [only] = others;
  const stdout = files.has(STDOUT_LOG) || others.length !== 1 ? STDOUT_LOG : only;
  return new Map([
    [stdout ?? STDOUT_LOG, 'stdout'],
    [STDERR_LOG, 'stderr'],
  ]);
}

async function readManifest(files: RunFiles): Promise<{ manifest: RunManifest; notes: string[] }> {
  if (!files.has(RUN_MANIFEST)) return { manifest: emptyManifest(), notes: [] };
  const reading = await files
    .whole(RUN_MANIFEST)
    .then((bytes) => parseRunManifest(bytes.toString('utf8')))
    .catch((error: unknown) => ({ kind: 'faulty' as const, problem: errorText(error) }));
  return reading.kind === 'read'
    ? { manifest: reading.manifest, notes: [] }
    : { manifest: emptyManifest(), notes: [`${NOT_UNDERSTOOD}: ${reading.problem}`] };
}

function judged(
  path: string,
  index: number,
  manifest: RunManifest,
  log: TrtexecRun,
  exports: RunExports,
  telemetry: RunTelemetry | null,
  options: ReadOptions,
  artefacts: readonly StoredArtefact[],
  notes: readonly string[],
): ReadRun {
  const isCold = manifest.cell !== null && 'harness' in manifest.cell && isColdStart(manifest.cell);
  const derived = derive(log, exports.times);
  const machine = defined(manifest.environment);
  const flags = [
    ...(log.measurement === null ? [] : marked(manifest)),
    ...(isCold
      ? findHarnessFlags({ log, derived, times: null, telemetry, machine }, null)
      : findFlags({ log, derived, times: exports.times, telemetry, machine })),
  ];
  const { conversionFailure } = manifest;
  const outcome: Outcome =
    conversionFailure === null
      ? judgeRun({
          run: log,
          process: processFacts(manifest),
          exports,
          requested: defined(manifest.requested),
          // Runs that bench started are checked against their plan.
          statedArgv: Object.keys(manifest.requested).length === 0 ? manifest.argv : null,
          limits: { ...DEFAULT_FITNESS_LIMITS, ...defined(manifest.limits), ...options.limits },
          flags,
          role: manifest.role,
        })
      : { kind: 'failed', ...conversionFailure };
  return {
    path,
    index,
    manifest,
    ...(isCold
      ? coldStart(log, exports)
      : { log, exports, harness: null, derived: { ...derived, boundBy: boundBy({ log, derived }, flags) } }),
    telemetry,
    flags,
    outcome,
    notes: [...manifest.notes, ...notes, ...(log.omittedBytes === 0 ? [] : [omittedNote(log.omittedBytes)])],
    artefacts,
    contentId: contentId(manifest, artefacts, index),
  };
}

/** What it did once; its few queries are no steady times. */
function coldStart(log: TrtexecRun, exports: RunExports): Pick<ReadRun, 'derived' | 'exports' | 'harness' | 'log'> {
  const value = exports.times?.columns.latencyMs?.[0] ?? null;
  const own = { ...log, measurement: null };
  const method = {
    harness: COLD_START.name,
    harnessVersion: null,
    timer: COLD_START.timer,
    inFlight: 1,
    percentileRule: 'unknown' as const,
    transfers: log.options.dataTransfers,
    warmUpRuns: 0,
    timedRuns: 1,
  };
  return {
    log: own,
    exports: { ...exports, times: null },
    derived: derive(own, null),
    harness: value === null ? null : { method, latencyMs: null, values: [{ metric: 'firstInferenceMs', value }] },
  };
}

function omittedNote(bytes: number): string {
  return `the log was too long: at least ${Math.ceil(bytes / (1 << 20))} MiB of its middle were left out`;
}

export function processFacts(manifest: RunManifest): ProcessFacts {
  const { exitCode, signal, timedOut, limit, cancelled, logTooLong } = manifest;
  return { exitCode, signal, timedOut, limit, cancelled, logTooLong };
}

function contentId(manifest: RunManifest, artefacts: readonly StoredArtefact[], index: number): string {
  const hash = createHash('sha256');
  hash.update(JSON.stringify([manifest.argv, manifest.startedAt, index, ...statedKeys(manifest)]));
  for (const { name, sha256 } of artefacts) hash.update(`\0${name}\0${sha256}`);
  return hash.digest('hex').slice(0, 32);
}

/** For bare numbers, only the stated cell and metric distinguish runs. */
function statedKeys({ cell, lone: standalone }: RunManifest): unknown[] {
  if (standalone?.kind !== 'report' || standalone.metric === null) return [];
  const { metric, pattern, timer } = standalone;
  return [metric, timer, cell, ...(pattern === null ? [] : [pattern])];
}

export async function isRunFolder(path: string): Promise<boolean> {
  const info = await stat(path);
  if (!info.isDirectory()) return false;
  const files = await folderFiles(path);
  return files.has('run.json') || files.has('stdout.log');
}
