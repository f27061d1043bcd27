/**
 * Checks what bench makes of a folder of trtexec recordings, seen before or not:
 *
 *     npm run check:recordings -- FOLDER
 *
 * Every log is read again by a simple reader of its own that shares no code with the parser; its numbers must be those
 * of the parser and of a store into which the folder was imported, and the other way round. Exports are compared with
 * plain `JSON.parse`. Outcomes in any `expected.tsv` must be met, and a second import must change nothing.
 *
 * One line a problem, then a summary. Ends with 0, with 1 when there are problems, with 2 when it was called wrongly.
 */
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';

import { discoverRuns } from '../src/artefacts/read/discover.ts';
import { type RunSource, TRTEXEC } from '../src/artefacts/read/discover.ts';
import { importRuns } from '../src/features/import/import.ts';
import { printable } from '../src/text/printable.ts';
import { testIo } from '../test/support/io.ts';
import { checkSource, problemOf } from './check-recordings/check-source.ts';
import { differs } from './check-recordings/facts.ts';
import { Report } from './check-recordings/report.ts';
import { StoreReader } from './check-recordings/stored-run.ts';
import { unreadLogs } from './check-recordings/text.ts';

process.exitCode = await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<number> {
  const [folder] = args;
  if (folder === undefined || args.length > 1 || folder.startsWith('-')) {
    return wrongUse('usage: npm run check:recordings -- FOLDER');
  }
  const info = await stat(folder).catch(() => null);
  if (info?.isDirectory() !== true) return wrongUse(`${folder}: ${info === null ? 'no such folder' : 'is no folder'}`);
  const sources = await discoverRuns(folder, { as: TRTEXEC, metric: null, pattern: null });
  if (sources.length === 0) return wrongUse(`${folder}: no trtexec log under this folder`);
  const report = new Report();
  const place = await mkdtemp(join(tmpdir(), 'bench-check-'));
  try {
    await checkSources(folder, sources, join(place, 'bench.sqlite'), report);
  } finally {
    await rm(place, { recursive: true, force: true });
  }
  for (const problem of report.problems) process.stdout.write(`${problem}\n`);
  process.stdout.write(`${report.summary()}\n`);
  return report.problems.length > 0 ? 1 : 0;
}

function wrongUse(text: string): number {
  process.stderr.write(`${printable(text)}\n`);
  return 2;
}

/** Imports all of them into a store, and checks each. */
async function checkSources(
  folder: string,
  sources: readonly RunSource[],
  store: string,
  report: Report,
): Promise<void> {
  const first = await importFolder(folder, store, report);
  const reader = first === null ? null : new StoreReader(store);
  const seen = new Set<string>();
  for (const source of sources) await checkSource(source, reader, report, seen);
  for (const path of await unreadLogs(folder, report.read)) {
    report.add(path, 1, 'trtexec speaks in this file, but it is not taken for a log');
  }
  await report.checkExpectations(folder);
  if (first === null || reader === null) return;
  if (first.stored + first.alreadyStored !== report.runs) {
    report.add(folder, 1, differs('runs of the import', report.runs, JSON.stringify(first)));
  }
  const before = reader.digest();
  const second = await importFolder(folder, store, report);
  if (second !== null && (second.stored !== 0 || second.alreadyStored !== report.runs)) {
    report.add(folder, 1, differs('a second import', `0 of ${report.runs} stored`, JSON.stringify(second)));
  }
  for (const [table, digest] of reader.digest()) {
    if (before.get(table) !== digest) report.add(folder, 1, `a second import changed ${table}`);
  }
  reader.close();
}

interface ImportCounts {
  readonly stored: number;
  readonly alreadyStored: number;
}

/** `bench import FOLDER --db STORE --json`, in this process; null when it fails, which is a problem. */
async function importFolder(folder: string, db: string, report: Report): Promise<ImportCounts | null> {
  let text = '';
  try {
    const io = { ...testIo(), now: () => new Date(), out: (part: string) => (text += part) };
    await importRuns([folder], { db, json: true, as: TRTEXEC }, io);
  } catch (error) {
    report.add(folder, 1, `the import failed: ${problemOf(error)}`);
    return null;
  }
  const sweeps: readonly ImportCounts[] = JSON.parse(text).sweeps;
  const sum = (key: keyof ImportCounts): number => sweeps.reduce((all, sweep) => all + Number(sweep[key]), 0);
  return { stored: sum('stored'), alreadyStored: sum('alreadyStored') };
}
