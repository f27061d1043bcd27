import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';

import { artefactsFolderOf } from '../artefacts/layout.ts';
import { LEAST_PRECISION_SHARE } from '../analyse/precision-share.ts';
import { summarizeCells } from '../analyse/summarize-cells.ts';
import type { ClockWish } from '../domain/clock-lock.ts';
import { InterruptedError, UsageError } from '../domain/errors.ts';
import { EXIT_CODES, type ExitCode } from '../domain/exit-codes.ts';
import type { Matrix } from '../domain/matrix.ts';
import { jsonText, printable } from '../domain/printable.ts';
import type { SweepCounts } from '../domain/sweep-event.ts';
import type { Sweep } from '../domain/sweep.ts';
import { cellsWithoutEngine } from '../ingest/engines.ts';
import type { ConverterPython } from '../ingest/variants.ts';
import { runSweep, saveState, type StoredPlan } from '../ingest/run-sweep.ts';
import { sweepJson, sweepText } from '../report/sweep-report.ts';
import { EngineCache } from '../artefacts/engine-cache.ts';
import { recordedRuns } from '../replay/check-plan.ts';
import { readRecordingSet, type RecordingSet } from '../replay/recording-set.ts';
import { spawnProcess } from '../run/spawn.ts';
import type { TrtexecProgram } from '../run/trtexec-program.ts';
import { cellRunsOf } from '../store/cell-runs.ts';
import { type OpenStore, openStore } from '../store/open.ts';
import { RunWriter } from '../store/save-run.ts';
import { findSweep } from '../store/sweeps.ts';
import { withLockedClocks } from './clock-lock.ts';
import { failOn, type FailOn } from './fail-on.ts';
import { gitStateOf } from './git-state.ts';
import { type Io, printLines } from './io.ts';
import { withStore } from './with-store.ts';
import { LiveProgress } from './live-progress.ts';
import { type Machine, machineOf, watching } from './machine.ts';
import { runsToMeasureAgain } from './measure-again.ts';
import { MoreRuns } from './more-runs.ts';
import { type MoreRunsOptions, wantedMoreRuns } from './more-runs-wanted.ts';
import { plan as showPlan } from './plan.ts';
import { prepare, type PrepareOptions } from './prepare.ts';
import { realPrecisions } from './real-precisions.ts';
import { resumable } from './resume.ts';
import { refuseSlurmOptions } from './slurm/refuse.ts';
import { runOnSlurm, type SlurmRunOptions } from './slurm/run-on-slurm.ts';
import { migrationsFolder, storePath } from './store-location.ts';
import { converterFor, variantsBeside } from './converter.ts';
import { toolVersion } from './tool-version.ts';

export interface RunOptions extends PrepareOptions, MoreRunsOptions, SlurmRunOptions {
  readonly executor?: 'local' | 'slurm';
  readonly json?: boolean;
  readonly db?: string;
  readonly dryRun?: boolean;
  readonly resume?: string | true;
  readonly commit?: string;
  readonly branch?: string;
  readonly failOn?: FailOn;
  /** From 0 to 1. */
  readonly precisionShare?: number;
  readonly lockClocks?: ClockWish;
  /** The interpreter that makes variants. */
  readonly python?: string;
  /** False for `--no-telemetry`. */
  readonly telemetry?: boolean;
}

interface Prepared {
  readonly sweep: Sweep;
  readonly stored: StoredPlan;
  readonly program: TrtexecProgram;
  /** Null when there is nothing to convert. */
  readonly converter: ConverterPython | null;
}

/** `bench run MATRIX`: builds, measures, stores. */
export async function run(
  path: string | undefined,
  options: RunOptions,
  io: Io,
): Promise<ExitCode> {
  // `--resume matrix.yaml`: the option took what was meant as the argument.
  if (typeof options.resume === 'string' && path === undefined && existsSync(options.resume)) {
    return run(options.resume, { ...options, resume: true }, io);
  }
  refuseWithResume(options);
  if (options.dryRun === true) return showPlan(required(path), options, io);
  refuseSlurmOptions(options);
  if (options.executor === 'slurm') return runOnSlurm(required(path), options, io);
  return options.resume === undefined
    ? startSweep(required(path), options, io)
    : resumeSweep(path, options.resume, options, io);
}

/** A sweep goes on as it was planned. */
function refuseWithResume(options: RunOptions): void {
  if (options.resume === undefined) return;
  const planned = [
    'filter',
    'repeats',
    'seed',
    'profile',
    'trtexec',
    'replay',
    'untilSure',
    'budget',
    'confirm',
    'against',
    'commit',
    'branch',
    'lockClocks',
    'dryRun',
  ] as const;
  const stated = planned.find((name) => options[name] !== undefined);
  if (stated === undefined) return;
  const flag = stated.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  throw new UsageError(`--${flag} does not go with --resume: a sweep goes on as it was planned`);
}

function required(path: string | undefined): string {
  if (path === undefined) {
    throw new UsageError('which matrix? Write `bench run MATRIX`, or `bench run --resume`');
  }
  return path;
}

async function startSweep(path: string, options: RunOptions, io: Io): Promise<ExitCode> {
  const made = await prepare(path, options, 'models needed', io);
  const program = made.program;
  if (program === null) throw new UsageError('--tensorrt is for `bench plan`: a run needs trtexec');
  for (const note of made.plan.notes) io.err(`note: ${printable(note)}\n`);
  for (const { times } of made.matrix.merged) {
    io.err(`note: a cell is named ${times} times in the matrix; it is measured once\n`);
  }
  const lockClocks = wantedLock(made.matrix, program, options, io);
  const converter = await converterFor(made.plan, options.python ?? null, io);
  const git = await gitStateOf(options, io);
  const sweep: Sweep = {
    ...git,
    sweepId: randomBytes(16).toString('hex'),
    source: 'run',
    name: null,
    matrix: made.matrix.name,
    provenance: program.provenance,
    recordingSet: program.recordings?.set ?? null,
    state: 'running',
    startedAt: io.now().toISOString(),
    finishedAt: null,
    seed: made.plan.seed,
    toolVersion: toolVersion(),
    trtexec: program.recordings === null ? program.file : null,
    tensorrt: made.plan.tensorrt,
    host: program.recordings === null ? hostname() : null,
  };
  const store = openStore(storePath(options.db, io), migrationsFolder());
  try {
    const stored: StoredPlan = {
      plan: made.plan,
      program: {
        trtexec: program.recordings === null ? program.file : null,
        replayFolder: program.recordings?.folder ?? null,
        python: converter?.interpreter ?? null,
      },
      telemetry: options.telemetry !== false,
      more: await wantedMoreRuns(store.db, sweep, options, io),
      lockClocks,
      slurmRun: null,
    };
    return await measure(store, { sweep, stored, program, converter }, options, io);
  } finally {
    store.close();
  }
}

async function resumeSweep(
  path: string | undefined,
  asked: string | true,
  options: RunOptions,
  io: Io,
): Promise<ExitCode> {
  return withStore(options, io, async (store) => {
    const found = resumable(store, path, asked, io);
    if (found === null) {
      io.err('nothing to resume: no sweep was interrupted\n');
      return EXIT_CODES.fine;
    }
    io.err(`resuming sweep ${found.sweep.sweepId.slice(0, 8)}\n`);
    const { plan, program } = found.stored;
    const converter = await converterFor(plan, options.python ?? program.python, io);
    return await measure(store, { ...found, converter }, options, io);
  });
}

/** The flag wins over the matrix. */
function wantedLock(
  matrix: Matrix,
  program: TrtexecProgram,
  options: RunOptions,
  io: Io,
): ClockWish | null {
  const wish = options.lockClocks ?? matrix.lockClocks;
  if (wish === null || program.recordings === null) return wish;
  if (options.lockClocks !== undefined) {
    throw new UsageError('--lock-clocks and recordings exclude each other: no GPU will run');
  }
  io.err('note: recordings answer, no GPU will run: lockClocks of the matrix does nothing\n');
  return null;
}

async function measure(
  store: OpenStore,
  prepared: Prepared,
  options: RunOptions,
  io: Io,
): Promise<ExitCode> {
  const { program, stored } = prepared;
  const machine = await machineOf(program, io);
  if (machine.note !== null) io.err(`note: ${machine.note}\n`);
  const lock = { wish: stored.lockClocks, isTold: true };
  return withLockedClocks(lock, machine, stored.plan, program, io, (locked) =>
    doSweep(store, prepared, locked, options, io),
  );
}

async function doSweep(
  store: OpenStore,
  { sweep, stored, program, converter }: Prepared,
  machine: Machine,
  options: RunOptions,
  io: Io,
): Promise<ExitCode> {
  const telemetry = stored.telemetry && options.telemetry !== false;
  const progress = new LiveProgress(stored.plan, io);
  const artefactsFolder = artefactsFolderOf(store.path);
  const recorded = recordedOf(stored, program);
  const more = moreRunsOf(store, sweep, stored, recorded, io);
  const againRuns = () => runsToMeasureAgain(store.db, sweep.sweepId, stored.plan, recorded);
  const context = {
    db: store.db,
    writer: new RunWriter(store.db),
    artefactsFolder,
    cache: new EngineCache(join(dirname(store.path), 'engines')),
    variants:
      converter === null
        ? null
        : variantsBeside(store.path, converter, io, (event) => progress.take(event)),
    program,
    spawn: spawnProcess,
    signal: io.signal,
    now: io.now,
    sweep,
    plan: stored.plan,
    environment: machine.environment,
    ...watching(machine, program, telemetry, io, (text) => progress.take({ kind: 'note', text })),
    hasMoreRuns: more !== null || againRuns().length > 0,
    againRuns,
    moreRuns: () => more?.next() ?? [],
    onEvent: (event: Parameters<LiveProgress['take']>[0]) => progress.take(event),
  };
  let counts: SweepCounts;
  try {
    counts = await runSweep(context, stored);
  } catch (error) {
    progress.end();
    if (!io.signal.aborted) throw error;
    const interrupted = { ...sweep, state: 'interrupted' as const };
    await saveState({ artefactsFolder, db: store.db }, stored, interrupted);
    const left = `go on with \`bench run --resume ${sweep.sweepId.slice(0, 8)}\``;
    throw new InterruptedError(`interrupted; what was measured is stored: ${left}`, {
      cause: error,
    });
  }
  progress.end();
  show(store, sweep.sweepId, stored, counts, options, io);
  return failOn(options.failOn, {
    regression: false,
    unclear: false,
    failed: counts.failed + counts.unfit - counts.replaced + counts.skipped > 0,
  });
}

function moreRunsOf(
  { db }: OpenStore,
  sweep: Sweep,
  { more, plan }: StoredPlan,
  recorded: ((cellKey: string) => number) | null,
  io: Io,
): MoreRuns | null {
  return more === null ? null : new MoreRuns(db, sweep, plan, more, recorded, io.now);
}

/** How many runs of a cell there can be at all; null for a real trtexec. */
function recordedOf(
  { plan }: StoredPlan,
  { recordings }: TrtexecProgram,
): ((cellKey: string) => number) | null {
  if (recordings === null) return null;
  let set: RecordingSet | null = null;
  return (key) => {
    set ??= readRecordingSet(recordings.folder);
    return recordedRuns(set, plan, key);
  };
}

function show(
  store: OpenStore,
  sweepId: string,
  { plan }: StoredPlan,
  counts: SweepCounts,
  options: RunOptions,
  io: Io,
): void {
  const sweep = findSweep(store.db, sweepId);
  if (sweep === null) return;
  const runs = cellRunsOf(store.db, [sweepId]);
  const planned = plan.cells.map(({ cell }) => cell);
  const cells = summarizeCells(
    planned,
    runs,
    cellsWithoutEngine(store.db, sweep, plan),
    realPrecisions(store.db, planned, runs),
    options.precisionShare ?? LEAST_PRECISION_SHARE,
  );
  const report = { sweep, counts, cells };
  if (options.json === true) io.out(`${jsonText(sweepJson(report))}\n`);
  else printLines(io, sweepText(report, io.look));
}
