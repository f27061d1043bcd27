import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';

import { dumpStore, queryStore } from '../../test/support/store-dump.ts';
import { BENCH, ROOT } from '../processes.ts';
import { type KillKind, sendKill } from './kill-kinds.ts';
import { leftoversOf, processesOf } from './leftovers.ts';

export interface KillReport {
  kills: number;
  sweeps: number;
  /** How many of the signals came while bench had a process running. */
  withChild: number;
  /** How many runs were stored when each kill came: shows that they came at all ages of a sweep. */
  readonly storedAtKill: number[];
  /** Everything that is not as without kills. */
  readonly problems: string[];
}

const SWEEP = ['run', 'matrices/quickstart-pair.yaml', '--seed', '7', '--repeats', '3'];
/** Of the time that an uninterrupted sweep takes. */
const LONGEST_LIFE = 0.7;

/** Of a bench that was asked to end, and did so in order. */
const INTERRUPTED = 130;

/** A sweep that nobody ended, to compare with. */
export async function wholeSweep(folder: string) {
  const whole = join(folder, 'bench.sqlite');
  const start = performance.now();
  const { code, stderr } = await startBench([...SWEEP, '--db', whole]).ended;
  if (code !== 0) throw new Error(`without a kill it ended with ${code}: ${stderr}`);
  const longestMs = (performance.now() - start) * LONGEST_LIFE;
  return { longestMs, expected: dumpStore(whole), problems: problemsOf(whole) };
}

/**
 * Signals `bench run` and `bench run --resume` at random moments until a sweep is done all the same, again
 * and again until there were so many kills, and compares each store with that of an uninterrupted sweep.
 * @param random gives numbers from 0 to 1
 */
export async function killSweeps(
  folder: string,
  { longestMs, expected, problems }: Awaited<ReturnType<typeof wholeSweep>>,
  kind: KillKind,
  kills: number,
  random: () => number,
): Promise<KillReport> {
  const report: KillReport = { kills: 0, sweeps: 0, withChild: 0, storedAtKill: [], problems: [...problems] };
  while (report.kills < kills) {
    report.sweeps += 1;
    const db = join(folder, `killed-${report.sweeps}`, 'bench.sqlite');
    mkdirSync(dirname(db));
    const failure = await killUntilDone(db, kind, kills, () => random() * longestMs, report);
    const found = failure === null ? problemsOf(db) : [failure];
    if (failure === null && !isDeepStrictEqual(dumpStore(db), expected)) {
      found.push('cells, runs, values or artefacts differ from those without kills');
    }
    report.problems.push(...found.map((problem) => `sweep ${report.sweeps}: ${problem}`));
  }
  return report;
}

/** Null when the sweep is done; else what it said when it failed by itself. */
async function killUntilDone(
  db: string,
  kind: KillKind,
  kills: number,
  nextLifeMs: () => number,
  report: KillReport,
): Promise<string | null> {
  for (;;) {
    const args = hasSweep(db) ? ['run', '--resume', '--db', db] : [...SWEEP, '--db', db];
    const { child, ended } = startBench(args);
    let hadChild = false;
    if (report.kills < kills) {
      await Promise.race([sleep(nextLifeMs()), ended]);
      hadChild = sendKill(child, kind);
    }
    const { code, signal, stderr } = await ended;
    if (code === 0) return null;
    // A signal may come before bench has begun to listen for it.
    if (signal !== kind.signal && (code !== INTERRUPTED || kind.signal === 'SIGKILL')) {
      return `ended with ${code ?? signal}: ${stderr}`;
    }
    report.kills += 1;
    if (hadChild) report.withChild += 1;
    report.storedAtKill.push(hasSweep(db) ? countOf(db, 'runs') : 0);
  }
}

interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stderr: string;
}

function startBench(args: readonly string[]): { child: ChildProcess; ended: Promise<Ended> } {
  const child = spawn(process.execPath, [BENCH, ...args], {
    cwd: ROOT,
    env: { ...process.env, BENCH_DB: undefined, NO_COLOR: '1' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const ended = new Promise<Ended>((resolve) => {
    child.on('close', (code, signal) => resolve({ code, signal, stderr }));
  });
  return { child, ended };
}

/** A kill may come before the store is there, and before its tables are. */
function hasSweep(db: string): boolean {
  if (!existsSync(db)) return false;
  return queryStore(db, `SELECT 1 FROM sqlite_master WHERE name = 'sweeps'`).length > 0 && countOf(db, 'sweeps') > 0;
}

function countOf(db: string, table: 'runs' | 'sweeps'): number {
  return queryStore(db, `SELECT 1 FROM ${table}`).length;
}

/** What must not be in or beside the store of a sweep that is done. */
function problemsOf(db: string): string[] {
  const [integrity] = queryStore<{ said: string }>(db, 'SELECT integrity_check AS said FROM pragma_integrity_check');
  const sweeps = queryStore<{ id: string; state: string }>(db, 'SELECT sweep_id AS id, state FROM sweeps');
  const lost = queryStore(db, 'SELECT 1 FROM pragma_foreign_key_check').length;
  const twice = queryStore(
    db,
    'SELECT 1 FROM runs GROUP BY sweep_id, role, cell_key, repeat HAVING count(*) > 1',
  ).length;
  return [
    ...(integrity?.said === 'ok' ? [] : [`integrity check: ${integrity?.said ?? 'nothing'}`]),
    ...(lost === 0 ? [] : [`${lost} rows without the row they belong to`]),
    ...(twice === 0 ? [] : [`${twice} runs are there twice`]),
    ...(sweeps.length === 1 ? [] : [`${sweeps.length} sweeps`]),
    ...sweeps.flatMap(({ id, state }) => [
      ...(state === 'finished' ? [] : [`the sweep is ${state}`]),
      ...leftoversOf(db, id),
      ...processesOf(id).map((pid) => `process ${pid} still runs`),
    ]),
  ];
}
