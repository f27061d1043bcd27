import { join } from 'node:path';

import { removeAttached } from '../../artefacts/attached.ts';
import { runFoldersIn } from '../../artefacts/copy-artefacts.ts';
import { folderSize, refuseLink, removeFolder } from '../../artefacts/folders.ts';
import { artefactsFolderOf, attachedPathOf, runFolderOf, sweepFolderOf } from '../../artefacts/layout.ts';
import { writePrunedNote } from '../../artefacts/sweep-manifest.ts';
import { UsageError } from '../../errors.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import {
  freeBytes,
  type KeepRules,
  LEAST_KEPT_SWEEPS,
  type PrunableSweep,
  prunableSweeps,
  prunedFolders,
  pruneSweep,
  runFoldersOf,
  vacuum,
  vacuumPays,
} from '../../store/prune.ts';
import { sweepLockHolder } from '../../run/sweep-lock.ts';
import type { PruneOutput } from './output.ts';
import { type NamesOfSweeps, pruneText } from './prune-text.ts';
import { attachmentsBefore, markPruned, type PlacedAttachment } from '../../store/runs/attachments.ts';
import type { OpenStore } from '../../store/file/open.ts';
import { StoresBeside } from '../../store/file/sibling-stores.ts';
import { unfinishedSweeps } from '../../store/sweeps/sweeps.ts';
import { breathe, type Io, printResult } from '../../cli/io.ts';
import { withStoreToWrite } from '../../cli/with-store.ts';
import { Ticker } from './ticker.ts';
import type { PruneOptions } from './command.ts';

export function prune(options: PruneOptions, io: Io): Promise<ExitCode> {
  const rules = rulesOf(options, io);
  return withStoreToWrite(options, io, async (store) => {
    const beside = new StoresBeside(store.path);
    const ticker = new Ticker(io);
    try {
      const { output, names } = await pruneAll(store, beside, rules, options, ticker, io);
      ticker.end();
      printResult(io, options, output, (pruned, look) => pruneText(pruned, names, look));
      return EXIT_CODES.fine;
    } finally {
      ticker.end();
      beside.close();
    }
  });
}

/** Null when only attachments go. */
function rulesOf({ attachmentsOlderThan, keep, keepSweeps, layers }: PruneOptions, io: Io): KeepRules | null {
  if (keep === undefined && keepSweeps === undefined) {
    if (attachmentsOlderThan !== undefined) return null;
    throw new UsageError(
      'say what stays: --keep 90d, --keep-sweeps 30, or both; or which attachments go: --attachments-older-than 90d',
    );
  }
  const since = keep === undefined ? null : io.now().getTime() - keep * 1000;
  return {
    // An age that is older than time itself keeps everything.
    endedSince: since === null ? null : new Date(Math.max(0, since)).toISOString(),
    sweepsOfSeries: keepSweeps ?? LEAST_KEPT_SWEEPS,
    layers: layers === true,
  };
}

async function pruneAll(
  store: OpenStore,
  beside: StoresBeside,
  rules: KeepRules | null,
  options: PruneOptions,
  ticker: Ticker,
  io: Io,
): Promise<{ output: PruneOutput; names: NamesOfSweeps }> {
  const artefacts = artefactsFolderOf(store.path);
  const dryRun = options.dryRun === true;
  const chosen = rules === null ? [] : prunableSweeps(store.db, rules);
  const sweeps: PruneOutput['sweeps'][number][] = [];
  let measuredNow = 0;
  for (const sweep of chosen) {
    await breathe(io);
    ticker.tell(`pruning: ${sweeps.length} of ${chosen.length} sweeps`);
    if (sweepLockHolder(artefacts, sweep.sweepId) !== null) measuredNow += 1;
    else if (rules !== null) {
      sweeps.push(await pruneOne(store, beside, artefacts, sweep, rules, dryRun, io));
    }
  }
  const attachments = await pruneAttachments(store, beside, options, io);
  if (!dryRun) await removeLeftFolders(store, artefacts);
  const vacuumed = !dryRun && (options.vacuum === true || pays(store, artefacts));
  if (vacuumed) vacuum(store.db);
  const gone = sweeps.filter(
    ({ sampleBytes, layerBytes, artefactBytes }) => sampleBytes + layerBytes + artefactBytes > 0,
  );
  return {
    output: {
      schemaVersion: 1,
      dryRun,
      sweeps: gone,
      attachments: attachments.map(({ runId, name, bytes, attachedAt }) => ({ runId, name, bytes, attachedAt })),
      measuredNow,
      vacuumed,
      freeBytes: freeBytes(store.db),
    },
    names: new Map(chosen.map(({ sweepId, name }) => [sweepId, name])),
  };
}

/** Captures are large, and each is worth less the older it gets: they go by their own age, and only when that is said. */
async function pruneAttachments(
  { db, path }: OpenStore,
  beside: StoresBeside,
  { attachmentsOlderThan, dryRun }: PruneOptions,
  io: Io,
): Promise<PlacedAttachment[]> {
  if (attachmentsOlderThan === undefined) return [];
  const beforeMs = io.now().getTime() - attachmentsOlderThan * 1000;
  const old = attachmentsBefore(db, new Date(Math.max(0, beforeMs)).toISOString());
  const own = old.filter(({ runId, sweepId }) => !beside.runsOf(sweepId).has(runId));
  if (dryRun === true) return own;
  for (const each of own) {
    await breathe(io);
    const file = attachedPathOf(artefactsFolderOf(path), each);
    markPruned(db, each, io.now().toISOString());
    await removeAttached(file);
  }
  return own;
}

/** Whoever measures now must not wait for a file to be written anew. */
function pays({ db }: OpenStore, artefacts: string): boolean {
  const isMeasuring = unfinishedSweeps(db).some(({ sweepId }) => sweepLockHolder(artefacts, sweepId) !== null);
  return !isMeasuring && vacuumPays(db);
}

async function pruneOne(
  { db }: OpenStore,
  beside: StoresBeside,
  artefacts: string,
  sweep: PrunableSweep,
  rules: KeepRules,
  isDryRun: boolean,
  io: Io,
): Promise<PruneOutput['sweeps'][number]> {
  const { sweepId, startedAt, runs, sampleBytes, layerBytes } = sweep;
  const folder = sweepFolderOf(artefacts, sweepId);
  if (!isDryRun) refuseLink(folder);
  const own = runFoldersOf(db, sweepId).map(({ runId }) => runId);
  const known = beside.runsOf(sweepId);
  const shared = new Set(own.filter((runId) => known.has(runId)));
  if (!isDryRun) {
    pruneSweep(db, sweepId, rules, shared, io.now().toISOString());
    const gone = runFoldersOf(db, sweepId).filter(({ isPruned }) => isPruned);
    if (gone.length > 0) {
      await writePrunedNote(folder, { sweepId, runIds: gone.map(({ runId }) => runId) });
    }
  }
  let artefactBytes = 0;
  const there = runFoldersIn(folder);
  for (const runId of own.filter((id) => there.has(id) && !shared.has(id))) {
    const path = join(folder, runId);
    artefactBytes += (await (isDryRun ? folderSize(path) : removeFolder(path))).bytes;
  }
  return { sweepId, startedAt, runs, sampleBytes, layerBytes, artefactBytes, sharedFolders: shared.size };
}

/** What a kill left of an earlier prune. */
async function removeLeftFolders({ db }: OpenStore, artefacts: string): Promise<void> {
  for (const [sweepId, runIds] of prunedFolders(db)) {
    const there = runFoldersIn(sweepFolderOf(artefacts, sweepId));
    for (const runId of runIds.filter((id) => there.has(id))) {
      await removeFolder(runFolderOf(artefacts, sweepId, runId));
    }
  }
}
