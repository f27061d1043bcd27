import { randomBytes } from 'node:crypto';
import { join } from 'node:path';

import Database from 'better-sqlite3';

import { toRunRecord } from '../src/artefacts/read/identify.ts';
import { readRunFolder } from '../src/artefacts/read/read-run.ts';
import type { RunRecord } from '../src/records/run.ts';
import { NO_GIT, type Sweep } from '../src/records/sweep.ts';
import { openStore } from '../src/store/file/open.ts';
import { encodeSamples } from '../src/store/runs/blob-codecs.ts';
import { RunWriter } from '../src/store/runs/save-run.ts';
import { saveSweep } from '../src/store/sweeps/sweeps.ts';
import { isRecord } from '../src/text/unknown-values.ts';
import { ROOT } from './processes.ts';
import { unpackRun } from './recordings.ts';
import { type Benchmark, type Row, type Target, versus } from './row.ts';
import { inTemporaryFolder, medianTimesMs, sized } from './timing.ts';

const RUNS = sized(200, 3);
const ROUNDS = sized(7, 1);
const RECORDED = join('recordings', 'night1', 'nights_1_vit_small.fp16.b8.graph1');
const MIGRATIONS = join(ROOT, 'migrations');
const SWEEP_ID = '5'.repeat(32);

/** Runs into the store, each in a transaction that is on the disk before the next, beside the same rows by hand. */
export const ingest: Benchmark = { name: 'ingest', run: () => inTemporaryFolder(measure) };

async function measure(folder: string): Promise<Row[]> {
  const record = await recordedRecord(join(folder, 'run'));
  const { times } = record.exports;
  if (times === null) throw new Error('the recorded run has no samples');
  const without = { ...record, exports: { ...record.exports, times: null } };
  const ready = 'better-sqlite3, ready rows';
  const target: Target = { atLeast: 0.5 };
  const bare = await sideBySide(folder, without, () => {});
  const made = await sideBySide(folder, record, () => encodeSamples(times));
  const given = await sideBySide(folder, record, () => {});
  const samples = `${RUNS} runs with ${times.count} samples each, a run`;
  return [
    versus(`${RUNS} runs without samples, a run`, ready, bare, target),
    versus(samples, 'better-sqlite3, same blob made', made, target),
    versus(samples, ready, given, null, true),
  ];
}

/**
 * Milliseconds of a run, ours and by hand.
 * @param prepare what has to be computed for each run before its rows are ready
 */
async function sideBySide(folder: string, record: RunRecord, prepare: () => unknown): Promise<[number, number]> {
  const newPath = (): string => join(folder, `${randomBytes(8).toString('hex')}.sqlite`);
  const newIds = (): string[] => Array.from({ length: RUNS }, () => randomBytes(16).toString('hex'));
  const example = newPath();
  storeOurs(example, record, [record.runId]);
  const { ours, raw } = await medianTimesMs(
    { ours: () => storeOurs(newPath(), record, newIds()), raw: () => storeRaw(newPath(), example, newIds(), prepare) },
    ROUNDS,
  );
  return [ours / RUNS, raw / RUNS];
}

function storeOurs(path: string, record: RunRecord, runIds: readonly string[]): number {
  const store = openStore(path, MIGRATIONS);
  saveSweep(store.db, SWEEP, null);
  const writer = new RunWriter(store.db);
  const start = performance.now();
  for (const runId of runIds) writer.saveRun({ ...record, runId });
  const timeMs = performance.now() - start;
  store.close();
  return timeMs;
}

/** Tables that hold rows of a run, the one that the others refer to first. */
const RUN_TABLES = [
  'runs',
  'measurements',
  'time_statistics',
  'samples',
  'layer_profiles',
  'run_hints',
  'run_evidence',
  'artefacts',
];
/** Rows that many runs share: laid down before anything is timed. */
const SHARED_TABLES = ['sweeps', 'environments', 'cells', 'builds', 'invocations'];
const NAMES = `name NOT LIKE '\\_\\_%' ESCAPE '\\' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'`;

/** A store of the same tables, indices and shared rows as the example, opened as the program opens its own; its run again and again. */
function storeRaw(path: string, example: string, runIds: readonly string[], prepare: () => unknown): number {
  const db = new Database(path);
  for (const pragma of ['journal_mode = WAL', 'synchronous = FULL', 'foreign_keys = ON']) db.pragma(pragma);
  db.exec(`ATTACH '${example}' AS example`);
  const made = db.prepare(`SELECT sql FROM example.sqlite_master WHERE sql IS NOT NULL AND ${NAMES}`).pluck().all();
  for (const sql of made) db.exec(String(sql));
  for (const table of SHARED_TABLES) db.exec(`INSERT INTO main.${table} SELECT * FROM example.${table}`);
  const inserts = RUN_TABLES.flatMap((table) =>
    db
      .prepare(`SELECT * FROM example.${table}`)
      .all()
      .filter(isRecord)
      .map((row) => {
        const columns = Object.keys(row);
        const marks = columns.map(() => '?').join();
        const insert = db.prepare(`INSERT INTO main.${table} (${columns.join()}) VALUES (${marks})`);
        return (runId: string) => insert.run(columns.map((name) => (name === 'run_id' ? runId : row[name])));
      }),
  );
  db.exec('DETACH example');
  const [begin, commit] = [db.prepare('BEGIN IMMEDIATE'), db.prepare('COMMIT')];
  const start = performance.now();
  for (const runId of runIds) {
    prepare();
    begin.run();
    for (const insert of inserts) insert(runId);
    commit.run();
  }
  const timeMs = performance.now() - start;
  db.close();
  return timeMs;
}

/** A recorded run with 2397 samples. @param folder to unpack it in */
async function recordedRecord(folder: string): Promise<RunRecord> {
  unpackRun(folder, RECORDED);
  const [read] = await readRunFolder(folder);
  if (read === undefined || read.outcome.kind !== 'measured') throw new Error('no run was read');
  return toRunRecord(read, { runId: '0'.repeat(32), sweepId: SWEEP_ID, repeat: 1, artefactFolder: null });
}

const SWEEP: Sweep = {
  ...NO_GIT,
  sweepId: SWEEP_ID,
  source: 'import',
  name: 'ingest',
  matrix: null,
  provenance: 'recorded',
  recordingSet: null,
  state: 'finished',
  startedAt: null,
  finishedAt: null,
  seed: null,
  toolVersion: '0',
  trtexec: null,
  tensorrt: null,
  host: null,
};
