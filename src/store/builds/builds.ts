import { and, desc, eq, inArray, isNotNull, isNull, ne, or, sql } from 'drizzle-orm';

import type { BuildId, CellKey, RunId, SweepId } from '../../records/scalars.ts';
import { findFlag, flagValue, storedFlagsPattern } from '../../trtexec/flags/flag-table.ts';
import type { Banner } from '../../trtexec/log/printed-facts.ts';
import type { StoreDatabase } from '../file/open.ts';
import { ofSweep } from '../runs/runs.ts';
import { builds, invocations, measurements, runs, sweeps } from '../schema.ts';
import { newestSweepFirst } from '../sweeps/sweep-order.ts';

/** Builds of a model with some options, regardless of the content of named files. */
export function isBuildOf(model: string, flags: readonly string[]) {
  return and(eq(builds.model, model), sql`${builds.flags} like ${storedFlagsPattern(flags)} escape '\\'`);
}

/** Unfinished sweeps by the keys of the engines that they ran and will need again. */
export function unfinishedSweepsByEngine(db: StoreDatabase): Map<string, string> {
  const rows = db
    .selectDistinct({ engineKey: runs.engineKey, sweepId: runs.sweepId })
    .from(runs)
    .innerJoin(sweeps, eq(sweeps.sweepId, runs.sweepId))
    .where(and(ne(sweeps.state, 'finished'), isNotNull(runs.engineKey)))
    .all();
  return new Map(rows.map(({ engineKey, sweepId }) => [engineKey ?? '', sweepId]));
}

/** Stores of older versions have `measured` for a build. */
const BUILT = ['built', 'measured'] as const;

/** The run of this build, else of the newest build with the same key; null if this store has neither. */
export function buildRunOf(
  db: StoreDatabase,
  runId: RunId,
): { readonly runId: RunId; readonly isSameBuild: boolean } | null {
  const run = db
    .select({ buildId: runs.buildId, engineKey: runs.engineKey, provenance: runs.provenance })
    .from(runs)
    .where(eq(runs.runId, runId))
    .get();
  const { buildId = null, engineKey = null } = run ?? {};
  if (run === undefined || (buildId === null && engineKey === null)) return null;
  const isSameBuild = buildId === null ? sql<number>`0` : sql<number>`${runs.buildId} IS ${buildId}`;
  const found = db
    .select({ runId: runs.runId, isSameBuild })
    .from(runs)
    .where(
      and(
        eq(runs.role, 'build'),
        inArray(runs.outcome, [...BUILT]),
        eq(runs.provenance, run.provenance),
        or(
          buildId === null ? undefined : eq(runs.buildId, buildId),
          engineKey === null ? undefined : eq(runs.engineKey, engineKey),
        ),
      ),
    )
    .orderBy(desc(isSameBuild), desc(runs.startedAt), desc(runs.runId))
    .limit(1)
    .get();
  return found === undefined ? null : { runId: found.runId, isSameBuild: found.isSameBuild === 1 };
}

/** Measured runs of a cell: newest sweep first, fastest first within a sweep. */
export function measuredRunIds(db: StoreDatabase, cellKey: CellKey): string[] {
  return db
    .select({ runId: runs.runId })
    .from(runs)
    .innerJoin(sweeps, eq(sweeps.sweepId, runs.sweepId))
    .leftJoin(measurements, eq(measurements.runId, runs.runId))
    .where(and(eq(runs.cellKey, cellKey), eq(runs.role, 'timed'), eq(runs.outcome, 'measured')))
    .orderBy(newestSweepFirst, desc(measurements.throughputQps))
    .all()
    .map(({ runId }) => runId);
}

/**
 * Builds with which newer ones are compared, those that ran last first. For each cell: the one before an open finding
 * and the newest ones, at most two.
 */
export function lastGoodBuilds({ $client }: StoreDatabase): BuildId[] {
  const statement = $client.prepare<[], { buildId: BuildId }>(`
    WITH good(cell_key, sweep_id) AS (
      SELECT c.cell_key, f.last_good_sweep_id FROM findings f JOIN finding_cells c USING (finding_id)
      WHERE f.state = 'open' AND f.last_good_sweep_id IS NOT NULL),
    ran AS (
      SELECT cell_key, provenance, build_id, max(started_at) AS ran_at,
             max((cell_key, sweep_id) IN (SELECT cell_key, sweep_id FROM good)) AS is_good
      FROM runs WHERE role = 'timed' AND outcome = 'measured' AND build_id IS NOT NULL
      GROUP BY cell_key, provenance, build_id),
    placed AS (
      SELECT build_id, ran_at,
             row_number() OVER (PARTITION BY cell_key, provenance ORDER BY is_good DESC, ran_at DESC) AS place
      FROM ran)
    SELECT build_id AS buildId FROM placed WHERE place <= 2 GROUP BY build_id ORDER BY max(ran_at) DESC`);
  return statement.all().map(({ buildId }) => buildId);
}

/** Engine files of imported runs without a known build, from their command lines; the files were never read. */
export function loadedEngines(db: StoreDatabase, sweepIds: readonly SweepId[]) {
  const { runId, sweepId, cellKey, invocationId } = runs;
  const which = and(inArray(sweepId, [...sweepIds]), isNull(runs.buildId), ne(runs.role, 'build'), ofSweep);
  const started = db.select({ invocationId }).from(runs).where(which);
  // Reads the text once, because many runs share an invocation.
  const paths = new Map(
    db
      .select()
      .from(invocations)
      .where(inArray(invocations.invocationId, started))
      .all()
      .map((row) => [row.invocationId, flagValue(statedArguments(row), '--loadEngine')]),
  );
  const rows = db.select({ runId, sweepId, cellKey, invocationId }).from(runs).where(which).all();
  return rows.flatMap((row) => {
    const path = paths.get(row.invocationId) ?? null;
    return path === null || row.cellKey === null
      ? []
      : [{ runId: row.runId, sweepId: row.sweepId, cellKey: row.cellKey, path }];
  });
}

interface ImportedBuild {
  readonly runId: RunId;
  readonly argv: readonly string[];
}

/** Imported builds by engine path: in the same sweeps, else the only one in any import. Omits ambiguous paths. */
export function importedBuilds(db: StoreDatabase, sweepIds: readonly SweepId[]): ReadonlyMap<string, ImportedBuild> {
  const rows = db
    .select({ runId: runs.runId, sweepId: runs.sweepId, argv: invocations.argv, banner: invocations.banner })
    .from(runs)
    .innerJoin(invocations, eq(invocations.invocationId, runs.invocationId))
    .innerJoin(sweeps, eq(sweeps.sweepId, runs.sweepId))
    .where(and(eq(runs.role, 'build'), isNull(runs.buildId), eq(sweeps.source, 'import')))
    .all();
  const stored = rows.flatMap(({ runId, sweepId, ...row }) => {
    const parts = statedArguments(row);
    const path = flagValue(parts, '--saveEngine');
    return path === null ? [] : [{ runId, argv: parts, path, isOwn: sweepIds.includes(sweepId) }];
  });
  const found = new Map<string, ImportedBuild>();
  for (const [path, all] of Map.groupBy(stored, (build) => build.path)) {
    const own = all.findLast(({ isOwn }) => isOwn) ?? (all.length === 1 ? all[0] : undefined);
    if (own !== undefined) found.set(path, { runId: own.runId, argv: own.argv });
  }
  return found;
}

const COMMAND_LINE = 'Command line';

/**
 * The options of a log without `run.json`. The line joins arguments without quotes, so that unknown options are
 * dropped.
 */
export function commandLineSection(commandLine: string | null): Record<string, Record<string, string>> {
  const flags = (commandLine ?? '').split(/ (?=--)/).flatMap((part): [string, string][] => {
    const [, flag = '', value = ''] = /^(--\w+)(?:=(.*))?$/s.exec(part.trim()) ?? [];
    return findFlag(flag) === undefined ? [] : [[flag, value]];
  });
  return flags.length === 0 ? {} : { [COMMAND_LINE]: Object.fromEntries(flags) };
}

/** Arguments of a stored run: from `run.json`, else the options in the first line of its log. */
export function statedArguments(row: {
  readonly argv: readonly string[] | null;
  readonly banner: Banner;
}): readonly string[] {
  if (row.argv !== null) return row.argv;
  const flags = Object.entries(row.banner[COMMAND_LINE] ?? {});
  return flags.map(([flag, value]) => (value === '' ? flag : `${flag}=${value}`));
}
