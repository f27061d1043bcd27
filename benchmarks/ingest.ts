import { randomBytes } from 'node:crypto';
import { join } from 'node:path';

import { toRunRecord } from '../src/artefacts/read/identify.ts';
import { readRunFolder } from '../src/artefacts/read/read-run.ts';
import type { RunRecord } from '../src/records/run.ts';
import { NO_GIT, type Sweep } from '../src/records/sweep.ts';
import { openStore } from '../src/store/file/open.ts';
import { encodeSamples } from '../src/store/runs/blob-codecs.ts';
import { RunWriter } from '../src/store/runs/save-run.ts';
import { saveSweep } from '../src/store/sweeps/sweeps.ts';
import { ROOT } from './processes.ts';
import { openRawStore, type RawRow, type RawStore, rawRows, writeRawRun } from './raw-store.ts';
import { unpackRun } from './recordings.ts';
import type { Benchmark, Row, Target } from './row.ts';
import { inTemporaryFolder } from './temporary-folder.ts';
import { medianTimesMs, milliseconds } from './timing.ts';
import { sized } from './size.ts';

const RUNS = sized(200, 3);
const ROUNDS = sized(7, 1);
const RECORDED = join('recordings', 'night1', 'nights_1_vit_small.fp16.b8.graph1');
const MIGRATIONS = join(ROOT, 'migrations');
const SWEEP_ID = '5'.repeat(32);

/** Runs into the store, each in a transaction that is on the disk before the next, beside the same rows by hand. */
export const ingest: Benchmark = { name: 'ingest', run: () => inTemporaryFolder(measure) };

async function measure(folder: string): Promise<Row[]> {
  const run = join(folder, 'run');
  const record = await recordedRecord(run);
  const { times } = record.exports;
  if (times === null) throw new Error('the recorded run has no samples');
  const without = { ...record, exports: { ...record.exports, times: null } };
  const ready = 'better-sqlite3, ready rows';
  const target: Target = { atLeast: 0.5 };
  const bare = await sideBySide(folder, without, () => {});
  const made = await sideBySide(folder, record, () => encodeSamples(times));
  const given = await sideBySide(folder, record, () => {});
  const samples = `${RUNS} runs with ${times.count} samples each`;
  return [
    row(`${RUNS} runs without samples`, ready, bare, target),
    row(samples, 'better-sqlite3, same blob made', made, target),
    row(samples, ready, given, null),
  ];
}

interface Times {
  readonly ours: number;
  readonly raw: number;
}

function row(what: string, against: string, { ours, raw }: Times, target: Target | null): Row {
  return {
    kind: 'measured',
    what,
    against,
    ratio: raw / ours,
    unit: '×',
    target,
    ours: `${milliseconds(ours / RUNS)} a run`,
    theirs: `${milliseconds(raw / RUNS)} a run`,
  };
}

/** @param prepare what has to be computed for each run before its rows are ready */
async function sideBySide(folder: string, record: RunRecord, prepare: () => unknown): Promise<Times> {
  const newPath = (): string => join(folder, `${randomBytes(8).toString('hex')}.sqlite`);
  const example = newPath();
  storeOurs(example, record, [record.runId]);
  const rows = rawRows(example, record.runId);
  return medianTimesMs(
    {
      ours: () => storeOurs(newPath(), record, newIds()),
      raw: () => storeRaw(openRawStore(newPath(), example), rows, newIds(), prepare),
    },
    ROUNDS,
  );
}

function newIds(): string[] {
  return Array.from({ length: RUNS }, () => randomBytes(16).toString('hex'));
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

function storeRaw(store: RawStore, rows: readonly RawRow[], runIds: readonly string[], prepare: () => unknown): number {
  const start = performance.now();
  for (const runId of runIds) {
    prepare();
    writeRawRun(store, rows, runId);
  }
  const timeMs = performance.now() - start;
  store.close();
  return timeMs;
}

/** A recorded run with 2397 samples. @param folder to unpack it in */
export async function recordedRecord(folder: string): Promise<RunRecord> {
  unpackRun(folder, RECORDED);
  const [read] = await readRunFolder(folder);
  if (read === undefined || read.outcome.kind !== 'measured') throw new Error('no run was read');
  return toRunRecord(read, { runId: '0'.repeat(32), sweepId: SWEEP_ID, repeat: 1, artefactFolder: null });
}

/** Of that run. */
export const SWEEP: Sweep = {
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
