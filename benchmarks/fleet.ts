/**
 * What one store carries, and one that many write to at once: the figures of benchmarks/README.md. Not part of `all.ts`: it takes
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
import { ROOT } from './processes.ts';
import { sized } from './size.ts';
import { inTemporaryFolder } from './temporary-folder.ts';
import { benchWithUsage, type Usage } from './usage.ts';
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

const rounded = (value: number, unit: string): string => `${Number(value.toPrecision(3))}${unit}`;

function tell(what: string, ...figures: readonly string[]): void {
  process.stdout.write(`${figures.join(', ').padEnd(32)} ${what} (load ${loadavg()[0]?.toFixed(1)})\n`);
}

const sizeOf = (path: string): string => rounded(statSync(path).size / 1e6, ' MB');

/** Tells what a command on a store takes: on the wall, of the CPU and in memory, medians. */
async function tellCommand(args: readonly string[], db: string, of: string, rounds: number = ROUNDS): Promise<void> {
  // Not in a clone: the sweeps of these stores are of no branch.
  const cwd = join(db, '..');
  const usages: Usage[] = [];
  for (let round = 0; round < rounds; round += 1) {
    usages.push(await benchWithUsage([...args, '--db', db], cwd, { cwd }, [0, 1]));
  }
  const middle = (figure: (usage: Usage) => number, unit: string): string =>
    rounded(median(usages.map(figure)) ?? 0, unit);
  tell(
    `bench ${args.join(' ')}, ${of}`,
    middle(({ wallMs }) => wallMs / 1000, ' s'),
    middle(({ cpuMs }) => cpuMs / 1000, ' s of CPU'),
    middle(({ peakMb }) => peakMb, ' MB'),
  );
}

/** Of the commands of a morning. The first check reads all of the sweeps that it looks at, every later one what that kept. */
async function tellCommands(db: string, of: string): Promise<void> {
  tell(`the store, ${of}`, sizeOf(db));
  await tellCommand(['check'], db, `${of}, the first ever`, 1);
  for (const args of [['check'], ['compare'], ['trend'], ['ls', 'sweeps']]) await tellCommand(args, db, of);
  await tellCommand(['report', '--html', 'report.html'], db, of);
}

async function sizes(folder: string): Promise<void> {
  const record = await recordedRecord(join(folder, 'run'));
  for (const runs of SIZES) {
    const db = join(folder, `${runs}.sqlite`);
    makeLargeStore(db, Math.ceil(runs / RUNS_PER_NIGHT));
    const of = `${runs.toLocaleString('en')} runs`;
    await tellCommands(db, of);
    const { perSecond } = write(db, record, RUNS_OF_WRITER);
    tell(`storing a run of ${record.exports.times?.count} queries, ${of}`, rounded(1000 / perSecond, ' ms'));
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
    tell(`${what}runs a second`, rounded(perSecond, ''));
    tell(`${what}longest wait`, rounded(longestMs / 1000, ' s'));
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
  await tellCommand(prune, db, of, 1);
  tell(`the store after that, ${of}`, sizeOf(db));
  const all = join(folder, 'all.sqlite');
  for (const when of ['into an empty store', 'once more, nothing new']) {
    await tellCommand(['db', 'merge', db], all, `${of}, ${when}`, 1);
  }
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
