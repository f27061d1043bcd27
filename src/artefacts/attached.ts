import { createReadStream, readdirSync, statSync } from 'node:fs';
import { constants, copyFile, mkdir, rm, rmdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

import { type Digest, digestOf } from '../files/files.ts';
import { makeOwnFolder, putInPlace, refuseLink } from '../files/folders.ts';
import { isTemporary, runOfAttached } from '../files/layout.ts';
import { ensure, UsageError } from '../errors.ts';
import type { StoreDatabase } from '../store/file/open.ts';
import { attachmentsOf, saveAttachment } from '../store/runs/show-run.ts';
import { sweepOfRun } from '../store/sweeps/sweeps.ts';
import { printable } from '../text/printable.ts';
import type { RunId } from '../records/scalars.ts';
import { attachedPathOf, attachmentKind, nameProblem } from '../files/attachments.ts';
import type { Attachment } from '../records/attachment.ts';

/** Hash of the stored bytes: attachments, unlike the files of a run, are never compressed. */
export function digestOfAttached(path: string): Promise<Digest> {
  return digestOf(createReadStream(path));
}

/**
 * Copies a file atomically; returns its hash and size.
 * @throws StoreError if a parent folder is a symbolic link
 */
export async function copyAttached(source: string, target: string): Promise<{ sha256: string; bytes: number }> {
  refuseLinks(target);
  await mkdir(dirname(target), { recursive: true });
  return putInPlace(target, async (temporary) => {
    // Copy-on-write where the file system supports it.
    await copyFile(source, temporary, constants.COPYFILE_FICLONE);
    return digestOfAttached(temporary);
  });
}

/** @throws StoreError if a parent folder is a symbolic link */
export async function removeAttached(path: string): Promise<void> {
  refuseLinks(path);
  await rm(path, { force: true });
  await rmdir(dirname(path)).catch(() => {});
}

function refuseLinks(path: string): void {
  refuseLink(dirname(dirname(path)));
  refuseLink(dirname(path));
}

/** Attachments in folders at most two levels below. */
function attachedUnder(folder: string, depth = 2): { readonly runId: RunId; readonly name: string; path: string }[] {
  const isFolder = statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true;
  const entries = isFolder ? readdirSync(folder, { withFileTypes: true }) : [];
  return entries.flatMap((entry) => {
    const [path, runId] = [join(folder, entry.name), runOfAttached(entry.name)];
    if (!entry.isDirectory()) return [];
    if (runId === null) return depth > 1 ? attachedUnder(path, depth - 1) : [];
    const files = readdirSync(path, { withFileTypes: true }).filter((file) => file.isFile() && !isTemporary(file.name));
    return files.map(({ name }) => ({ runId, name, path: join(path, name) }));
  });
}

interface AttachContext {
  readonly db: StoreDatabase;
  readonly artefactsFolder: string;
  readonly now: () => Date;
}

/**
 * Copies a file into the artefacts of a run and records it. Attaching the same file again changes nothing.
 * @throws UsageError if the run has another attachment of this name
 */
export async function attachFile(
  { db, artefactsFolder, now }: AttachContext,
  runId: RunId,
  path: string,
  name = basename(path),
): Promise<Attachment> {
  const problem = nameProblem(name);
  ensure(problem === null, `${printable(name)} cannot be kept under its name (--name): ${problem}`);
  const sweepId = sweepOfRun(db, runId);
  ensure(sweepId !== null, `run ${printable(runId)} is not in this store`);
  const digest = await digestOfAttached(path).catch((error: unknown) => {
    throw new UsageError(`${printable(path)}: not found, or not a readable file`, { cause: error });
  });
  const known = attachmentsOf(db, runId).find((each) => each.name === name);
  if (known !== undefined && known.prunedAt === null) {
    if (known.sha256 === digest.sha256) return known;
    const other = `run ${runId.slice(0, 8)} has another file of the name ${printable(name)}`;
    throw new UsageError(`${other}: give this one a name with --name`);
  }
  await makeOwnFolder(artefactsFolder);
  const target = attachedPathOf(artefactsFolder, { sweepId, runId, name });
  const copied = await copyAttached(path, target);
  const kind = attachmentKind(name);
  const attachment = { runId, name, kind, ...copied, attachedAt: now().toISOString(), prunedAt: null };
  saveAttachment(db, attachment);
  return attachment;
}

/** Adds the attachments under a folder to runs that are already in the store, as when a lost store is rebuilt. */
export async function takeAttached(context: Omit<AttachContext, 'now'>, folder: string): Promise<void> {
  for (const { runId, name, path } of attachedUnder(folder)) {
    if (sweepOfRun(context.db, runId) === null || nameProblem(name) !== null) continue;
    if (attachmentsOf(context.db, runId).some((each) => each.name === name)) continue;
    // Copying the file changes it.
    const { mtime } = statSync(path);
    await attachFile({ ...context, now: () => mtime }, runId, path, name);
  }
}
