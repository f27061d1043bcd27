import { statSync } from 'node:fs';
import { resolve, sep } from 'node:path';

import type { RunSource } from '../artefacts/discover.ts';
import { artefactsFolderOf } from '../artefacts/layout.ts';
import { readPrunedNotes } from '../artefacts/pruned-note.ts';
import { UsageError } from '../domain/errors.ts';
import type { Shapes } from '../domain/cell.ts';
import type { Precision } from '../domain/precision.ts';
import { EXIT_CODES, type ExitCode } from '../domain/exit-codes.ts';
import type { GitState } from '../domain/sweep.ts';
import { resolveRevision } from '../git/git.ts';
import { takeAttached } from '../ingest/attach.ts';
import {
  GroupImport,
  type ImportedSweep,
  type NamedSource,
  nameSources,
} from '../ingest/import-group.ts';
import { importJson, importText } from '../report/import-report.ts';
import { count } from '../report/numbers.ts';
import { jsonText, printable } from '../domain/printable.ts';
import { openStore, type OpenStore } from '../store/open.ts';
import { RunWriter } from '../store/save-run.ts';
import { sweepOfRun } from '../store/sweeps.ts';
import { type Io, printLines } from './io.ts';
import { findRuns, nothingIn } from './parse.ts';
import { migrationsFolder, storePath } from './store-location.ts';
import { toolVersion } from './tool-version.ts';
import { told } from './with-store.ts';

export interface ImportOptions {
  readonly json?: boolean;
  readonly db?: string;
  readonly sweep?: string;
  readonly commit?: string;
  readonly branch?: string;
  readonly model?: string;
  readonly precision?: Precision;
  readonly shapes?: Shapes;
}

/** `bench import PATH...`: logs and folders that someone else's trtexec left, or artefacts of a lost store. */
export async function importRuns(
  paths: readonly string[],
  options: ImportOptions,
  io: Io,
): Promise<ExitCode> {
  const sources: NamedSource[] = [];
  const artefactsFolder = artefactsFolderOf(storePath(options.db, io));
  for (const path of paths) {
    const found = withoutOwnArtefacts(path, await findRuns(path), artefactsFolder);
    if (found.length === 0) throw new UsageError((await prunedWords(path)) ?? nothingIn(path));
    if (found.some((source) => source.kind === 'log' && !statSync(source.path).isFile())) {
      throw new UsageError(`${printable(path)}: can be read only once; save it to a file first`);
    }
    sources.push(...nameSources(path, found));
  }
  const git = await gitOf(options, io);
  const store = told(openStore(storePath(options.db, io), migrationsFolder()), io);
  const imported: ImportedSweep[] = [];
  try {
    const context = {
      db: store.db,
      writer: new RunWriter(store.db),
      artefactsFolder,
      toolVersion: toolVersion(),
      git,
      stated: { model: options.model, precision: options.precision, shapes: options.shapes },
      signal: io.signal,
    };
    const groups = Map.groupBy(sources, ({ sweepName }) => options.sweep ?? sweepName);
    for (const [name, group] of groups) {
      io.signal.throwIfAborted();
      imported.push(...(await new GroupImport(context, name).import(group)));
    }
    for (const path of paths) {
      await takeAttached({ db: store.db, artefactsFolder }, path);
      await tellPruned(path, store, io);
    }
  } finally {
    store.close();
  }
  if (options.json === true) io.out(`${jsonText(importJson(imported))}\n`);
  else printLines(io, importText(imported, store.path, io.look));
  return EXIT_CODES.fine;
}

/** Why there is nothing in a folder of artefacts; null when nobody pruned it. */
async function prunedWords(path: string): Promise<string | null> {
  const notes = await readPrunedNotes(path);
  if (notes.length === 0) return null;
  return `${printable(path)}: the artefacts of these runs were pruned; what is left of them is in the store that they were in (bench db merge brings it)`;
}

/** Runs that were pruned cannot be rebuilt from artefacts: without a word they would seem never to have been. */
async function tellPruned(path: string, { db }: OpenStore, io: Io): Promise<void> {
  for (const { sweepId, runIds } of await readPrunedNotes(path)) {
    const lacking = runIds.filter((runId) => sweepOfRun(db, runId) === null).length;
    if (lacking === 0) continue;
    io.err(
      `note: the artefacts of ${count(lacking, 'run')} of sweep ${sweepId.slice(0, 8)} were pruned: they are only in the store that they were in\n`,
    );
  }
}

/** Somewhere above the store its own artefacts are no news; naming them rebuilds the store. */
function withoutOwnArtefacts(
  given: string,
  sources: readonly RunSource[],
  artefactsFolder: string,
): RunSource[] {
  const own = `${artefactsFolder}${sep}`;
  if (`${resolve(given)}${sep}`.startsWith(own)) return [...sources];
  return sources.filter(({ path }) => !resolve(path).startsWith(own));
}

async function gitOf(options: ImportOptions, io: Io): Promise<GitState | null> {
  const { commit, branch } = options;
  if (commit === undefined && branch === undefined) return null;
  const resolved = commit === undefined ? null : await resolveRevision(io.cwd, commit);
  if (commit !== undefined && resolved === null && !/^[0-9a-f]{7,40}$/.test(commit)) {
    throw new UsageError(`--commit ${printable(commit)}: no such commit here; give its full id`);
  }
  return { commit: resolved ?? commit ?? null, branch: branch ?? null, dirty: false };
}
