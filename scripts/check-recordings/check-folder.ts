import { rm, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { discoverRuns } from '../../src/artefacts/read/discover.ts';
import { type RunSource, TRTEXEC } from '../../src/artefacts/read/recognise.ts';
import { checkExpectations, Outcomes } from './expectations.ts';
import { importFolder } from './import-folder.ts';
import { problemOf } from './problem-of.ts';
import { differs, Report } from './report.ts';
import { SourceCheck } from './check-source.ts';
import { StoreReader } from './stored-run.ts';
import { unreadLogs } from './unread-logs.ts';

/** Imports every recording of trtexec below a folder into a store of its own, and checks each; null when there is none. */
export async function checkFolder(folder: string): Promise<Report | null> {
  const sources = await discoverRuns(folder, { as: TRTEXEC, metric: null });
  const report = new Report();
  if (sources.length === 0) return null;
  const workplace = await mkdtemp(join(tmpdir(), 'bench-check-'));
  try {
    await checkSources(folder, sources, join(workplace, 'bench.sqlite'), report);
  } finally {
    await rm(workplace, { recursive: true, force: true });
  }
  return report;
}

async function checkSources(
  folder: string,
  sources: readonly RunSource[],
  store: string,
  report: Report,
): Promise<void> {
  const first = await tryImport(folder, store, report);
  const outcomes = new Outcomes();
  const read = new Set<string>();
  const reader = first === null ? null : new StoreReader(store);
  const check = new SourceCheck(reader, report, outcomes, read);
  for (const source of sources) await check.run(source);
  for (const path of await unreadLogs(folder, read)) {
    report.add(path, 1, 'trtexec speaks in this file, but it is not taken for a log');
  }
  await checkExpectations(folder, outcomes, report);
  if (first === null || reader === null) return;
  if (first.stored + first.alreadyStored !== report.runs) {
    report.add(folder, 1, differs('runs of the import', report.runs, JSON.stringify(first)));
  }
  const before = reader.digest();
  const second = await tryImport(folder, store, report);
  if (second !== null && (second.stored !== 0 || second.alreadyStored !== report.runs)) {
    const what = differs('a second import', `0 of ${report.runs} stored`, JSON.stringify(second));
    report.add(folder, 1, what);
  }
  for (const [table, digest] of reader.digest()) {
    if (before.get(table) !== digest) report.add(folder, 1, `a second import changed ${table}`);
  }
  reader.close();
}

async function tryImport(
  folder: string,
  store: string,
  report: Report,
): Promise<Awaited<ReturnType<typeof importFolder>> | null> {
  try {
    return await importFolder(folder, store);
  } catch (error) {
    report.add(folder, 1, `the import failed: ${problemOf(error)}`);
    return null;
  }
}
