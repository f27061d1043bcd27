import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';

import { namesIn } from '../../artefacts/folders.ts';
import { artefactsFolderOf, sweepFolderOf } from '../../artefacts/layout.ts';
import { type Io, printResult } from '../../cli/io.ts';
import { migrationsFolder, storePath, toolVersion } from '../../cli/store-location.ts';
import { usingStore, withStore } from '../../cli/with-store.ts';
import { verifyEngines, verifyVariants, cutOff, isDeadTemporary, verifyArtefacts } from './verify-artefacts.ts';
import { StoreError } from '../../errors.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import { isId, type SweepId } from '../../records/scalars.ts';
import { resolveSide } from '../../selection/sides.ts';
import { openStore } from '../../store/file/open.ts';
import { SiblingStores } from '../../store/prune.ts';
import {
  isHarmless,
  type StoreDamage,
  hasArtefacts,
  knownRuns,
  openToVerify,
  type VerifiedStore,
  verifyFile,
} from '../../store/verify/verify-store.ts';
import { compareRebuilt, type RebuiltComparison } from '../../store/verify/rebuilt.ts';
import type { Look } from '../../terminal/look.ts';
import { count } from '../../terminal/numbers.ts';
import { printable } from '../../text/printable.ts';
import { restoreArtefacts } from '../import/index.ts';
import type { VerifyOptions } from './command.ts';
import type { VerifyOutput } from './output.ts';
import { Ticker } from './ticker.ts';

export async function verify(options: VerifyOptions, io: Io): Promise<ExitCode> {
  const path = storePath(options.db, io);
  if (!existsSync(path)) throw new StoreError(`${path}: no such store`);
  const ticker = new Ticker(io);
  let looked: LookedAt;
  try {
    looked = await lookAt(path, options, ticker, io);
  } finally {
    ticker.end();
  }
  const { found, rebuilt, runs, sweeps } = looked;
  const isDamaged = !found.every(isHarmless);
  const quick = options.quick === true;
  const output: VerifyOutput = { schemaVersion: 1, path, quick, sweeps, runs, isDamaged, found: [...found], rebuilt };
  printResult(io, options, output, verifyText);
  return isDamaged ? EXIT_CODES.incomplete : EXIT_CODES.fine;
}

type LookedAt = Pick<VerifyOutput, 'sweeps' | 'runs' | 'found' | 'rebuilt'>;

async function lookAt(path: string, { quick, rebuild }: VerifyOptions, ticker: Ticker, io: Io): Promise<LookedAt> {
  const opened = openToVerify(path, migrationsFolder());
  if (opened.kind !== 'opened') return { runs: 0, sweeps: 0, found: [opened], rebuilt: null };
  try {
    const file = verifyFile(opened, path, migrationsFolder(), quick === true);
    // Rows of a damaged file, or of another schema, would only repeat it.
    if (file.some(({ kind }) => kind !== 'foreignKey')) return { runs: 0, sweeps: 0, found: file, rebuilt: null };
    const inFolder = await verifyFolder(opened, path, quick === true, ticker, io);
    const compared = rebuild === undefined ? null : await compareWithArtefacts(opened, path, rebuild, ticker, io);
    return {
      ...opened.counts(),
      found: [...file, ...inFolder, ...(compared?.found ?? [])],
      rebuilt: compared === null ? null : [...compared.tables],
    };
  } finally {
    opened.close();
  }
}

/** @param named ids of sweeps or `latest`; true for all */
async function compareWithArtefacts(
  { client }: VerifiedStore,
  path: string,
  named: true | readonly string[],
  ticker: Ticker,
  io: Io,
): Promise<RebuiltComparison> {
  const artefacts = artefactsFolderOf(path);
  const sweepIds = named === true ? null : await sweepsNamed(path, named, io);
  const folders = (sweepIds ?? namesIn(artefacts).filter(isId)).map((id) => sweepFolderOf(artefacts, id));
  const temporary = mkdtempSync(join(tmpdir(), 'bench-rebuilt-'));
  try {
    const rebuiltPath = join(temporary, 'rebuilt.sqlite');
    ticker.report(`reading the artefacts of ${count(folders.length, 'sweep')} again`);
    const rebuilt = openStore(rebuiltPath, migrationsFolder());
    await usingStore(rebuilt, () =>
      restoreArtefacts(
        rebuilt,
        artefacts,
        folders.filter((folder) => existsSync(folder)),
        io,
      ),
    );
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

async function verifyFolder(
  store: VerifiedStore,
  path: string,
  isQuick: boolean,
  ticker: Ticker,
  io: Io,
): Promise<StoreDamage[]> {
  const folder = dirname(path);
  const others = new SiblingStores(path);
  try {
    const artefactsFolder = artefactsFolderOf(path);
    const artefacts = existsSync(artefactsFolder)
      ? await verifyArtefacts(artefactsFolder, knownRuns(store, others), {
          isQuick,
          onProgress: (runs) => ticker.report(`artefacts: ${runs} runs`),
          signal: io.signal,
        })
      : noArtefacts(artefactsFolder, store);
    ticker.report('engines and variants');
    return [
      ...artefacts,
      ...(await verifyEngines(join(folder, 'engines'), isQuick, io.signal)),
      ...(isQuick ? [] : await verifyVariants(join(folder, 'variants'), io.signal)),
      ...leftCopies(folder, basename(path)),
    ];
  } finally {
    others.close();
  }
}

/** A backup, or a store merged without artefacts. */
function noArtefacts(folder: string, store: VerifiedStore): StoreDamage[] {
  if (!hasArtefacts(store)) return [];
  const what = 'no artefacts lie next to this store: logs and exports of its runs were not checked';
  const advice = 'if they should be there, bring the folder back; all that bench shows is in the store';
  return [{ kind: 'noArtefacts', where: folder, what, advice }];
}

/** What a backup, a merge or a migration was writing next to the store when it was killed. */
function leftCopies(folder: string, name: string): StoreDamage[] {
  const base = name.replace(/\.sqlite$/, '');
  return readdirSync(folder)
    .filter((other) => other.startsWith(base) && isDeadTemporary(other))
    .map((other) => cutOff(join(folder, other)));
}

/** One line each, never cut: paths are to be copied. */
function verifyText({ found, rebuilt, runs, sweeps, quick }: VerifyOutput, look: Look): string[] {
  const damages = found.filter((one) => !isHarmless(one));
  const left = found.filter(isHarmless);
  const looked = `${count(sweeps, 'sweep')}, ${count(runs, 'run')}${quick ? ', nothing hashed' : ''}`;
  const leftovers = left.filter(({ kind }) => kind === 'leftover').length;
  const tail = leftovers === 0 ? '' : `; ${count(leftovers, 'leftover')} of processes that are gone`;
  const head =
    damages.length === 0
      ? look.style.good(`no damage: ${looked}${tail}`)
      : look.style.bad(`${count(damages.length, 'damage')} found: ${looked}${tail}`);
  const lines = [...damages, ...left].map(
    ({ where, what, advice }) => `  ${printable(where)}: ${printable(what)}; ${printable(advice)}`,
  );
  return [head, ...lines, ...(rebuilt === null ? [] : [rebuiltText(rebuilt)])];
}

function rebuiltText(tables: NonNullable<VerifyOutput['rebuilt']>): string {
  const rows = tables.reduce((sum, table) => sum + table.rows, 0);
  const others = tables.filter(({ notComparable }) => notComparable > 0);
  const without = others.map(({ notComparable, table }) => `${notComparable} of ${table}`).join(', ');
  const tail = others.length === 0 ? '' : `; without artefacts, so not comparable: ${without}`;
  return `${count(rows, 'row')} compared with the artefacts${tail}`;
}
