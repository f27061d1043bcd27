import { createHash } from 'node:crypto';
import { basename } from 'node:path';

import { errorText, TooLargeError } from '../../errors.ts';
import { feed, readChunks } from '../../files/files.ts';
import { RUN_MANIFEST } from '../../files/layout.ts';
import { NEIGHBOR } from '../../records/axis.ts';
import { COLD_START, isColdStart } from '../../records/harness.ts';
import { isFine, type LogStream, type Outcome } from '../../records/outcome.ts';
import type { StoredArtefact } from '../../records/run.ts';
import { defined } from '../../text/unknown-values.ts';
import { findFlags, findHarnessFlags, marked } from '../../trtexec/fitness/find-flags.ts';
import { boundBy } from '../../trtexec/fitness/host-bound.ts';
import { derive, type ParsedRun } from '../../trtexec/log/derived.ts';
import { failed, judgeRun, unfitFor } from '../../trtexec/log/judge.ts';
import { silentRun, type TrtexecRun } from '../../trtexec/log/run-builder.ts';
import { TrtexecLogParser } from '../../trtexec/log/trtexec-log.ts';
import type { FitnessLimits, RequestedOptions, RunExports } from '../../trtexec/run-facts.ts';
import { DEFAULT_FITNESS_LIMITS, NO_EXPORTS, USUAL_NAMES } from '../../trtexec/run-facts.ts';
import { type RunFiles, runFilesIn } from '../run-files.ts';
import { emptyManifest, parseRunManifest, type RunManifest } from '../run-manifest.ts';
import { exportsOfLog, readExports, readStandaloneLayers } from './read-exports.ts';
import { type DrivenFiles, judgeHarness, readHarness } from './read-harness.ts';
import { isTelemetryName, readTelemetry, telemetryNextTo } from './read-telemetry.ts';

/** A run read from disk, before it has an identity in a store. */
export interface ReadRun extends ParsedRun {
  readonly index: number;
  readonly manifest: RunManifest;
  readonly artefacts: readonly StoredArtefact[];
  /** Equal for equal bytes, at any path. */
  readonly contentId: string;
  /** Source paths with the names under which they are kept; absent for a run folder or a log. */
  readonly sources?: ReadonlyMap<string, string>;
}

export interface ReadOptions {
  readonly limits?: Partial<FitnessLimits>;
  /** A file from elsewhere may be made to exhaust memory; then reject the whole run. */
  readonly isForeign?: boolean;
  readonly signal?: AbortSignal;
}

export const STDOUT_LOG = 'stdout.log';
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
  const files = await runFilesIn(folder, options.signal);
  const { manifest, notes } = await readManifest(files);
  const runs = await readStatedRun(files, manifest, notes, options);
  if (options.isForeign === true && files.tooLarge() !== null) throw files.tooLarge();
  return runs;
}

/** Like `readRunFolder`, with a given content of `run.json`. */
export async function readStatedRun(
  files: RunFiles,
  manifest: RunManifest,
  notes: string[] = [],
  options: ReadOptions = {},
): Promise<ReadRun[]> {
  const { attempt, logIndex, lone: standalone } = manifest;
  const parser = new TrtexecLogParser();
  const isOfLayers = standalone?.kind === 'layers';
  const driven = isOfLayers ? null : await readHarness(files, manifest);
  const isOfLog = driven === null && !isOfLayers;
  const { artefacts, problems } = await hashAll(files, isOfLog ? logStreams(files) : new Map(), parser);
  const { runs, processes } = parser.end();
  const [log = silentRun(), ...others] = runs;
  const isAlone = others.length === 0;
  const read = isOfLayers
    ? await readStandaloneLayers(files, manifest)
    : isOfLog && isAlone
      ? await readExports(files, manifest, log)
      : { exports: NO_EXPORTS, notes: isAlone ? [] : exportsOfSeveral(files, runs.length) };
  const { telemetry, notes: watched } =
    isOfLayers || !isAlone ? { telemetry: null, notes: [] } : await readTelemetry(files, manifest, log);
  const said = [...notes, ...problems, ...read.notes, ...watched];
  const common = { path: files.folder, manifest, artefacts, exports: read.exports, telemetry, notes: said };
  const first = { ...common, log, index: 0 };
  if (driven !== null) return [harnessRun(first, driven)];
  if (isOfLayers) return [layersRun(first, read.notes)];
  const judgedLogs = [log, ...others].map((each, index) => judged({ ...common, log: each, index }, options));
  // A manifest that counts attempts describes one process. If trtexec ran several times in it, it is unknown which
  // numbers and exports count.
  if (logIndex !== null) return judgedLogs.filter(({ index }) => index === logIndex);
  if (isAlone || attempt === null || processes <= 1) return judgedLogs;
  const several = `trtexec ran ${processes} times in one process: it is unknown which run printed these numbers`;
  const unfit = unfitFor('suspectErrors', several);
  return judgedLogs.map((run) => (isFine(run.outcome) ? { ...run, outcome: unfit } : run));
}

function exportsOfSeveral(files: RunFiles, runs: number): string[] {
  const found = Object.values(USUAL_NAMES).filter((name) => files.has(name));
  const why = `${runs} runs are in this log, and it does not name the one that wrote it`;
  return found.length === 0 ? [] : [`${found.join(', ')} left out: ${why}`];
}

function harnessRun(reading: LogReading, { result, lastError }: DrivenFiles): ReadRun {
  const { log, manifest, telemetry } = reading;
  const harness = result.kind === 'read' ? result.reading : null;
  const facts = { log, derived: derive(log, null), times: null, telemetry, machine: defined(manifest.environment) };
  const flags = [...marked(manifest), ...findHarnessFlags(facts, harness)];
  const outcome = judgeHarness(result, manifest, lastError, flags);
  return built(reading, { harness, flags, outcome }, manifest.lone?.kind === 'report' ? manifest.lone.index : 0);
}

/** @param problems reasons for missing layers */
function layersRun(reading: LogReading, problems: readonly string[]): ReadRun {
  const { exports, manifest } = reading;
  const outcome: Outcome =
    exports.profile === null && exports.layerInfo === null
      ? failed('incomplete', problems[0] ?? 'it contains no layers')
      : { kind: 'measured', evidence: [] };
  // The same trace summed over another number of runs is another measurement.
  return built(reading, { flags: [], outcome }, manifest.lone?.kind === 'layers' ? (manifest.lone.runs ?? 0) : 0);
}

type LogReading = Omit<ReadRun, 'contentId' | 'derived' | 'flags' | 'harness' | 'outcome' | 'sources'>;

/** @param number distinguishes runs with the same files */
function built(
  reading: LogReading,
  found: Pick<ReadRun, 'flags' | 'outcome'> & Partial<ReadRun>,
  number = reading.index,
): ReadRun {
  const { artefacts, exports, log, manifest, notes } = reading;
  return {
    harness: null,
    derived: derive(log, exports.times),
    ...reading,
    ...found,
    notes: [...manifest.notes, ...notes],
    contentId: contentId(manifest, artefacts, number),
  };
}

/**
 * Hashes all files that the process left, sorted by name. @param streams files of a log, which is parsed in this order
 */
async function hashAll(files: RunFiles, streams: ReadonlyMap<string, LogStream>, parser: TrtexecLogParser) {
  const logs = [...streams.keys()].filter((name) => files.has(name));
  const others = files.names.filter((name) => !streams.has(name) && !OWN_FILES.has(name));
  const artefacts: StoredArtefact[] = [];
  const problems: string[] = [];
  for (const name of [...logs, ...others]) {
    const stream = streams.get(name);
    const take = stream === undefined ? undefined : (chunk: Buffer) => parser.push(chunk, stream);
    const { sha256, bytes, problem } = await feed(files.chunks(name), take);
    artefacts.push({ name, sha256, bytes });
    if (problem !== null) problems.push(`${files.real(name)} ${problem}`);
  }
  return { artefacts: inOrder(artefacts), problems };
}

/**
 * Reads a standalone log, with stdout and stderr merged or stdout only. Empty if it has no trtexec output.
 * @param watched file with the output of nvidia-smi; belongs to no run if the log has several
 * @throws TooLargeError as `readRunFolder` does
 */
export async function readBareLog(
  path: string,
  options: ReadOptions = {},
  chunks: AsyncIterable<Buffer> = readChunks(path, null, options.signal),
  watched?: string,
): Promise<ReadRun[]> {
  const parser = new TrtexecLogParser();
  const { sha256, bytes, error, problem } = await feed(chunks, (chunk) => parser.push(chunk));
  if (options.isForeign === true && error instanceof TooLargeError) throw error;
  const artefact = { name: STDOUT_LOG, sha256, bytes };
  const { runs } = parser.end();
  const logs = runs.length > 0 || problem === null ? runs : [silentRun()];
  const [first] = logs;
  const near = watched !== undefined && first !== undefined && logs.length === 1;
  const { artefact: samples, telemetry, notes } = near ? await telemetryNextTo(watched, first) : NOT_NEAR;
  const said = problem === null ? notes : [`${basename(path)} ${problem}`, ...notes];
  if (watched !== undefined && !near) said.push(`${basename(watched)} left out: ${logs.length} runs are in this log`);
  const about = { path, manifest: emptyManifest(), artefacts: [artefact], telemetry, notes: said };
  const read = logs.map((log, index) => judged({ ...about, exports: exportsOfLog(log), log, index }, options));
  const sources = new Map([[path, STDOUT_LOG]]);
  if (watched !== undefined && samples !== null) sources.set(watched, samples.name);
  // The same log without the samples is the same run.
  return read.map((run) => ({ ...run, artefacts: inOrder([artefact, samples ?? []].flat()), sources }));
}

const NOT_NEAR = { artefact: null, telemetry: null, notes: [] };

function inOrder(artefacts: readonly StoredArtefact[]): StoredArtefact[] {
  return artefacts.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** Returns `stdout.log` and `stderr.log`; without the first, the only other file whose name is that of a log. */
function logStreams(files: RunFiles): ReadonlyMap<string, LogStream> {
  const names = files.names.filter((name) => /^[^/]*\.(?:log|txt|out)$/.test(name) && !isTelemetryName(name));
  const [only = STDOUT_LOG, ...others] = names.filter((name) => name !== STDERR_LOG);
  const stdout = files.has(STDOUT_LOG) || others.length > 0 ? STDOUT_LOG : only;
  return new Map([[stdout, 'stdout'] as const, [STDERR_LOG, 'stderr'] as const]);
}

async function readManifest(files: RunFiles): Promise<{ manifest: RunManifest; notes: string[] }> {
  if (!files.has(RUN_MANIFEST)) return { manifest: emptyManifest(), notes: [] };
  const { manifest, problem } = await files.whole(RUN_MANIFEST).then(
    (bytes) => parseRunManifest(bytes.toString('utf8')),
    (error: unknown) => ({ manifest: null, problem: errorText(error) }),
  );
  if (manifest !== null) return { manifest, notes: [] };
  return { manifest: emptyManifest(), notes: [`${NOT_UNDERSTOOD}: ${problem}`] };
}

function judged(reading: LogReading, options: ReadOptions): ReadRun {
  const { exports, log, manifest, notes, telemetry } = reading;
  const { cell, conversionFailure } = manifest;
  const isCold = cell !== null && 'harness' in cell && isColdStart(cell);
  const derived = derive(log, exports.times);
  const hasNeighbor = cell !== null && 'axisFlags' in cell && NEIGHBOR in cell.axisFlags;
  const times = isCold ? null : exports.times;
  const facts = { log, derived, times, telemetry, machine: defined(manifest.environment), hasNeighbor };
  const found = isCold ? findHarnessFlags(facts, null) : findFlags(facts);
  const flags = log.measurement === null ? found : [...marked(manifest), ...found];
  const limits = { ...DEFAULT_FITNESS_LIMITS, ...defined(manifest.limits), ...options.limits };
  const requested = requestedBy(manifest);
  const outcome: Outcome =
    conversionFailure === null
      ? judgeRun({ run: log, process: manifest, exports, requested, limits, flags, role: manifest.role })
      : { kind: 'failed', ...conversionFailure };
  const omittedMib = Math.ceil(log.omittedBytes / (1 << 20));
  const omitted = `the log was too long: at least ${omittedMib} MiB of its middle were left out`;
  const own = isCold ? coldStart(log, exports) : { derived: { ...derived, boundBy: boundBy({ log, derived }, flags) } };
  const noted = { ...reading, notes: [...notes, ...(omittedMib === 0 ? [] : [omitted])] };
  return built(noted, { ...own, flags, outcome });
}

/** The plan's settings; for a foreign run, those of the cell in its `run.json`. */
function requestedBy({ cell, requested }: RunManifest): RequestedOptions {
  if (cell === null || Object.keys(requested).length > 0) return defined(requested);
  if (!('inputs' in cell)) return defined({ shapes: cell.shapes });
  const { shapes, streams } = cell;
  const [cudaGraph, dataTransfers] = [cell.cudaGraph ?? undefined, cell.dataTransfers ?? undefined];
  return defined({ shapes, streams, cudaGraph, dataTransfers, spinWait: cell.spinWait ?? undefined });
}

/** The values of a single cold start. Its few queries are not a measurement of steady state. */
function coldStart(log: TrtexecRun, exports: RunExports): Pick<ReadRun, 'derived' | 'exports' | 'harness' | 'log'> {
  const value = exports.times?.columns.latencyMs?.[0] ?? null;
  const own = { ...log, measurement: null };
  const { name, timer } = COLD_START;
  const counted = { inFlight: 1, percentileRule: 'unknown' as const, warmUpRuns: 0, timedRuns: 1 };
  const method = { harness: name, harnessVersion: null, timer, ...counted, transfers: log.options.dataTransfers };
  return {
    log: own,
    exports: { ...exports, times: null },
    derived: derive(own, null),
    harness: value === null ? null : { method, latencyMs: null, values: [{ metric: 'firstInferenceMs', value }] },
  };
}

function contentId(manifest: RunManifest, artefacts: readonly StoredArtefact[], index: number): string {
  const { argv, cell, lone: standalone, startedAt } = manifest;
  const hash = createHash('sha256');
  // For bare numbers, only the stated cell and metric distinguish runs.
  const { metric = null, pattern = null, timer = null } = standalone?.kind === 'report' ? standalone : {};
  const stated = metric === null ? [] : [metric, timer, cell, ...(pattern === null ? [] : [pattern])];
  hash.update(JSON.stringify([argv, startedAt, index, ...stated]));
  for (const { name, sha256 } of artefacts) hash.update(`\0${name}\0${sha256}`);
  return hash.digest('hex').slice(0, 32);
}
