import { statSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';

import { ENGINE_EXPLORER, TRTEXEC } from '../../artefacts/read/discover.ts';
import { artefactsFolderOf, isInside, removedFolderOf } from '../../files/layout.ts';
import { NOTHING_STATED, readSource, type StandaloneReading } from '../../artefacts/read/read-source.ts';
import { ensure, UsageError, EXIT_CODES, type ExitCode } from '../../errors.ts';
import type { GitState, Sweep } from '../../records/sweep.ts';
import { patternName } from '../../harnesses/number-pattern.ts';
import { customMetricOf } from '../../cli/options.ts';
import type { CustomMetricId } from '../../records/metric.ts';
import { outsideDriver, plugInProblem } from '../../harnesses/plug-in.ts';
import { addDriver, knownDrivers } from '../../harnesses/registry.ts';
import { didYouMean } from '../../text/nearest.ts';
import { resolveRevision } from '../../tools/git/git.ts';
import { takeAttached } from '../../artefacts/attached.ts';
import { writeFindings } from '../../artefacts/sweep-notes.ts';
import { AHEAD_MS, GroupImport, nameSources, emptySweep } from './import-group.ts';
import type { ImportContext, ImportedSweep, NamedSource } from './import-group.ts';
import { findSweepFolders, type FoundSweep, restoreSweep, readFindings } from './restore-sweep.ts';
import { importText } from './text.ts';
import { printable } from '../../text/printable.ts';
import { shellQuote } from '../../text/shell-quote.ts';
import { sweepsNamed } from '../../store/sweeps/find-sweeps.ts';
import { openStore, type OpenStore, type StoreDatabase } from '../../store/file/open.ts';
import { RunWriter } from '../../store/runs/save-run.ts';
import { findSweepsByPrefix } from '../../store/sweeps/sweeps.ts';
import { engineNotes } from '../../selection/engines-of-cells.ts';
import { type Io, printResult } from '../../cli/io.ts';
import { findRuns, leftOutOutput, nothingIn, readNamed, readingProblem } from '../../selection/find-runs.ts';
import type { LeftOut } from '../../selection/find-runs.ts';
import { migrationsFolder, storePath, toolVersion } from '../../cli/store-location.ts';
import { loadModule } from '../../cli/load-module.ts';
import { warnIfMigrated, usingStore } from '../../cli/with-store.ts';
import type { ImportOptions } from './command.ts';

/** Imports logs and folders of any trtexec, reports of other harnesses, or the artefacts of a lost store. */
export async function importRuns(paths: readonly string[], stated: ImportOptions, io: Io): Promise<ExitCode> {
  const options = /^[./]/.test(stated.as ?? '') ? { ...stated, as: plugInKind(stated.as ?? '', io) } : stated;
  const sources: NamedSource[] = [];
  const sweeps: FoundSweep[] = [];
  const artefactsFolder = artefactsFolderOf(storePath(options.db, io));
  const isOne = options.into === undefined || options.sweep === undefined;
  ensure(isOne, '--sweep names a new sweep, --into an existing one: give only one');
  checkOwner(options.as);
  const standalone = standaloneOf(options, io);
  const leftOut: LeftOut = {};
  const isWhole = await readNamed(paths, leftOut, io, async (path) => {
    const all = await findRuns(path, io, standalone, leftOut);
    const found = withoutOwnArtefacts(path, all, artefactsFolder);
    const planned = withoutOwnArtefacts(path, findSweepFolders(path, all), artefactsFolder);
    sweeps.push(...planned);
    if (found.length === 0 && planned.length === 0) {
      if (all.length > 0) {
        return `${printable(path)} contains only the artefacts of this store; to restore lost runs, name the folder in it: bench import ${shellQuote(artefactsFolder)}`;
      }
      const { as } = standalone;
      return as === null ? nothingIn(path) : `${printable(path)} contains no results of ${as} that bench imports`;
    }
    const areFiles = found.every((source) => source.kind !== 'log' || statSync(source.path).isFile());
    ensure(areFiles, `${path}: can be read only once; save it to a file first`);
    sources.push(...nameSources(path, found));
    return null;
  });
  await checkStandalone(sources, standalone, io);
  const git = await gitOf(options, io);
  const store = warnIfMigrated(openStore(storePath(options.db, io), migrationsFolder()), io);
  const imported: ImportedSweep[] = [];
  const note = (text: string): void => io.err(`note: ${text}\n`);
  const work = async (): Promise<void> => {
    const into = options.into === undefined ? null : importedSweep(store.db, options.into);
    const hinted = { git, date: dateOf(options, io), standalone, note: options.note ?? null, into };
    const context = contextOf(store.db, artefactsFolder, io, hinted);
    const groups = Map.groupBy(sources, ({ sweepName }) => options.into ?? options.sweep ?? sweepName);
    for (const [name, group] of groups) {
      io.signal.throwIfAborted();
      imported.push(...(await new GroupImport(context, name).import(group)));
    }
    imported.push(...(await restoreOthers(context, sweeps, imported)));
    await writeFindings(store.db, artefactsFolder, readFindings(store.db, sweeps));
    for (const path of paths) await takeAttached({ db: store.db, artefactsFolder }, path);
    const changed = imported.filter(({ stored }) => stored > 0);
    for (const { sweep } of changed) engineNotes(store.db, sweep.sweepId).forEach(note);
  };
  await usingStore(store, work);
  const output = { schemaVersion: 1 as const, sweeps: imported.map(outputOf), ...leftOutOutput(leftOut) };
  const code = printResult(io, options, output, (shown, look) => importText(shown, store.path, look));
  return isWhole ? code : EXIT_CODES.incomplete;
}

/** `bench import` of run folders that name their sweep. */
export function importRunFolders(folders: readonly string[], store: OpenStore, io: Io): Promise<ImportedSweep[]> {
  const sources = folders.map((path) => ({ source: { kind: 'folder' as const, path }, sweepName: '' }));
  return new GroupImport(contextOf(store.db, artefactsFolderOf(store.path), io), '').import(sources);
}

/** The context of an import without hints, apart from `stated`. */
function contextOf(db: StoreDatabase, artefactsFolder: string, io: Io, stated: Partial<ImportContext> = {}) {
  return {
    db,
    writer: new RunWriter(db),
    artefactsFolder,
    toolVersion: toolVersion(),
    git: null,
    now: io.now,
    date: null,
    standalone: NOTHING_STATED,
    note: null,
    into: null,
    onNote: (text: string) => io.err(`note: ${printable(text)}\n`),
    keeps: true,
    signal: io.signal,
    ...stated,
  };
}

/**
 * Stores the content of artefacts and writes nothing next to them.
 * @param folders folders of sweeps, within the artefacts folder
 */
export async function restoreArtefacts({ db }: OpenStore, artefactsFolder: string, folders: readonly string[], io: Io) {
  const standalone = standaloneOf({}, io);
  const unkept = { standalone, onNote: () => {}, keeps: false };
  const context = contextOf(db, artefactsFolder, io, unkept);
  const found: FoundSweep[] = [];
  for (const folder of folders) {
    const sources = await findRuns(folder, { ...io, err: () => {} }, standalone, {});
    const sweeps = findSweepFolders(folder, sources);
    const imported = await new GroupImport(context, folder).import(nameSources(folder, sources));
    await restoreOthers(context, sweeps, imported);
    found.push(...sweeps);
  }
  readFindings(db, found);
}

function outputOf({ sweep, stored, alreadyStored, outcomes, datesFrom }: ImportedSweep) {
  const { sweepId, name, provenance, startedAt } = sweep;
  return { sweepId, name, provenance, stored, alreadyStored, outcomes, startedAt, datesFrom };
}

/** Restores sweeps without runs, whose cells were planned and are missing. */
async function restoreOthers(context: ImportContext, found: readonly FoundSweep[], imported: readonly ImportedSweep[]) {
  const taken = new Set(imported.map(({ sweep }) => sweep.sweepId));
  const others: ImportedSweep[] = [];
  for (const each of found) {
    const { sweepId } = each.manifest.sweep;
    if (taken.has(sweepId)) continue;
    taken.add(sweepId);
    others.push(emptySweep(await restoreSweep(context, each)));
  }
  return others;
}

function dateOf({ date }: ImportOptions, io: Io): string | null {
  const isPast = date === undefined || Date.parse(date) <= io.now().getTime() + AHEAD_MS;
  ensure(isPast, `--date ${date?.slice(0, 10)}: this date is in the future`);
  return date ?? null;
}

/** Loads the driver of a plug-in and returns its kind. */
function plugInKind(file: string, { cwd }: Io): string {
  try {
    const driver = outsideDriver(loadModule(file, join(cwd, 'from')));
    addDriver(driver);
    return driver.kind;
  } catch (error) {
    throw new UsageError(`--as ${file}: ${plugInProblem(error)}`, { cause: error });
  }
}

function checkOwner(as: string | undefined): void {
  const owners = [TRTEXEC, ENGINE_EXPLORER, ...knownDrivers().map(({ kind }) => kind)];
  if (as === undefined || owners.includes(as)) return;
  throw new UsageError(`--as ${as}${didYouMean(as, owners)}: is one of ${owners.join(', ')}`);
}

/** The driver for any command also reads custom metrics. */
const OWN_NUMBERS = 'command';

/** @throws UsageError when the name does not give the unit */
function metricOfPattern(pattern: string): CustomMetricId {
  const name = patternName(pattern) ?? '';
  const metric = customMetricOf(name);
  if (metric !== null) return metric;
  throw new UsageError(
    `--pattern: {${name}} does not say its unit: write {${name}_ms}, or add --metric NAME:lower|higher:UNIT`,
  );
}

/** @throws UsageError if a metric is required but missing, or given but not needed */
function standaloneOf(options: ImportOptions, { cwd }: Io): StandaloneReading {
  const { as, metric: named, pattern, model, precision, shapes, cudaGraph, timer, runs, telemetry } = options;
  const metric = named ?? (pattern === undefined ? undefined : metricOfPattern(pattern));
  const isOwn = as === undefined || as === OWN_NUMBERS;
  ensure(isOwn || metric === undefined, `--metric is for files of your own: reports of ${as} name their metrics`);
  const example = '--metric NAME:lower|higher:UNIT, as e2e:lower:ms';
  ensure(as !== OWN_NUMBERS || metric !== undefined, `which metric do they contain? Add ${example}`);
  const own = { metric: metric ?? null, pattern: pattern ?? null };
  const hints = { as: metric === undefined ? (as ?? null) : OWN_NUMBERS, ...own };
  const watched = telemetry === undefined ? undefined : resolve(cwd, telemetry);
  const stated = { model, precision, shapes, cudaGraph, timer };
  return { stated, isStrict: true, runs: runs ?? null, watched, ...hints };
}

/** Checked before anything is stored, so that a mistake in one of many files leaves the store unchanged. */
async function checkStandalone(sources: readonly NamedSource[], standalone: StandaloneReading, io: Io): Promise<void> {
  if (standalone.watched !== undefined) await checkWatched(sources, standalone);
  for (const { source } of sources) {
    io.signal.throwIfAborted();
    if (['report', 'layers'].includes(source.kind)) await readSource(source, standalone, { signal: io.signal });
  }
}

/** @throws UsageError unless the telemetry belongs to a single log and to the GPU of that log */
async function checkWatched(sources: readonly NamedSource[], standalone: StandaloneReading) {
  const named = `--telemetry ${printable(basename(standalone.watched ?? ''))}`;
  const [only, ...more] = sources;
  const problem = `${named} needs exactly one log; a run folder has this file next to its stdout.log`;
  ensure(only?.source.kind === 'log' && more.length === 0, problem);
  const runs = await readSource(only.source, standalone).catch((error: unknown) => {
    throw new UsageError(`${named}: ${readingProblem(error)}`, { cause: error });
  });
  const [run, ...others] = runs;
  ensure(others.length === 0, `${named}: ${runs.length} runs are in this log, and it belongs to one of them`);
  const why = run?.notes.at(-1)?.replace(/^\S+ /, '') ?? 'nothing in the log';
  ensure(run?.telemetry, `${named}: ${why}`);
}

function importedSweep(db: StoreDatabase, name: string): Sweep {
  const found = [...sweepsNamed(db, name), ...findSweepsByPrefix(db, name)];
  const sweep = found.find(({ source }) => source === 'import');
  if (sweep !== undefined) return sweep;
  throw new UsageError(`--into ${name}: no imported sweep has this name; see \`bench ls sweeps\``);
}

/**
 * An import of a parent folder skips the store's own artefacts and those of removed sweeps. Naming them explicitly
 * restores them.
 */
function withoutOwnArtefacts<Found extends { readonly path: string }>(
  given: string,
  found: readonly Found[],
  artefactsFolder: string,
): Found[] {
  const own = [artefactsFolder, removedFolderOf(artefactsFolder)].filter((folder) => !isInside(folder, given));
  return found.filter(({ path }) => !own.some((folder) => isInside(folder, path)));
}

async function gitOf(options: ImportOptions, io: Io): Promise<GitState | null> {
  const { commit, branch } = options;
  if (commit === undefined && branch === undefined) return null;
  const resolved = commit === undefined ? null : await resolveRevision(io.cwd, commit);
  const isId = commit === undefined || /^[0-9a-f]{7,40}$/.test(commit);
  ensure(resolved !== null || isId, `--commit ${commit}: commit not found here; give its full id`);
  return { commit: resolved ?? commit ?? null, branch: branch ?? null, dirty: false };
}
