import { and, asc, desc, eq, inArray, isNull, lt, getTableColumns } from 'drizzle-orm';

import type { Attachment } from '../../artefacts/attachment.ts';
import type { StoreDatabase } from '../file/open.ts';
import { attachments, runs } from '../schema.ts';
import type { CellKey, RunId, SweepId } from '../../records/scalars.ts';

export interface PlacedAttachment extends Attachment {
  readonly sweepId: SweepId;
}

/** Also replaces a pruned attachment of that name. */
export function saveAttachment(db: StoreDatabase, attachment: Attachment): void {
  db.insert(attachments)
    .values(attachment)
    .onConflictDoUpdate({ target: [attachments.runId, attachments.name], set: { ...attachment } })
    .run();
}

export function attachmentsOf(db: StoreDatabase, runId: RunId): Attachment[] {
  return db
    .select()
    .from(attachments)
    .where(eq(attachments.runId, runId))
    .orderBy(asc(attachments.attachedAt), asc(attachments.name))
    .all();
}

function placed(db: StoreDatabase) {
  return db
    .select({ ...getTableColumns(attachments), sweepId: runs.sweepId })
    .from(attachments)
    .innerJoin(runs, eq(runs.runId, attachments.runId))
    .$dynamic();
}

export function attachmentsOfCell(
  db: StoreDatabase,
  cellKey: CellKey,
  kind: Attachment['kind'],
  sweepIds: readonly SweepId[] | null,
): PlacedAttachment[] {
  const ofSweeps = sweepIds === null ? undefined : inArray(runs.sweepId, [...sweepIds]);
  return placed(db)
    .where(and(eq(runs.cellKey, cellKey), eq(attachments.kind, kind), isNull(attachments.prunedAt), ofSweeps))
    .orderBy(desc(attachments.attachedAt), desc(attachments.name))
    .all();
}

export function keptAttachments(db: StoreDatabase, sweepIds: readonly SweepId[]): PlacedAttachment[] {
  return placed(db)
    .where(and(inArray(runs.sweepId, [...sweepIds]), isNull(attachments.prunedAt)))
    .orderBy(asc(attachments.runId), asc(attachments.name))
    .all();
}

/** Oldest first. */
export function attachmentsBefore(db: StoreDatabase, before: string): PlacedAttachment[] {
  return placed(db)
    .where(and(lt(attachments.attachedAt, before), isNull(attachments.prunedAt)))
    .orderBy(asc(attachments.attachedAt), asc(attachments.runId), asc(attachments.name))
    .all();
}

/** Recorded before the file is removed, so that a kill leaves only files known to be obsolete. */
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
