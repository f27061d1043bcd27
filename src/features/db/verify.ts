import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { digestOfAttached } from '../../artefacts/attached.ts';
import { namesIn } from '../../files/folders.ts';
import { artefactsFolderOf, attachedFolderOf, runFolderOf, sweepFolderOf } from '../../files/layout.ts';
import { verifyRunFolder } from '../../artefacts/run-files.ts';
import { type Io, printResult, yieldToEventLoop } from '../../cli/io.ts';
import { migrationsFolder, storePath, toolVersion } from '../../cli/store-location.ts';
import { usingStore, withStore } from '../../cli/with-store.ts';
import { EngineCache } from '../../engines/engine-cache.ts';
import { StoreError } from '../../errors.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import type { StoredArtefact } from '../../records/run.ts';
import { isId, type RunId, type SweepId } from '../../records/scalars.ts';
import { resolveSide } from '../../selection/sides.ts';
import { openStore } from '../../store/file/open.ts';
import { compareRebuilt, type RebuiltComparison } from '../../store/verify/rebuilt.ts';
import { isHarmless, openToVerify, verifyFile } from '../../store/verify/verify-store.ts';
import type { StoreDamage, VerifiedStore } from '../../store/verify/verify-store.ts';
import type { Look } from '../../terminal/look.ts';
import { count } from '../../terminal/numbers.ts';
import { printable } from '../../text/printable.ts';
import { restoreArtefacts } from '../import/index.ts';
import type { VerifyOptions } from './command.ts';
import type { VerifyOutput } from './output.ts';

export async function verify(options: VerifyOptions, io: Io): Promise<ExitCode> {
  const path = storePath(options.db, io);
  if (!existsSync(path)) throw new StoreError(`${path}: store not found`);
  const looked = await lookAt(path, options, io);
  const isDamaged = !looked.found.every(isHarmless);
  printResult(io, options, { schemaVersion: 1, path, quick: options.quick === true, isDamaged, ...looked }, verifyText);
  return isDamaged ? EXIT_CODES.incomplete : EXIT_CODES.fine;
}

type LookedAt = Pick<VerifyOutput, 'sweeps' | 'runs' | 'found' | 'rebuilt'>;

async function lookAt(path: string, { quick, rebuild }: VerifyOptions, io: Io): Promise<LookedAt> {
  const client = openToVerify(path, migrationsFolder());
  if ('kind' in client) return { runs: 0, sweeps: 0, found: [client], rebuilt: null };
  try {
    const found = verifyFile(client, path, migrationsFolder(), quick === true);
    // Rows of a damaged file, or of another schema, would only repeat the problem.
    if (found.some(({ kind }) => kind !== 'foreignKey')) return { runs: 0, sweeps: 0, found, rebuilt: null };
    found.push(...(await verifyFolder(client, path, quick === true, io)));
    const compared = rebuild === undefined ? null : await compareWithArtefacts(client, path, rebuild, io);
    const countOf = (table: string): number => Number(client.prepare(`SELECT count(*) FROM ${table}`).pluck().get());
    return {
      sweeps: countOf('sweeps'),
      runs: countOf('runs'),
      found: [...found, ...(compared?.found ?? [])],
      rebuilt: compared && [...compared.tables],
    };
  } finally {
    client.close();
  }
}

/** @param named ids of sweeps or `latest`; true for all */
async function compareWithArtefacts(
  client: VerifiedStore,
  path: string,
  named: true | readonly string[],
  io: Io,
): Promise<RebuiltComparison> {
  const artefacts = artefactsFolderOf(path);
  const sweepIds = named === true ? null : await sweepsNamed(path, named, io);
  const folders = (sweepIds ?? namesIn(artefacts).filter(isId)).map((id) => sweepFolderOf(artefacts, id));
  const temporary = mkdtempSync(join(tmpdir(), 'bench-rebuilt-'));
  try {
    const rebuiltPath = join(temporary, 'rebuilt.sqlite');
    const rebuilt = openStore(rebuiltPath, migrationsFolder());
    const here = folders.filter((folder) => existsSync(folder));
    await usingStore(rebuilt, () => restoreArtefacts(rebuilt, artefacts, here, io));
    return compareRebuilt(client, rebuiltPath, toolVersion(), sweepIds);
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
}

function sweepsNamed(db: string, named: readonly string[], io: Io): Promise<SweepId[]> {
  return withStore({ db }, io, async (store) => {
    const sides = await Promise.all(named.map((name) => resolveSide(store.db, name, io)));
    return sides.flatMap(({ sweeps }) => sweeps.map(({ sweepId }) => sweepId));
  });
}

/** Hashes of the artefacts and engines next to the store. */
async function verifyFolder(client: VerifiedStore, path: string, isQuick: boolean, io: Io): Promise<StoreDamage[]> {
  const found: StoreDamage[] = [];
  const artefacts = artefactsFolderOf(path);
  if (existsSync(artefacts)) found.push(...(await verifyArtefacts(client, artefacts, isQuick, io)));
  else if (client.prepare('SELECT 1 FROM artefacts LIMIT 1').get() !== undefined) {
    const what = 'no artefacts lie next to this store: logs and exports of its runs were not checked';
    const advice = 'if they should be there, bring the folder back; all that bench shows is in the store';
    found.push({ kind: 'noArtefacts', where: artefacts, what, advice });
  }
  const { engines } = await new EngineCache(join(dirname(path), 'engines')).contents({ hashes: !isQuick });
  const advice = 'remove it: it is never loaded, and built again when it is needed';
  for (const engine of engines.filter(({ state }) => state === 'changed')) {
    found.push({ kind: 'engine', where: engine.path, what: 'differs from the engine that was built', advice });
  }
  return found;
}

/** Artefacts in the store against the files; a backup, or a store merged without artefacts, has none. */
async function verifyArtefacts(client: VerifiedStore, folder: string, isQuick: boolean, io: Io) {
  const runs = client
    .prepare<[], { runId: RunId; sweepId: SweepId; isKept: number }>(
      `SELECT r.run_id AS runId, r.sweep_id AS sweepId, r.artefact_folder IS NOT NULL AND coalesce(p.artefacts, 0) = 0 AS isKept
       FROM runs r LEFT JOIN pruned_runs p ON p.run_id = r.run_id`,
    )
    .all();
  const filesOf = (rest: string) =>
    client.prepare<[RunId], StoredArtefact>(`SELECT name, sha256, bytes FROM ${rest} ORDER BY name`);
  const written = filesOf('artefacts WHERE run_id = ?');
  const attached = filesOf('attachments WHERE pruned_at IS NULL AND run_id = ?');
  const found: StoreDamage[] = [];
  const report = (where: string, isThere: boolean): void => {
    const what = isThere ? 'differs from what was stored' : 'is missing';
    const advice = 'restore it from a backup; the stored results are complete without it';
    found.push({ kind: isThere ? 'artefactDamaged' : 'artefactMissing', where, what, advice });
  };
  for (const { isKept, runId, sweepId } of runs) {
    await yieldToEventLoop(io);
    const run = runFolderOf(folder, sweepId, runId);
    const isThere = existsSync(run);
    if (isKept === 1 && !isThere) report(run, false);
    const problems = isKept === 1 && isThere ? await verifyRunFolder(run, written.all(runId), isQuick) : [];
    for (const { file, kind } of problems) report(join(run, file), kind !== 'missing');
    for (const { bytes, name, sha256 } of attached.all(runId)) {
      const where = join(attachedFolderOf(folder, sweepId, runId), name);
      const digest = isQuick || !existsSync(where) ? null : await digestOfAttached(where);
      if (!existsSync(where)) report(where, false);
      else if (digest !== null && (digest.sha256 !== sha256 || digest.bytes !== bytes)) report(where, true);
    }
  }
  return found;
}

/** One line per problem. Lines are never truncated, so that paths can be copied. */
function verifyText({ found, rebuilt, runs, sweeps, quick }: VerifyOutput, { style }: Look): string[] {
  const damages = found.filter((one) => !isHarmless(one));
  const looked = `${count(sweeps, 'sweep')}, ${count(runs, 'run')}${quick ? ', no hashes checked' : ''}`;
  return [
    damages.length === 0
      ? style.good(`no damage: ${looked}`)
      : style.bad(`${count(damages.length, 'problem')} found: ${looked}`),
    ...[...damages, ...found.filter(isHarmless)].map(
      ({ where, what, advice }) => `  ${printable(where)}: ${printable(what)}; ${printable(advice)}`,
    ),
    ...(rebuilt === null ? [] : [rebuiltText(rebuilt)]),
  ];
}

function rebuiltText(tables: NonNullable<VerifyOutput['rebuilt']>): string {
  const rows = tables.reduce((sum, table) => sum + table.rows, 0);
  const others = tables.filter(({ notComparable }) => notComparable > 0);
  const without = others.map(({ notComparable, table }) => `${notComparable} of ${table}`).join(', ');
  const tail = others.length === 0 ? '' : `; without artefacts, so not comparable: ${without}`;
  return `${count(rows, 'row')} compared with the artefacts${tail}`;
}
