import { and, asc, eq, inArray } from 'drizzle-orm';

import type { Outcome } from '../../records/outcome.ts';
import type { RunRole } from '../../records/run.ts';
import type { StoreDatabase } from '../file/open.ts';
import { outcomeFrom } from './runs.ts';
import { builds, runEvidence, runs } from '../schema.ts';

/** A run or build that is no measurement, with the first line that says why. */
export interface FailedRun {
  readonly runId: string;
  readonly cellKey: string | null;
  readonly role: RunRole;
  readonly startedAt: string | null;
  /** Of a build; null where it is not known. */
  readonly buildModel: string | null;
  readonly outcome: Outcome;
}

/** What failed in a sweep or was not fit, builds among it, in the order of their starts. */
export function failedRunsOf(db: StoreDatabase, sweepId: string): FailedRun[] {
  return select(db)
    .where(and(eq(runs.sweepId, sweepId), inArray(runs.outcome, ['unfit', 'failed'])))
    .orderBy(asc(runs.startedAt), asc(runs.runId))
    .all()
    .map(fromRow);
}

/** The same of these runs, as far as they are no measurements. */
export function failedAmong(db: StoreDatabase, runIds: readonly string[]): FailedRun[] {
  return select(db)
    .where(and(inArray(runs.runId, [...runIds]), inArray(runs.outcome, ['unfit', 'failed'])))
    .orderBy(asc(runs.startedAt), asc(runs.runId))
    .all()
    .map(fromRow);
}

function select(db: StoreDatabase) {
  return db
    .select({
      runId: runs.runId,
      cellKey: runs.cellKey,
      role: runs.role,
      startedAt: runs.startedAt,
      outcome: runs.outcome,
      reason: runs.reason,
      buildModel: builds.model,
      stream: runEvidence.stream,
      line: runEvidence.line,
      text: runEvidence.text,
    })
    .from(runs)
    .leftJoin(builds, eq(builds.buildId, runs.buildId))
    .leftJoin(runEvidence, and(eq(runEvidence.runId, runs.runId), eq(runEvidence.position, 0)))
    .$dynamic();
}

function fromRow({
  outcome,
  reason,
  stream,
  line,
  text,
  role,
  buildModel,
  ...run
}: ReturnType<ReturnType<typeof select>['all']>[number]): FailedRun {
  const first = stream === null || line === null || text === null ? [] : [{ stream, line, text }];
  const stored = outcomeFrom(outcome, reason);
  return {
    ...run,
    role,
    buildModel: role === 'build' ? buildModel : null,
    outcome: first.length === 0 ? stored : { ...stored, evidence: first },
  };
}
