import { and, asc, desc, eq, inArray, isNull, lt } from 'drizzle-orm';

import type { Attachment } from '../../artefacts/attachment.ts';
import type { StoreDatabase } from '../file/open.ts';
import { attachments, runs } from '../schema.ts';

/** An attachment with the sweep in whose folder it lies. */
export interface PlacedAttachment extends Attachment {
  readonly sweepId: string;
}

/** Adds a file, also in place of one of that name that was pruned. */
export function saveAttachment(db: StoreDatabase, attachment: Attachment): void {
  db.insert(attachments)
    .values(attachment)
    .onConflictDoUpdate({ target: [attachments.runId, attachments.name], set: { ...attachment } })
    .run();
}

export function attachmentsOf(db: StoreDatabase, runId: string): Attachment[] {
  return db
    .select()
    .from(attachments)
    .where(eq(attachments.runId, runId))
    .orderBy(asc(attachments.attachedAt), asc(attachments.name))
    .all();
}

function placed(db: StoreDatabase) {
  const { runId, name, kind, sha256, bytes, attachedAt, prunedAt } = attachments;
  return db
    .select({ runId, name, kind, sha256, bytes, attachedAt, prunedAt, sweepId: runs.sweepId })
    .from(attachments)
    .innerJoin(runs, eq(runs.runId, attachments.runId))
    .$dynamic();
}

/** Files of one kind that runs of a cell have, the newest first. */
export function attachmentsOfCell(
  db: StoreDatabase,
  cellKey: string,
  kind: Attachment['kind'],
  sweepIds: readonly string[] | null,
): PlacedAttachment[] {
  return placed(db)
    .where(
      and(
        eq(runs.cellKey, cellKey),
        eq(attachments.kind, kind),
        isNull(attachments.prunedAt),
        sweepIds === null ? undefined : inArray(runs.sweepId, [...sweepIds]),
      ),
    )
    .orderBy(desc(attachments.attachedAt), desc(attachments.name))
    .all();
}

/** Files of some sweeps that should be there. */
export function keptAttachments(db: StoreDatabase, sweepIds: readonly string[]): PlacedAttachment[] {
  return placed(db)
    .where(and(inArray(runs.sweepId, [...sweepIds]), isNull(attachments.prunedAt)))
    .orderBy(asc(attachments.runId), asc(attachments.name))
    .all();
}

/** Files that were attached before an instant, the oldest first. */
export function attachmentsBefore(db: StoreDatabase, before: string): PlacedAttachment[] {
  return placed(db)
    .where(and(lt(attachments.attachedAt, before), isNull(attachments.prunedAt)))
    .orderBy(asc(attachments.attachedAt), asc(attachments.runId), asc(attachments.name))
    .all();
}

/** Written down before the file goes: one that a kill leaves is known to be of no use. */
export function markPruned(
  db: StoreDatabase,
  { runId, name }: Pick<Attachment, 'runId' | 'name'>,
  prunedAt: string,
): void {
  db.update(attachments)
    .set({ prunedAt })
    .where(and(eq(attachments.runId, runId), eq(attachments.name, name)))
    .run();
}
