import { asc, desc, eq, getTableColumns, ne, sql, type SQL } from 'drizzle-orm';
import * as z from 'zod';

import { orNull } from '../../errors.ts';
import type { KeyedCell } from '../../records/cell.ts';
import { type GateSettings, gateSettingsSchema, NO_GATE, plannedPairsSchema } from '../../records/gated-metric.ts';
import { type RunId, type SweepId, type CellKey, textByName } from '../../records/scalars.ts';
import { NO_TENSORRT } from '../../records/plan.ts';
import type { Sweep } from '../../records/sweep.ts';
import { baselines } from '../annotations-schema.ts';
import { idBegins } from '../conditions.ts';
import { immediately, type StoreDatabase } from '../file/open.ts';
import type { RunWriter } from '../runs/save-run.ts';
import { runs, sweepCells, sweeps } from '../schema.ts';

export function saveSweep(db: StoreDatabase, sweep: Sweep, plan: unknown): void {
  const row = { ...sweep, plan: plan === null ? null : JSON.stringify(plan) };
  db.insert(sweeps).values(row).onConflictDoUpdate({ target: sweeps.sweepId, set: row }).run();
}

/** Stores the planned cells of a sweep in one transaction. Existing ones stay. */
export function savePlannedCells(
  { db, writer }: { readonly db: StoreDatabase; readonly writer: Pick<RunWriter, 'saveCell'> },
  sweepId: SweepId,
  cells: readonly KeyedCell[],
  repeats: number,
): void {
  const row = { sweepId, cellKey: sql.placeholder('cellKey'), engineKey: null, repeats };
  const insert = db.insert(sweepCells).values(row).onConflictDoNothing().prepare();
  immediately(db, () => {
    for (const cell of cells) {
      writer.saveCell(cell);
      insert.run({ cellKey: cell.key });
    }
  });
}

export function findSweep(db: StoreDatabase, sweepId: SweepId): Sweep | null {
  return db.select(sweepColumns).from(sweeps).where(eq(sweeps.sweepId, sweepId)).get() ?? null;
}

export function findSweepsByPrefix(db: StoreDatabase, prefix: string): Sweep[] {
  return db.select(sweepColumns).from(sweeps).where(idBegins(sweeps.sweepId, prefix)).all();
}

export function unfinishedSweeps(db: StoreDatabase): Sweep[] {
  return db.select(sweepColumns).from(sweeps).where(ne(sweeps.state, 'finished')).orderBy(desc(sweeps.startedAt)).all();
}

export function planOf(db: StoreDatabase, sweepId: SweepId): string | null {
  return db.select({ plan: sweeps.plan }).from(sweeps).where(eq(sweeps.sweepId, sweepId)).get()?.plan ?? null;
}

export function sweepOfRun(db: StoreDatabase, runId: RunId): string | null {
  return db.select({ sweepId: runs.sweepId }).from(runs).where(eq(runs.runId, runId)).get()?.sweepId ?? null;
}

const { plan: _plan, ...columns } = getTableColumns(sweeps);

/** Every column except the long plan. */
export const sweepColumns = columns;

type Baseline = typeof baselines.$inferSelect;

export function setBaseline(db: StoreDatabase, baseline: Baseline): void {
  db.insert(baselines).values(baseline).onConflictDoUpdate({ target: baselines.name, set: baseline }).run();
}

export function listBaselines(db: StoreDatabase): Baseline[] {
  return db.select().from(baselines).orderBy(asc(baselines.name)).all();
}

export function removeBaseline(db: StoreDatabase, name: string): boolean {
  return db.delete(baselines).where(eq(baselines.name, name)).run().changes > 0;
}

/** `gate:` of the matrix of a sweep; the defaults if there is no readable plan. */
export function gateOf(db: StoreDatabase, sweepId: SweepId): GateSettings {
  return inPlan(db, sweepId, sql`'$.gate'`, gateSettingsSchema) ?? NO_GATE;
}

export function plannedPairsOf(db: StoreDatabase, sweepId: SweepId) {
  return inPlan(db, sweepId, sql`'$.pairs'`, z.array(plannedPairsSchema));
}

/** Space for the last good engines in bytes, from the matrix of a sweep; null if it is not set. */
export function keptLastGoodBytesOf(db: StoreDatabase, sweepId: SweepId): number | null {
  return inPlan(db, sweepId, sql`'$.keptLastGoodBytes'`, z.number());
}

export function matrixFileOf(db: StoreDatabase, sweepId: SweepId): string | null {
  return inPlan(db, sweepId, sql`'$.matrix'`, z.object({ file: z.string() }))?.file ?? null;
}

/** Operators that the host evaluates, by the name of the model. */
export function controlFlowOf(db: StoreDatabase, sweepId: SweepId): Record<string, string> {
  return inPlan(db, sweepId, sql`'$.controlFlow'`, textByName) ?? {};
}

/** Cells of its matrix that `--filter` or `--budget` left out of a sweep; null if unknown. */
export function leftOutCellsOf(db: StoreDatabase, sweepId: SweepId): CellKey[] | null {
  return inPlan(db, sweepId, sql`'$.leftOut'`, z.array(z.string()));
}

/** Whether `bench run --resume SWEEP --confirm` accepts a sweep: it was planned here and not submitted to Slurm. */
export function canConfirm(db: StoreDatabase, sweepId: SweepId): boolean {
  const version = z.string().refine((one) => one !== NO_TENSORRT);
  return inPlan(db, sweepId, sql`'$.plan.tensorrt', '$.slurmRun'`, z.tuple([version, z.null()])) !== null;
}

/** A part of a plan, extracted by SQLite because the plan may be large. */
function inPlan<Value>(db: StoreDatabase, sweepId: SweepId, path: SQL, schema: z.ZodType<Value>): Value | null {
  const part = sql<string | null>`iif(json_valid(${sweeps.plan}), json_extract(${sweeps.plan}, ${path}), null)`;
  const row = db.select({ part }).from(sweeps).where(eq(sweeps.sweepId, sweepId)).get();
  return orNull(() => schema.parse(JSON.parse(row?.part ?? '')));
}
