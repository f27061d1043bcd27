import { and, desc, eq, isNotNull, isNull, ne, or, sql } from 'drizzle-orm';

import type { BuildId, RunId, SweepId } from '../../records/scalars.ts';
import { findFlag, flagValue, storedFlagsPattern } from '../../trtexec/flags/flag-table.ts';
import type { Banner } from '../../trtexec/log/printed-facts.ts';
import { isAmong, ofSweep, ON } from '../conditions.ts';
import type { StoreDatabase } from '../file/open.ts';
import { builds, invocations, runs, sweeps } from '../schema.ts';

/** Builds of a model with some options, regardless of the content of named files. */
export function isBuildOf(model: string, flags: readonly string[]) {
  return and(eq(builds.model, model), sql`${builds.flags} like ${storedFlagsPattern(flags)} escape '\\'`);
}

/** Unfinished sweeps by the keys of the engines that they ran and will need again. */
export function unfinishedSweepsByEngine(db: StoreDatabase): Map<string, string> {
  const { engineKey, sweepId } = runs;
  const ran = db.selectDistinct({ key: engineKey, id: sweepId }).from(runs).innerJoin(sweeps, ON.sweep);
  const rows = ran.where(and(ne(sweeps.state, 'finished'), isNotNull(engineKey))).all();
  return new Map(rows.map(({ key, id }) => [key ?? '', id]));
}

/** Stores of older versions have `measured` for a build. */
export const isBuilt = isAmong(runs.outcome, ['built', 'measured']);

/** The run of this build, else of the newest build with the same key; null if this store has neither. */
export function buildRunOf(
  db: StoreDatabase,
  runId: RunId,
): { readonly runId: RunId; readonly isSameBuild: boolean } | null {
  const run = db.select().from(runs).where(eq(runs.runId, runId)).get();
  const { buildId = null, engineKey = null } = run ?? {};
  if (run === undefined || (buildId === null && engineKey === null)) return null;
  const isSameBuild = buildId === null ? sql<number>`0` : sql<number>`${runs.buildId} IS ${buildId}`;
  const isSame = or(
    buildId === null ? undefined : eq(runs.buildId, buildId),
    engineKey === null ? undefined : eq(runs.engineKey, engineKey),
  );
  const which = and(eq(runs.role, 'build'), isBuilt, eq(runs.provenance, run.provenance), isSame);
  const built = db.select({ runId: runs.runId, isSameBuild }).from(runs).where(which);
  const found = built.orderBy(desc(isSameBuild), desc(runs.startedAt), desc(runs.runId)).limit(1).get();
  return found === undefined ? null : { runId: found.runId, isSameBuild: found.isSameBuild === 1 };
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
  const which = and(isAmong(sweepId, sweepIds), isNull(runs.buildId), ne(runs.role, 'build'), ofSweep);
  const rows = db.select({ runId, sweepId, cellKey, invocationId }).from(runs).where(which).all();
  // Reads the text once, because many runs share an invocation.
  const ids = new Set(rows.map((row) => row.invocationId));
  const started = db.select().from(invocations).where(isAmong(invocations.invocationId, ids)).all();
  const paths = new Map(started.map((row) => [row.invocationId, flagValue(statedArguments(row), '--loadEngine')]));
  return rows.flatMap(({ cellKey: key, invocationId: id, ...run }) => {
    const path = paths.get(id) ?? null;
    return path === null || key === null ? [] : [{ ...run, cellKey: key, path }];
  });
}

/** Imported builds by engine path: in the same sweeps, else the only one in any import. Omits ambiguous paths. */
export function importedBuilds(db: StoreDatabase, sweepIds: readonly SweepId[]) {
  const { argv, banner } = invocations;
  const which = and(eq(runs.role, 'build'), isNull(runs.buildId), eq(sweeps.source, 'import'));
  const built = db.select({ runId: runs.runId, sweepId: runs.sweepId, argv, banner }).from(runs);
  const rows = built.innerJoin(invocations, ON.invocation).innerJoin(sweeps, ON.sweep).where(which).all();
  const stored = rows.flatMap(({ runId, sweepId, ...row }) => {
    const parts = statedArguments(row);
    const path = flagValue(parts, '--saveEngine');
    return path === null ? [] : [{ runId, argv: parts, path, isOwn: sweepIds.includes(sweepId) }];
  });
  const byPath = [...Map.groupBy(stored, ({ path }) => path)].flatMap(([path, all]) => {
    const own = all.findLast(({ isOwn }) => isOwn) ?? (all.length === 1 ? all[0] : undefined);
    return own === undefined ? [] : [[path, own] as const];
  });
  return new Map(byPath);
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
