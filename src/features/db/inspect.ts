import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { digestOfAttached } from '../../artefacts/attached.ts';
import { namesIn, folderSize, sizeOf } from '../../files/folders.ts';
import { artefactsFolderOf, runFolderOf, sweepFolderOf, RUN_MANIFEST } from '../../files/layout.ts';
import { folderFiles } from '../../artefacts/run-files.ts';
import type { CommonOptions } from '../../cli/define-command.ts';
import { type Io, printResult, yieldToEventLoop } from '../../cli/io.ts';
import { migrationsFolder, storePath, toolVersion } from '../../cli/store-location.ts';
import { usingStore, withStore } from '../../cli/with-store.ts';
import { EngineCache } from '../../engines/engine-cache.ts';
import { StoreError, EXIT_CODES, type ExitCode } from '../../errors.ts';
import type { StoredArtefact } from '../../records/run.ts';
import { isId, type RunId, type SweepId } from '../../records/scalars.ts';
import { resolveSide } from '../../selection/sides.ts';
import { openStore, type OpenStore } from '../../store/file/open.ts';
import { compareRebuilt, isHarmless, openToVerify } from '../../store/verify/verify-store.ts';
import type { StoreDamage, VerifiedStore } from '../../store/verify/verify-store.ts';
import { type Look, padEnd, wrapWords } from '../../terminal/look.ts';
import { count, formatBytes } from '../../terminal/numbers.ts';
import { printable } from '../../text/printable.ts';
import { restoreArtefacts } from '../import/index.ts';
import type { VerifyOptions } from './command.ts';
import type { VerifyOutput, InfoOutput } from './output.ts';
import { schemaTag } from '../../store/file/migrations.ts';
import { freeBytes, LEAST_KEPT_SWEEPS, prunableSweeps } from '../../store/prune.ts';
import { attachedFolderOf } from '../../files/attachments.ts';
import { feed, readChunks } from '../../files/files.ts';
import { parseRunManifest } from '../../artefacts/run-manifest.ts';

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
  const { client, found } = openToVerify(path, migrationsFolder(), quick === true);
  // Rows of a damaged file, or of another schema, would only repeat the problem.
  if (client === null || found.some(({ kind }) => kind !== 'foreignKey')) {
    client?.close();
    return { runs: 0, sweeps: 0, found, rebuilt: null };
  }
  try {
    found.push(...(await verifyFolder(client, path, quick === true, io)));
    const rebuilt = rebuild === undefined ? null : await compareWithArtefacts(client, path, rebuild, io);
    found.push(...(rebuilt?.found ?? []));
    const countOf = (table: string): number => Number(client.prepare(`SELECT count(*) FROM ${table}`).pluck().get());
    return { sweeps: countOf('sweeps'), runs: countOf('runs'), found, rebuilt: rebuilt && rebuilt.tables };
  } finally {
    client.close();
  }
}

/** @param named ids of sweeps or `latest`; true for all */
async function compareWithArtefacts(client: VerifiedStore, path: string, named: true | readonly string[], io: Io) {
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
  for (const where of new Set(engines.flatMap(({ path: file, state }) => (state === 'changed' ? file : [])))) {
    found.push({ kind: 'engine', where, what: 'differs from the engine that was built', advice });
  }
  return found;
}

type Report = (where: string, isThere: boolean) => void;

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
  const report: Report = (where, isThere) => {
    const what = isThere ? 'differs from what was stored' : 'is missing';
    const advice = 'restore it from a backup; the stored results are complete without it';
    found.push({ kind: isThere ? 'artefactDamaged' : 'artefactMissing', where, what, advice });
  };
  for (const { isKept, runId, sweepId } of runs) {
    await yieldToEventLoop(io);
    const run = runFolderOf(folder, sweepId, runId);
    if (isKept === 1 && !existsSync(run)) report(run, false);
    else if (isKept === 1) await verifyRunFolder(run, written.all(runId), isQuick, report);
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

const PRUNE_DAYS = 90;
const DAY_MS = 86_400_000;

export function info(options: CommonOptions, io: Io): Promise<ExitCode> {
  return withStore(options, io, async (store) => {
    return printResult(io, options, await infoOf(store, io), infoText);
  });
}

async function infoOf({ db, path }: OpenStore, io: Io): Promise<InfoOutput> {
  const [artefacts, folder] = [artefactsFolderOf(path), dirname(path)];
  const before = new Date(io.now().getTime() - PRUNE_DAYS * DAY_MS).toISOString();
  const rule = { endedSince: before, sweepsOfSeries: LEAST_KEPT_SWEEPS, layers: false, artefacts: true };
  const prunable = { days: PRUNE_DAYS, sweeps: 0, sampleBytes: 0, artefactBytes: 0 };
  for (const { sampleBytes, sweepId } of prunableSweeps(db, rule)) {
    prunable.sweeps += 1;
    prunable.sampleBytes += sampleBytes;
    prunable.artefactBytes += (await folderSize(sweepFolderOf(artefacts, sweepId))).bytes;
  }
  const countOf = (table: string): number => Number(db.$client.prepare(`SELECT count(*) FROM ${table}`).pluck().get());
  return {
    schemaVersion: 1,
    path,
    storeSchema: schemaTag(migrationsFolder()),
    bytes: {
      file: sizeOf(path),
      wal: sizeOf(`${path}-wal`),
      free: freeBytes(db),
      artefacts: (await folderSize(artefacts)).bytes,
      engines: (await folderSize(join(folder, 'engines'))).bytes,
      variants: (await folderSize(join(folder, 'variants'))).bytes,
    },
    rows: {
      sweeps: countOf('sweeps'),
      unfinishedSweeps: countOf(`sweeps WHERE state <> 'finished'`),
      runs: countOf('runs'),
      prunedRuns: countOf('pruned_runs'),
      cells: countOf('cells'),
      builds: countOf('builds'),
      samples: countOf('samples'),
      layerProfiles: countOf('layer_profiles'),
      accuracies: countOf('accuracy'),
      baselines: countOf('baselines'),
      openFindings: countOf(`findings WHERE state = 'open'`),
    },
    prunable,
  };
}

const LABEL_WIDTH = 11;

function infoText({ bytes, path, prunable, rows, storeSchema }: InfoOutput, { columns, style }: Look): string[] {
  const { artefacts, engines, file, free, variants, wal } = bytes;
  const sized = Object.entries({ store: file, 'its log': wal, artefacts, engines, variants });
  return [
    ['store', `${printable(path)}, schema ${storeSchema}`],
    ['size', `${sized.map(([name, size]) => `${name} ${formatBytes(size)}`).join(', ')}; ${formatBytes(free)} free`],
    ['sweeps', `${rows.sweeps}, ${rows.unfinishedSweeps} of them not finished; ${count(rows.cells, 'cell')}`],
    ['runs', `${rows.runs} with ${count(rows.builds, 'build')}, ${rows.prunedRuns} of them pruned`],
    ['kept', `samples of ${count(rows.samples, 'run')}, layers of ${rows.layerProfiles}`],
    ['said', `${count(rows.baselines, 'baseline')}, ${count(rows.openFindings, 'open finding')}`],
    [
      'prune',
      `--keep ${prunable.days}d would take ${formatBytes(prunable.sampleBytes)} of samples and up to ${formatBytes(prunable.artefactBytes)} of artefacts from ${count(prunable.sweeps, 'sweep')}`,
    ],
  ].flatMap(([label = '', text = '']) =>
    wrapWords(text, columns - LABEL_WIDTH).map(
      (line, index) => style.dim(padEnd(index === 0 ? label : '', LABEL_WIDTH)) + line,
    ),
  );
}

/** Reports which files of a run are missing, or differ from the hash in the store. */
async function verifyRunFolder(folder: string, stored: readonly StoredArtefact[], isQuick: boolean, report: Report) {
  const files = await folderFiles(folder);
  for (const artefact of stored) {
    const file = files.get(artefact.name) ?? (stored.length === 1 ? files.get('stdout.log') : undefined);
    if (file === undefined) report(join(folder, artefact.name), false);
    if (file === undefined || isQuick) continue;
    // The store holds the hash of the readable part of a truncated log, so that an early end alone is not damage.
    const { bytes, sha256 } = await feed(readChunks(join(folder, file)));
    if (bytes !== artefact.bytes || sha256 !== artefact.sha256) report(join(folder, file), true);
  }
  const path = join(folder, RUN_MANIFEST);
  const manifest = await readFile(path, 'utf8').catch(() => null);
  if (manifest === null || parseRunManifest(manifest).manifest === null) report(path, manifest !== null);
}
