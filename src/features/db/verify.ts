import { existsSync, readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

import { artefactsFolderOf } from '../../artefacts/layout.ts';
import { type Io, printResult } from '../../cli/io.ts';
import { migrationsFolder, storePath } from '../../cli/store-location.ts';
import { verifyEngines, verifyVariants } from '../../engines/verify-caches.ts';
import { StoreError } from '../../errors.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import { SiblingStores } from '../../store/file/sibling-stores.ts';
import { isHarmless, type StoreDamage } from '../../store/verify/damage.ts';
import { verifyChecksums, verifyValues } from '../../store/verify/verify-values.ts';
import { openToVerify, type VerifiedStore, verifyBlobs, verifyFile } from '../../store/verify/verify-rows.ts';
import { hasArtefacts, knownRuns } from '../../store/verify/verify-runs.ts';
import type { Look } from '../../terminal/look.ts';
import { count } from '../../terminal/numbers.ts';
import { printable } from '../../text/printable.ts';
import type { VerifyOptions } from './command.ts';
import type { VerifyOutput } from './output.ts';
import { Ticker } from './ticker.ts';
import { cutOff, isDeadTemporary, verifyArtefacts } from './verify-artefacts.ts';

export async function verify(options: VerifyOptions, io: Io): Promise<ExitCode> {
  const path = storePath(options.db, io);
  if (!existsSync(path)) throw new StoreError(`${path}: no such store`);
  const ticker = new Ticker(io);
  const quick = options.quick === true;
  let looked: LookedAt;
  try {
    looked = await lookAt(path, quick, ticker, io);
  } finally {
    ticker.end();
  }
  const { found, runs, sweeps } = looked;
  const isDamaged = !found.every(isHarmless);
  const output: VerifyOutput = {
    schemaVersion: 1,
    path,
    quick,
    sweeps,
    runs,
    isDamaged,
    found: found.map(({ kind, where, what, advice }) => ({ kind, where, what, advice })),
  };
  printResult(io, options, output, verifyText);
  return isDamaged ? EXIT_CODES.incomplete : EXIT_CODES.fine;
}

type LookedAt = Pick<VerifyOutput, 'sweeps' | 'runs' | 'found'>;

async function lookAt(path: string, isQuick: boolean, ticker: Ticker, io: Io): Promise<LookedAt> {
  const opened = openToVerify(path, migrationsFolder());
  if (opened.kind !== 'opened') return { runs: 0, sweeps: 0, found: [opened] };
  try {
    const file = verifyFile(opened, path, migrationsFolder(), isQuick);
    // Rows of a damaged file, or of another schema, would only repeat it.
    if (file.some(({ kind }) => kind !== 'foreignKey')) return { runs: 0, sweeps: 0, found: file };
    const blobs = isQuick
      ? []
      : await verifyBlobs(opened, path, (runs) => ticker.report(`decoding: ${runs} runs`), io.signal);
    const values = isQuick ? [] : await verifyValues(opened.client, path, io.signal);
    const rows = isQuick
      ? []
      : await verifyChecksums(opened, path, (done) => ticker.report(`rows: ${done}`), io.signal);
    const inFolder = await verifyFolder(opened, path, isQuick, ticker, io);
    return { ...opened.counts(), found: [...file, ...values, ...rows, ...blobs, ...inFolder] };
  } finally {
    opened.close();
  }
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
function verifyText({ found, runs, sweeps, quick }: VerifyOutput, look: Look): string[] {
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
  return [head, ...lines];
}
