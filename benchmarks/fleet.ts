/**
 * What one store carries, and one that many write to at once: the figures of docs/scale.md. Not part of `all.ts`: it takes
 * half an hour, and 25 GB of disk.
 *
 *     node benchmarks/fleet.ts
 *     node benchmarks/fleet.ts sizes writers fleet --small
 */
import { spawn } from 'node:child_process';
import { rmSync, statSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { join } from 'node:path';

import { openStore } from '../src/store/file/open.ts';
import { RunWriter } from '../src/store/runs/save-run.ts';
import { saveSweep } from '../src/store/sweeps/sweeps.ts';
import { gateCells } from './gate/simulate-sweeps.ts';
import { recordedRecord, SWEEP } from './ingest.ts';
import { makeLargeStore, RUNS_PER_NIGHT } from './large-store.ts';
import { bench, ROOT } from './processes.ts';
import { sized } from './size.ts';
import { inTemporaryFolder } from './temporary-folder.ts';
import { median } from '../src/statistics/median.ts';

const ROUNDS = sized(3, 1);
const SIZES = sized([10_000, 100_000, 500_000, 2_000_000], [720]);
const WRITERS = sized([1, 4, 16], [2]);
const RUNS_OF_WRITER = sized(200, 4);
/** Of ten model families one: ten GPUs, each with 40 cells five times a night, for two years. */
const FAMILY = { cells: sized(400, 8), nights: sized(730, 3), repeats: 5, queries: 1000 } as const;
/** The newest sweeps whose samples stay. */
const KEPT = sized(90, 2);

const MIGRATIONS = join(ROOT, 'migrations');
const PARTS: Readonly<Record<string, (folder: string) => Promise<void>>> = { sizes, writers, fleet };

function tell(what: string, value: number, unit: string): void {
  const text = `${Number(value.toPrecision(3))}${unit}`.padEnd(10);
  process.stdout.write(`${text} ${what} (load ${loadavg()[0]?.toFixed(1)})\n`);
}

const megabytes = (path: string): number => statSync(path).size / 1e6;

/** Median seconds of a command on a store. */
async function secondsOf(args: readonly string[], db: string, rounds: number = ROUNDS): Promise<number> {
  const times: number[] = [];
  // Not in a clone: the sweeps of these stores are of no branch.
  const cwd = join(db, '..');
  for (let round = 0; round < rounds; round += 1)
    times.push((await bench([...args, '--db', db], { cwd }, [0, 1])).wallMs);
  return (median(times) ?? 0) / 1000;
}

/** Of the commands of a morning. The first check reads all of the sweeps that it looks at, every later one what that kept. */
async function tellCommands(db: string, of: string): Promise<void> {
  const first = await secondsOf(['check'], db, 1);
  tell(`the store, ${of}`, megabytes(db), ' MB');
  tell(`bench check, the first ever, ${of}`, first, ' s');
  tell(`bench check, ${of}`, await secondsOf(['check'], db), ' s');
  tell(`bench compare, ${of}`, await secondsOf(['compare'], db), ' s');
  tell(`bench trend, ${of}`, await secondsOf(['trend'], db), ' s');
  tell(`bench report --html, ${of}`, await secondsOf(['report', '--html', join(db, '..', 'report.html')], db), ' s');
}

async function sizes(folder: string): Promise<void> {
  const record = await recordedRecord(join(folder, 'run'));
  for (const runs of SIZES) {
    const db = join(folder, `${runs}.sqlite`);
    makeLargeStore(db, Math.ceil(runs / RUNS_PER_NIGHT));
    const of = `${runs.toLocaleString('en')} runs`;
    await tellCommands(db, of);
    const { perSecond } = write(db, record, RUNS_OF_WRITER);
    tell(`storing a run of ${record.exports.times?.count} queries, ${of}`, 1 / perSecond, ' s');
    rmSync(db);
  }
}

interface Written {
  readonly perSecond: number;
  readonly longestMs: number;
}

/** Stores runs as `bench run` does, each in a transaction that is on the disk before the next. */
function write(db: string, record: Awaited<ReturnType<typeof recordedRecord>>, runs: number): Written {
  const store = openStore(db, MIGRATIONS);
  saveSweep(store.db, SWEEP, null);
  const writer = new RunWriter(store.db);
  const ends = [performance.now()];
  for (let run = 0; run < runs; run += 1) {
    writer.saveRun({ ...record, runId: crypto.randomUUID().replaceAll('-', '') });
    ends.push(performance.now());
  }
  store.close();
  const waits = ends.slice(1).map((end, run) => end - (ends[run] ?? 0));
  return { perSecond: (1000 * runs) / ((ends.at(-1) ?? 0) - (ends[0] ?? 0)), longestMs: Math.max(...waits) };
}

/** This script once more, as one of several processes that write; it begins when its standard input ends. */
async function asWriter(db: string, folder: string): Promise<void> {
  const record = await recordedRecord(folder);
  process.stdout.write('ready\n');
  for await (const _ of process.stdin);
  process.stdout.write(`${JSON.stringify(write(db, record, RUNS_OF_WRITER))}\n`);
}

async function writers(folder: string): Promise<void> {
  for (const count of WRITERS) {
    const db = join(folder, `writers${count}.sqlite`);
    makeLargeStore(db, Math.ceil((SIZES[0] ?? 0) / RUNS_PER_NIGHT));
    const all = Array.from({ length: count }, (_, place) => startWriter(db, join(folder, `run${count}-${place}`)));
    await Promise.all(all.map(({ isReady }) => isReady));
    const start = performance.now();
    const written = await Promise.all(all.map(({ end }) => end()));
    const perSecond = (1000 * count * RUNS_OF_WRITER) / (performance.now() - start);
    const longestMs = Math.max(...written.map((one) => one.longestMs));
    const what = `${count} ${count === 1 ? 'process' : 'processes'} that store ${RUNS_OF_WRITER} runs each: `;
    tell(`${what}runs a second`, perSecond, '');
    tell(`${what}longest wait`, longestMs / 1000, ' s');
    rmSync(db);
  }
}

function startWriter(db: string, folder: string) {
  const child = spawn(process.execPath, [import.meta.filename, '--writer', db, folder, ...process.argv.slice(2)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const { promise: isReady, resolve, reject } = Promise.withResolvers<void>();
  let text = '';
  const ended = new Promise<string>((end) => child.on('close', () => end(text)));
  child.on('close', (code) => (code === 0 ? resolve() : reject(new Error(`a writer ended with ${code}`))));
  child.stdout.on('data', (chunk: Buffer) => {
    text += chunk.toString();
    if (text.startsWith('ready\n')) resolve();
  });
  const end = async (): Promise<Written> => {
    child.stdin.end();
    return JSON.parse((await ended).slice('ready\n'.length));
  };
  return { isReady, end };
}

/** Simulated: the store of one model family of a fleet, as large as it is after two years. */
async function fleet(folder: string): Promise<void> {
  const { cells, nights, queries, repeats } = FAMILY;
  const runs = cells * nights * repeats;
  const db = join(folder, 'family.sqlite');
  makeLargeStore(db, nights, queries, gateCells(cells));
  const of = `simulated, ${cells} cells, ${nights} sweeps, ${runs.toLocaleString('en')} runs`;
  await tellCommands(db, of);
  const prune = ['db', 'prune', '--keep-sweeps', `${KEPT}`, '--vacuum'];
  tell(`bench ${prune.join(' ')}, ${of}`, await secondsOf(prune, db, 1), ' s');
  tell(`the store after that, ${of}`, megabytes(db), ' MB');
}

const [writer, ...named] = process.argv.slice(2).filter((arg) => arg !== '--small');
if (writer === '--writer') await asWriter(named[0] ?? '', named[1] ?? '');
else {
  const chosen = [writer, ...named].filter((name) => name !== undefined);
  process.stdout.write(`${cpus().length} cores of ${cpus()[0]?.model}, Node ${process.versions.node}\n`);
  for (const [name, part] of Object.entries(PARTS)) {
    if (chosen.length > 0 && !chosen.includes(name)) continue;
    await inTemporaryFolder(part);
  }
}
