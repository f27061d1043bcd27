import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

import { removeAttached } from '../../artefacts/attached.ts';
import { runFoldersIn } from '../../artefacts/copy-artefacts.ts';
import { folderSize, refuseLink, type FolderSize } from '../../files/folders.ts';
import { artefactsFolderOf, sweepFolderOf, temporaryPath } from '../../files/layout.ts';
import { yieldToEventLoop, type Io, printResult } from '../../cli/io.ts';
import { withStoreToWrite } from '../../cli/with-store.ts';
import { ensure, type ExitCode } from '../../errors.ts';
import type { PruneOptions } from './command.ts';
import type { PruneOutput } from './output.ts';
import type { SweepId } from '../../records/scalars.ts';
import { sweepLockHolder } from '../../run/planned-sweep.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import {
  freeBytes,
  type KeepRules,
  LEAST_KEPT_SWEEPS,
  type PrunableSweep,
  prunableSweeps,
  pruneSweep,
  runFoldersOf,
  type SiblingStores,
  siblingStores,
  vacuum,
} from '../../store/prune.ts';
import { attachmentsBefore, markPruned, type PlacedAttachment } from '../../store/runs/show-run.ts';
import type { Look } from '../../terminal/look.ts';
import { count, formatBytes } from '../../terminal/numbers.ts';
import { renderTable } from '../../terminal/table.ts';
import { attachedPathOf } from '../../files/attachments.ts';

export function prune(options: PruneOptions, io: Io): Promise<ExitCode> {
  const rules = rulesOf(options, io);
  return withStoreToWrite(options, io, async ({ db, path }) => {
    const siblings = siblingStores(path);
    const pruning = { db, artefacts: artefactsFolderOf(path), siblings, isDryRun: options.dryRun === true, io };
    try {
      return printResult(io, options, await pruneAll(pruning, rules, options), pruneText);
    } finally {
      siblings.close();
    }
  });
}

interface Pruning {
  readonly db: StoreDatabase;
  readonly artefacts: string;
  readonly siblings: SiblingStores;
  readonly isDryRun: boolean;
  readonly io: Io;
}

/** Rules of retention; the rule that removes more comes first. Empty when only attachments are removed. */
function rulesOf(options: PruneOptions, io: Io): KeepRules[] {
  const { attachmentsOlderThan, keep, keepSweeps, layers, samplesOlderThan } = options;
  const rules: KeepRules[] = [];
  if (keep !== undefined || keepSweeps !== undefined) {
    const endedSince = keep === undefined ? null : before(keep, io);
    const sweepsOfSeries = keepSweeps ?? LEAST_KEPT_SWEEPS;
    rules.push({ endedSince, sweepsOfSeries, layers: layers === true, artefacts: true });
  } else {
    const problem = '--layers needs --keep or --keep-sweeps, which choose the sweeps that keep layer profiles';
    ensure(layers !== true, problem);
  }
  if (samplesOlderThan !== undefined) {
    const endedSince = before(samplesOlderThan, io);
    rules.push({ endedSince, sweepsOfSeries: LEAST_KEPT_SWEEPS, layers: false, artefacts: false });
  }
  const keeping = '--keep 90d, --keep-sweeps 30, or both';
  const deleting = '--samples-older-than 90d, --attachments-older-than 90d';
  const isStated = rules.length > 0 || attachmentsOlderThan !== undefined;
  ensure(isStated, `state what to keep: ${keeping}; or what to delete: ${deleting}`);
  return rules;
}

/** The time `ageS` seconds ago, in ISO 8601; not before the epoch. */
function before(ageS: number, io: Io): string {
  return new Date(Math.max(0, io.now().getTime() - ageS * 1000)).toISOString();
}

async function pruneAll(pruning: Pruning, rules: readonly KeepRules[], options: PruneOptions): Promise<PruneOutput> {
  const { artefacts, db, io, isDryRun } = pruning;
  const chosen = new Map<SweepId, { sweep: PrunableSweep; rule: KeepRules }>();
  for (const rule of rules) {
    for (const sweep of prunableSweeps(db, rule)) {
      if (!chosen.has(sweep.sweepId)) chosen.set(sweep.sweepId, { sweep, rule });
    }
  }
  const sweeps: PruneOutput['sweeps'][number][] = [];
  let measuredNow = 0;
  for (const { sweep, rule } of chosen.values()) {
    await yieldToEventLoop(io);
    if (sweepLockHolder(artefacts, sweep.sweepId) !== null) measuredNow += 1;
    else sweeps.push(await pruneOne(pruning, sweep, rule));
  }
  const attachments = await pruneAttachments(pruning, options.attachmentsOlderThan);
  const vacuumed = !isDryRun && options.vacuum === true;
  if (vacuumed) vacuum(db);
  return {
    schemaVersion: 1,
    dryRun: isDryRun,
    sweeps: sweeps.filter((sweep) => sweep.sampleBytes + sweep.layerBytes + sweep.artefactBytes > 0),
    attachments: attachments.map(({ runId, name, bytes, attachedAt }) => ({ runId, name, bytes, attachedAt })),
    measuredNow,
    vacuumed,
    freeBytes: freeBytes(db),
  };
}

/** Captures are large and lose value with age, so they have an age limit of their own, which is off by default. */
async function pruneAttachments(
  { artefacts, siblings, db, io, isDryRun }: Pruning,
  olderThanS: number | undefined,
): Promise<PlacedAttachment[]> {
  if (olderThanS === undefined) return [];
  const own = attachmentsBefore(db, before(olderThanS, io)).filter(
    ({ runId, sweepId }) => !siblings.runsOf(sweepId).has(runId),
  );
  if (isDryRun) return own;
  for (const each of own) {
    await yieldToEventLoop(io);
    await removeAttached(attachedPathOf(artefacts, each));
    markPruned(db, each, io.now().toISOString());
  }
  return own;
}

async function pruneOne(
  { artefacts, siblings, db, io, isDryRun }: Pruning,
  { sweepId, startedAt, runs, sampleBytes, layerBytes }: PrunableSweep,
  rule: KeepRules,
): Promise<PruneOutput['sweeps'][number]> {
  const folder = sweepFolderOf(artefacts, sweepId);
  const own = runFoldersOf(db, sweepId).map(({ runId }) => runId);
  const known = siblings.runsOf(sweepId);
  const shared = new Set(own.filter((runId) => rule.artefacts && known.has(runId)));
  if (!isDryRun) refuseLink(folder);
  let artefactBytes = 0;
  const there = runFoldersIn(folder);
  for (const runId of own.filter((id) => rule.artefacts && there.has(id) && !shared.has(id))) {
    const path = join(folder, runId);
    artefactBytes += (await (isDryRun ? folderSize(path) : removeFolder(path))).bytes;
  }
  // After a kill before this, the next prune completes it.
  if (!isDryRun) pruneSweep(db, sweepId, rule, rule.artefacts ? shared : new Set(own), io.now().toISOString());
  return { sweepId, startedAt, runs, sampleBytes, layerBytes, artefactBytes, sharedFolders: shared.size };
}

function pruneText(report: PruneOutput, look: Look): string[] {
  const { attachments, dryRun, freeBytes: free, measuredNow, sweeps, vacuumed } = report;
  if (sweeps.length + attachments.length + measuredNow === 0) return ['nothing to prune'];
  type Row = (typeof sweeps)[number];
  const kinds = [
    ['samples', ({ sampleBytes }: Row) => sampleBytes],
    ['layers', ({ layerBytes }: Row) => layerBytes],
    ['artefacts', ({ artefactBytes }: Row) => artefactBytes],
  ] as const;
  const sum = (of: (sweep: Row) => number): number => sweeps.reduce((total, sweep) => total + of(sweep), 0);
  const parts = [
    ...kinds.map(([name, of]) => `${name} ${formatBytes(sum(of))}`),
    `attachments ${formatBytes(attachments.reduce((total, { bytes }) => total + bytes, 0))}`,
  ];
  const shared = sum(({ sharedFolders }) => sharedFolders);
  return [
    ...renderTable<Row>(
      [
        { header: 'sweep', text: ({ sweepId }) => sweepId.slice(0, 8) },
        { header: 'started', text: ({ startedAt }) => (startedAt ?? '–').slice(0, 10) },
        ...kinds.map(([header, of]) => ({ header, text: (row: Row) => formatBytes(of(row)), align: 'right' as const })),
      ],
      sweeps,
      look,
    ),
    look.style.strong(
      `${dryRun ? 'would delete' : 'deleted'} from ${count(sweeps.length, 'sweep')} and ${count(attachments.length, 'attachment')}: ${parts.join(', ')}`,
    ),
    ...(measuredNow === 0 ? [] : [`${count(measuredNow, 'sweep stays', 'sweeps stay')}: being measured now`]),
    ...(shared === 0 ? [] : [`artefacts of ${count(shared, 'run')} stay: another store in this folder has them too`]),
    ...(vacuumed ? [] : [`${formatBytes(free)} free in the file: --vacuum gives them back to the disk`]),
  ];
}

/**
 * Hides a folder from readers at once, then deletes it.
 * @returns what was in it
 */
async function removeFolder(folder: string): Promise<FolderSize> {
  const size = await folderSize(folder);
  const away = temporaryPath(folder);
  await rm(away, { recursive: true, force: true });
  await rename(folder, away);
  await rm(away, { recursive: true, force: true });
  return size;
}
