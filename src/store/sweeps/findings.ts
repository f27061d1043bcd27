import { and, eq, inArray, like, type SQL } from 'drizzle-orm';

import type { Acknowledgement, Finding } from '../../records/finding.ts';
import type { Sweep } from '../../records/sweep.ts';
import { acknowledgements, findings } from '../annotations-schema.ts';
import { equalOrNull } from './sweep-order.ts';
import type { StoreDatabase } from '../file/open.ts';

/** Ordered by id. */
export function findingsOf(db: StoreDatabase, series: Pick<Sweep, 'branch' | 'matrix' | 'provenance'>): Finding[] {
  const { branch, matrix, provenance } = findings;
  return inOrder(
    db,
    and(equalOrNull(branch, series.branch), equalOrNull(matrix, series.matrix), eq(provenance, series.provenance)),
  );
}

/** Everything that was reported of one cell in one kind of results. */
export function findingsOfCell(
  db: StoreDatabase,
  about: Pick<Finding, 'cellKey' | 'metric' | 'provenance'>,
): Finding[] {
  const { cellKey, metric, provenance } = findings;
  return inOrder(db, and(eq(cellKey, about.cellKey), eq(metric, about.metric), eq(provenance, about.provenance)));
}

function inOrder(db: StoreDatabase, which: SQL | undefined): Finding[] {
  return db.select().from(findings).where(which).orderBy(findings.findingId).all();
}

export function findFindingsByPrefix(db: StoreDatabase, prefix: string): Finding[] {
  if (!/^[0-9a-f]{1,32}$/.test(prefix)) return [];
  return db
    .select()
    .from(findings)
    .where(like(findings.findingId, `${prefix}%`))
    .limit(3)
    .all();
}

/** Stores what the gate says in the newest sweep, in one transaction: new ones and the states of those that were there. */
export function saveFindings(db: StoreDatabase, rows: readonly Finding[], obsolete: readonly string[]): void {
  db.transaction(
    (tx) => {
      if (obsolete.length > 0) {
        tx.delete(findings)
          .where(inArray(findings.findingId, [...obsolete]))
          .run();
      }
      for (const row of rows) {
        tx.insert(findings)
          .values(row)
          .onConflictDoUpdate({
            target: findings.findingId,
            set: { state: row.state, margin: row.margin, toldSweepId: row.toldSweepId },
          })
          .run();
      }
    },
    { behavior: 'immediate' },
  );
}

export function acknowledgementsOf(db: StoreDatabase, findingIds: readonly string[]): Map<string, Acknowledgement> {
  const rows = db
    .select()
    .from(acknowledgements)
    .where(inArray(acknowledgements.findingId, [...findingIds]))
    .all();
  return new Map(rows.map((row) => [row.findingId, row]));
}

export function acknowledge(db: StoreDatabase, row: Acknowledgement): void {
  db.insert(acknowledgements).values(row).onConflictDoUpdate({ target: acknowledgements.findingId, set: row }).run();
}

/** @returns how many of them were accepted */
export function deleteAcknowledgements(db: StoreDatabase, findingIds: readonly string[]): number {
  return db
    .delete(acknowledgements)
    .where(inArray(acknowledgements.findingId, [...findingIds]))
    .run().changes;
}
