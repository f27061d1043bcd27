import { basename } from 'node:path';

import { attachedUnder, copyAttached, digestOfAttached } from './attached.ts';
import { attachedPathOf } from './layout.ts';
import { makeArtefactsFolder } from './artefacts-folder.ts';
import { type Attachment, attachmentKind, nameProblem } from './attachment.ts';
import { UsageError } from '../errors.ts';
import { printable } from '../text/printable.ts';
import { attachmentsOf, saveAttachment } from '../store/runs/attachments.ts';
import type { StoreDatabase } from '../store/file/open.ts';
import { sweepOfRun } from '../store/sweeps/sweeps.ts';

export interface AttachContext {
  readonly db: StoreDatabase;
  readonly artefactsFolder: string;
  readonly now: () => Date;
}

/**
 * Copies a file beside the artefacts of a run and writes it down. The same file again changes nothing.
 * @throws UsageError when there is another one of its name
 */
export async function attachFile(
  { db, artefactsFolder, now }: AttachContext,
  runId: string,
  path: string,
  name = basename(path),
): Promise<Attachment> {
  const problem = nameProblem(name);
  if (problem !== null) {
    throw new UsageError(`${printable(name)} cannot be kept under its name (--name): ${problem}`);
  }
  const sweepId = sweepOfRun(db, runId);
  if (sweepId === null) throw new UsageError(`no run ${printable(runId)} in this store`);
  const digest = await digestOfAttached(path).catch((error: unknown) => {
    throw new UsageError(`${printable(path)}: no such file, or it cannot be read`, { cause: error });
  });
  const known = attachmentsOf(db, runId).find((each) => each.name === name);
  if (known !== undefined && known.prunedAt === null) {
    if (known.sha256 === digest.sha256) return known;
    throw new UsageError(
      `run ${runId.slice(0, 8)} has another file of the name ${printable(name)}: give this one a name with --name`,
    );
  }
  await makeArtefactsFolder(artefactsFolder);
  const target = attachedPathOf(artefactsFolder, { sweepId, runId, name });
  const attachment: Attachment = {
    runId,
    name,
    kind: attachmentKind(name),
    ...(await copyAttached(path, target)),
    attachedAt: now().toISOString(),
    prunedAt: null,
  };
  saveAttachment(db, attachment);
  return attachment;
}

/** Takes what was attached to runs that are stored here now from a folder of artefacts: a lost store is rebuilt so. */
export async function takeAttached(
  { db, artefactsFolder }: Pick<AttachContext, 'db' | 'artefactsFolder'>,
  folder: string,
): Promise<number> {
  let taken = 0;
  for (const { runId, name, path, modifiedAt } of await attachedUnder(folder)) {
    if (sweepOfRun(db, runId) === null || nameProblem(name) !== null) continue;
    if (attachmentsOf(db, runId).some((each) => each.name === name)) continue;
    const now = (): Date => modifiedAt;
    await attachFile({ db, artefactsFolder, now }, runId, path, name);
    taken += 1;
  }
  return taken;
}
