import { eq, type SQL, sql } from 'drizzle-orm';
import * as z from 'zod';

import {
  type GateSettings,
  NO_GATE,
  type PlannedPairs,
  gateSettingsSchema,
  plannedPairsSchema,
} from '../../records/gate-settings.ts';
import type { CellKey, SweepId } from '../../records/scalars.ts';
import type { StoreDatabase } from '../file/open.ts';
import { sweeps } from '../schema.ts';

/** `gate:` of the matrix that a sweep was made with. Without a plan that can be read, nothing is set. */
export function gateOf(db: StoreDatabase, sweepId: SweepId): GateSettings {
  return inPlan(db, sweepId, sql`'$.gate'`, gateSettingsSchema) ?? NO_GATE;
}

/** The suspects that were, or will be, measured in pairs after a sweep; null if none were looked for. */
export function plannedPairsOf(db: StoreDatabase, sweepId: SweepId): PlannedPairs[] | null {
  return inPlan(db, sweepId, sql`'$.pairs'`, z.array(plannedPairsSchema));
}

/** Space for last good engines, in bytes, as the matrix of a sweep says; null if it says nothing. */
export function keptLastGoodBytesOf(db: StoreDatabase, sweepId: SweepId): number | null {
  return inPlan(db, sweepId, sql`'$.keptLastGoodBytes'`, z.number());
}

/** The matrix file that a sweep was made with, as an absolute path; null where none is stated. */
export function matrixFileOf(db: StoreDatabase, sweepId: SweepId): string | null {
  return inPlan(db, sweepId, sql`'$.matrix'`, z.object({ file: z.string() }))?.file ?? null;
}

/** Cells of its matrix that `--filter` or `--budget` left out of a sweep; null where that is not known. */
export function leftOutCellsOf(db: StoreDatabase, sweepId: SweepId): CellKey[] | null {
  return inPlan(db, sweepId, sql`'$.leftOut'`, z.array(z.string()));
}

/** Whether `bench run --resume SWEEP --confirm` takes it: it was planned here, and not handed to Slurm. */
export function canConfirm(db: StoreDatabase, sweepId: SweepId): boolean {
  return inPlan(db, sweepId, sql`'$.plan.tensorrt', '$.slurmRun'`, z.tuple([z.string(), z.null()])) !== null;
}

/** A part of a plan, which may be large: read by SQLite alone. */
function inPlan<Value>(db: StoreDatabase, sweepId: SweepId, path: SQL, schema: z.ZodType<Value>): Value | null {
  const part = sql<string | null>`iif(json_valid(${sweeps.plan}), json_extract(${sweeps.plan}, ${path}), null)`;
  const row = db.select({ part }).from(sweeps).where(eq(sweeps.sweepId, sweepId)).get();
  if (row?.part === undefined || row.part === null) return null;
  try {
    return schema.parse(JSON.parse(row.part));
  } catch {
    return null;
  }
}
