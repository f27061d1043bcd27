import { and, eq, inArray, isNull, ne } from 'drizzle-orm';

import type { StoreDatabase } from '../file/open.ts';
import { invocations, runs, sweeps } from '../schema.ts';
import { ofSweep } from '../runs/runs.ts';
import { findFlag, flagValue } from '../../trtexec/flags/flag-table.ts';
import type { Banner } from '../../trtexec/log/printed-facts.ts';
import type { RunId, SweepId } from '../../records/scalars.ts';

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

export interface ImportedBuild {
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
  const builds = rows.flatMap(({ runId, sweepId, ...row }) => {
    const parts = statedArguments(row);
    const path = flagValue(parts, '--saveEngine');
    return path === null ? [] : [{ runId, argv: parts, path, isOwn: sweepIds.includes(sweepId) }];
  });
  const found = new Map<string, ImportedBuild>();
  for (const [path, all] of Map.groupBy(builds, (build) => build.path)) {
    const own = all.findLast(({ isOwn }) => isOwn) ?? (all.length === 1 ? all[0] : undefined);
    if (own !== undefined) found.set(path, { runId: own.runId, argv: own.argv });
  }
  return found;
}

/** Name of a section in addition to those of the banner. */
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
