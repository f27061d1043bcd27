import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';

import { sha256OfFile } from '../../files/files.ts';
import type { ClockRequest } from '../../machine/requests.ts';
import { ensure, UsageError, EXIT_CODES, type ExitCode } from '../../errors.ts';
import type { Matrix } from '../../matrix/load.ts';
import { printable } from '../../text/printable.ts';
import type { GateSettings } from '../../records/gated-metric.ts';
import { AB_BRANCH } from '../../records/sweep.ts';
import { leftOutOf, plannedSweep, storedPlanOf, trtexecOf, gitStateOf } from '../../run/planned-sweep.ts';
import type { TrtexecProgram } from '../../trtexec/program/find-trtexec.ts';
import { openStore } from '../../store/file/open.ts';
import { newestOfBranch } from '../../store/sweeps/find-sweeps.ts';
import { lastGpusOf } from '../../store/runs/time-estimates.ts';
import { matrixIdentity, refuseChanges, resumable } from './resume.ts';
import { converterFor } from '../../variants/converter.ts';
import { wantedMoreRuns, withinBudget } from './more-runs.ts';
import { flagOf } from '../../cli/options.ts';
import { count } from '../../terminal/numbers.ts';
import type { Io } from '../../cli/io.ts';
import { machinesFor } from '../../machine/machine.ts';
import { refuseTooFewGpus, shareOut } from '../../run/gpu-worker.ts';
import { plan as showPlan, prepare, requestedCells, type Trial } from '../plan/index.ts';
import { migrationsFolder, storePath } from '../../cli/store-location.ts';
import { warnIfMigrated, usingStore, withStoreToWrite } from '../../cli/with-store.ts';
import type { Executor, RunOptions, SweepOptions } from './command.ts';
import { type SearchRequest, wantedSearch } from './search/search-runs.ts';

export async function run(path: string | undefined, options: RunOptions, io: Io, slurm: Executor): Promise<ExitCode> {
  // `--resume matrix.yaml`: the option consumed the argument.
  if (typeof options.resume === 'string' && path === undefined && existsSync(options.resume)) {
    return run(options.resume, { ...options, resume: true }, io, slurm);
  }
  refuseOptions(options);
  if (options.dryRun === true) return showPlan(required(path), options, io);
  if (options.executor === 'slurm') return slurm.submit(required(path), options, io);
  return options.resume === undefined
    ? startSweep(required(path), options, io)
    : resumeSweep(path, options.resume, options, io);
}

const ONLY_SLURM = ['slurmProfile', 'slurm', 'runDir', 'wait', 'collectJob'] as const;
/** Options that need results during the sweep, or choose GPUs, which Slurm assigns. */
const ONLY_LOCAL = ['untilSure', 'budget', 'confirm', 'resume', 'gpus', 'rebalance'] as const;

/** @throws UsageError for options that do not fit the executor, or a resumed sweep */
function refuseOptions(options: RunOptions): void {
  const { anyway, executor, resume } = options;
  const isSlurm = executor === 'slurm';
  const other = statedAmong(options, isSlurm ? ONLY_LOCAL : ONLY_SLURM);
  if (other !== undefined && options.dryRun !== true) {
    const advice = other === '--resume' ? ': write `bench slurm resume RUN`' : '';
    const how = isSlurm ? `cannot be used with --executor slurm${advice}` : 'needs --executor slurm';
    throw new UsageError(`${other} ${how}`);
  }
  const planned =
    resume === undefined ? undefined : statedAmong(options, anyway === true ? PLANNED : [...PLANNED, 'gpus']);
  if (planned === undefined) return;
  throw new UsageError(`${planned} cannot be used with --resume: a resumed sweep keeps its plan`);
}

/** Options that are fixed when a sweep is planned. */
const PLANNED = [
  ...(['filter', 'repeats', 'builds', 'forceCache', 'seed', 'profile', 'trtexec', 'replay', 'untilSure'] as const),
  ...(['budget', 'against', 'commit', 'branch', 'lockClocks', 'rebalance', 'coolDown', 'numa', 'dryRun'] as const),
  'untrusted' as const,
];

/** The first of these options that is stated, as a flag. */
function statedAmong(options: RunOptions, names: readonly (keyof RunOptions)[]): string | undefined {
  const name = names.find((each) => {
    const value = options[each];
    return value !== undefined && value !== false && !(Array.isArray(value) && value.length === 0);
  });
  return name && flagOf(name);
}

function required(path: string | undefined): string {
  if (path === undefined) throw new UsageError('which matrix? Write `bench run MATRIX`, or `bench run --resume`');
  return path;
}

/**
 * @param trial changes the cells of the matrix for an experiment
 * @param search limits the runs to those that a search needs
 */
export async function startSweep(
  path: string,
  options: SweepOptions,
  io: Io,
  trial: Trial | null = null,
  search: SearchRequest | null = null,
): Promise<ExitCode> {
  const requested = requestedCells(path, options, io, trial);
  const { experiment, program } = requested;
  // Each of these takes a moment, and so does the help of trtexec; nvidia-smi takes longest.
  const asked = program && Promise.all([machinesFor(program, options.gpus ?? null, io), gitStateOf(options, io)]);
  // The await below throws the error.
  asked?.catch(() => {});
  const made = await prepare(path, options, 'models needed', io, requested);
  if (program === null || asked === null) throw new UsageError('--tensorrt is for `bench plan`: a run needs trtexec');
  for (const note of made.plan.notes) io.err(`note: ${printable(note)}\n`);
  const { length: merged } = made.matrix.merged;
  if (merged > 0) io.err(`note: the matrix names ${count(merged, 'cell')} several times: measured once each\n`);
  const lockClocks = wantedLock(made.matrix, program, options, io);
  const trtexec = trtexecOf(made.plan, program);
  const hashing = trtexec === null ? null : sha256OfFile(trtexec).catch(() => null);
  // Loading what measures and what starts processes takes a moment, too.
  const measuring = Promise.all([import('./execute-plan.ts'), import('../../process/spawn-process.ts')]);
  const [[machines, git], hashed, [{ executePlan }]] = await Promise.all([asked, hashing, measuring]);
  if (experiment !== null && machines.length > 1) {
    throw new UsageError('A and B are measured on the same GPU: name one of them, as in --gpus 0');
  }
  refuseTooFewGpus(made.plan, machines);
  // Reported before there is a store, because without this Python no variant can be made.
  const converter = await converterFor(made.plan, options.python ?? null, io);
  const sweep = plannedSweep(made.plan, program, {
    ...git,
    ...(experiment === null ? {} : { branch: AB_BRANCH }),
    sweepId: randomBytes(16).toString('hex'),
    name: experiment?.name ?? null,
    startedAt: io.now().toISOString(),
  });
  const store = warnIfMigrated(openStore(storePath(options.db, io), migrationsFolder()), io);
  return usingStore(store, async () => {
    const latest = newestOfBranch(store.db, sweep.branch, sweep)?.startedAt ?? '';
    if (latest > (sweep.startedAt ?? latest))
      io.err(
        `note: the newest sweep of this series began later, ${latest}: this one counts as older; check the clock\n`,
      );
    const { length: gpus } = machines;
    const { note, plan } = await withinBudget(store, made.plan, sweep.provenance, options.budget, { gpus });
    if (note !== null) io.err(`note: ${note}\n`);
    const keys = plan.cells.map(({ cell }) => cell.key);
    const previous = options.rebalance === true ? new Map<string, string>() : lastGpusOf(store.db, keys);
    const begun = storedPlanOf(plan, program, converter, {
      matrix: { file: resolve(io.cwd, path), identity: matrixIdentity(made.matrix) },
      telemetry: options.telemetry !== false,
      more: await wantedMoreRuns(store.db, sweep, plan, options, io),
      search: search === null ? null : wantedSearch(store.db, plan, sweep, machines, search),
      lockClocks,
      gpus: options.gpus === undefined ? null : shareOut(plan, machines, previous, io),
      coolDown: options.coolDown ?? made.matrix.coolDown,
      numa: options.numa ?? made.matrix.numa,
      experiment,
      gate: confirmedBy(made.matrix.gate, options),
      leftOut: experiment === null ? leftOutOf(made.matrix, plan) : null,
      keptLastGoodBytes: made.matrix.keptLastGoodBytes,
      controlFlow: made.controlFlow,
    });
    const stored = { ...begun, program: { ...begun.program, trtexecSha256: hashed?.sha256 ?? null } };
    return await executePlan(store, { sweep, stored, program, converter, machines }, options, io);
  });
}

/** The pair options of the command line are stored with the sweep, as if its matrix had them. */
function confirmedBy(gate: GateSettings, { confirm, confirmBudget }: SweepOptions): GateSettings {
  return { ...gate, confirm: confirm ?? gate.confirm, confirmBudget: confirmBudget ?? gate.confirmBudget };
}

async function resumeSweep(
  path: string | undefined,
  unfinished: string | true,
  options: SweepOptions,
  io: Io,
): Promise<ExitCode> {
  return withStoreToWrite(options, io, async (store) => {
    const found = resumable(store, path, unfinished, io, options.confirm === true);
    if (found === null) {
      io.err('nothing to resume: no sweep was interrupted\n');
      return EXIT_CODES.fine;
    }
    const { plan, program, gpus } = found.stored;
    const requested = options.gpus ?? gpus?.uuids.join(',') ?? null;
    const machines = await machinesFor(found.program, requested, io);
    await refuseChanges(store.db, found, machines, options.anyway === true, io);
    const asked = { ...found.stored, gate: confirmedBy(found.stored.gate, options) };
    const stored =
      options.gpus === undefined
        ? asked
        : { ...asked, gpus: shareOut(plan, machines, new Map(Object.entries(gpus?.cells ?? {})), io) };
    const converter = await converterFor(plan, options.python ?? program.python, io);
    const { executePlan } = await import('./execute-plan.ts');
    return await executePlan(store, { ...found, stored, converter, machines }, options, io);
  });
}

function wantedLock(matrix: Matrix, program: TrtexecProgram, options: SweepOptions, io: Io): ClockRequest | null {
  const requested = options.lockClocks ?? matrix.lockClocks;
  if (requested === null || program.recordings === null) return requested;
  ensure(options.lockClocks === undefined, '--lock-clocks and recordings cannot be used together: no GPU will run');
  io.err('note: recordings need no GPU: lockClocks of the matrix has no effect\n');
  return null;
}
