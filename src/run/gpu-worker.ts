import { availableParallelism, hostname } from 'node:os';
import { basename, join } from 'node:path';

import { artefactsFolderOf } from '../files/layout.ts';
import type { Io } from '../cli/io.ts';
import type { EngineCache } from '../engines/engine-cache.ts';
import { EnvironmentLackingError } from '../errors.ts';
import { ProcessFacts } from '../machine/host-facts.ts';
import type { Machine } from '../machine/machine.ts';
import { boundTo, coolDown, type CoolDown, DEFAULT_LONGEST_S, type NumaPolicy } from '../machine/requests.ts';
import { assignGpus } from '../matrix/plan/assign-gpus.ts';
import { ask } from '../process/ask.ts';
import type { EnvironmentVariables } from '../process/environment-variables.ts';
import { type Lock, type LockWait, holderText, makeLockFolder, acquire } from '../process/lock.ts';
import type { Spawn } from '../process/spawn.ts';
import type { Plan } from '../records/plan.ts';
import type { Sweep } from '../records/sweep.ts';
import type { OpenStore } from '../store/file/open.ts';
import { RunWriter } from '../store/runs/save-run.ts';
import { count } from '../terminal/numbers.ts';
import { printable } from '../text/printable.ts';
import { type GpuDevice, deviceLabel } from '../tools/nvidia-smi/gpu-report.ts';
import { askForTemperature } from '../tools/nvidia-smi/nvidia-smi.ts';
import type { TrtexecProgram } from '../trtexec/program/find-trtexec.ts';
import { variantsForStore } from '../variants/converter.ts';
import type { ConverterPython } from '../variants/variants.ts';
import { RunWatch } from './run-watch.ts';
import { spawnWithNeighbor } from './start.ts';
import type { StoredPlan } from './stored-plan.ts';
import type { SweepContext, SweepEvent } from './sweep-context.ts';
import { endOrphans, identityOf } from '../process/process-identity.ts';

/** A sweep that can be measured on these machines. */
export interface PreparedSweep<Stored = StoredPlan> {
  readonly sweep: Sweep;
  readonly stored: Stored;
  readonly program: TrtexecProgram;
  /** Makes variants of base models; null if the plan has none. */
  readonly converter: ConverterPython | null;
  readonly machines: readonly [Machine, ...Machine[]];
}

type WorkerSettings = Pick<StoredPlan, 'coolDown' | 'numa' | 'plan' | 'telemetry'>;

/** Decides how processes on one GPU are started and monitored. Recordings use no GPU. */
async function openGpuWorker(
  machine: Machine,
  program: TrtexecProgram,
  settings: WorkerSettings,
  io: Io,
  onNote: (note: string) => void,
): Promise<Pick<SweepContext, 'environment' | 'gpu' | 'processFacts' | 'program' | 'spawn' | 'watch'>> {
  const { device, environment, hasSmi, pool } = machine;
  if (program.recordings !== null) {
    const nothing = { gpu: null, processFacts: null, watch: null };
    return { ...nothing, environment, program, spawn: io.spawn };
  }
  const { prefix, binding, note } = await bindToNode(settings.numa, environment.numaNode ?? null, io.env);
  if (note !== null) onNote(note);
  const processFacts = new ProcessFacts();
  const env = machine.isChosen && device !== null ? { ...program.env, CUDA_VISIBLE_DEVICES: device.uuid } : program.env;
  const boards = gpusTogether(mostGpus(settings.plan.runs), device, pool)?.map(({ boardUuid }) => boardUuid);
  const { now, signal } = io;
  const watched = {
    // nvidia-smi accepts a comma-separated list.
    gpuUuid: boards?.join(',') ?? null,
    // Processes on other MIG partitions are irrelevant.
    asksForProcesses: device === null || device.uuid === device.boardUuid,
  };
  return {
    environment: binding === null ? environment : { ...environment, binding },
    gpu: device === null ? null : { label: deviceLabel(device), uuid: device.uuid },
    processFacts,
    watch: settings.telemetry
      ? new RunWatch({ ...watched, env, hasSmi, processFacts, program: basename(program.file), signal, onNote, now })
      : null,
    program: { ...program, env, wrapper: prefix },
    spawn: spawnOn(machine, settings.coolDown, io, onNote),
  };
}

/** Spawns processes that hold the locks of their GPUs, as bench does. The wait for a lock does not count as run time. */
function spawnOn({ device, pool }: Machine, request: CoolDown | null, io: Io, onNote: (note: string) => void): Spawn {
  // Fail here, before anything is measured.
  makeLockFolder(io.env);
  // MIG devices do not have a temperature sensor.
  const board = device?.boardUuid ?? null;
  const temperatureC = async () => (board === null ? null : askForTemperature(board, io.env));
  let hasWarned = false;
  const onWait: LockWait['onWait'] = (holder) => {
    if (hasWarned) return;
    hasWarned = true;
    const which = device === null ? 'the lock for one GPU (nvidia-smi lists none)' : deviceLabel(device);
    onNote(`${which} is in use by ${holderText(holder)}: runs wait for their turn`);
  };
  return async (invocation, signal, onStart) => {
    const { coolToC, env, gpus = 1, isTimed } = invocation;
    const wanted =
      request ?? (coolToC === undefined ? null : { kind: 'temperature', maxC: coolToC, longestS: DEFAULT_LONGEST_S });
    const together = gpusTogether(gpus, device, pool)?.map(({ uuid }) => uuid);
    const numbers = gpus === 1 ? [null] : Array.from({ length: gpus }, (_, gpu) => gpu);
    const names = together ?? numbers.map((number) => unnamedGpu(number, io.env));
    const seen = gpus === 1 || together === undefined ? env : { ...env, CUDA_VISIBLE_DEVICES: names.join(',') };
    const locks: Lock[] = [];
    try {
      // All locks are taken in the same order, so that no two processes wait for each other.
      for (const name of names.toSorted()) locks.push(await takeGpu(name, io.env, onNote, { signal, onWait }));
      const heat = `the GPU was throttled by heat: it cools down to ${coolToC} °C, or for ${DEFAULT_LONGEST_S} s, before the run is repeated`;
      if (wanted !== request && (await temperatureC()) !== null) onNote(heat);
      if (wanted !== null && isTimed) await coolDown(wanted, { temperatureC, onNote }, signal);
      const inherited = locks.map(({ descriptor }) => descriptor);
      const locked = { ...invocation, env: seen, locks: inherited };
      return await spawnWithNeighbor(io.spawn)(locked, signal, (pid) => {
        for (const lock of locks) lock.noteHolder(pid);
        onStart(pid);
      });
    } finally {
      for (const lock of locks) lock.release();
    }
  };
}

/**
 * The GPU of a worker, followed by the next ones of the pool; null if no GPU is known.
 * @throws EnvironmentLackingError if there are fewer
 */
function gpusTogether(gpus: number, device: GpuDevice | null, pool: readonly GpuDevice[]): readonly GpuDevice[] | null {
  if (device === null) return null;
  if (gpus > pool.length) {
    throw new EnvironmentLackingError(
      `a cell needs ${gpus} GPUs at once, and ${pool.length} are available here (--gpus, CUDA_VISIBLE_DEVICES)`,
    );
  }
  return [device, ...pool.filter(({ uuid }) => uuid !== device.uuid)].slice(0, gpus);
}

/** @throws EnvironmentLackingError before anything runs, if a cell needs more GPUs together than there are */
export function refuseTooFewGpus({ runs }: Plan, [{ device, pool }]: readonly [Machine, ...Machine[]]): void {
  gpusTogether(mostGpus(runs), device, pool);
}

function mostGpus(runs: Plan['runs']): number {
  return runs.reduce((most, { harness }) => Math.max(most, harness?.gpus ?? 1), 1);
}

/**
 * The workers of a sweep that writes to this store, one per GPU, without runs beyond its plan.
 * @param onEvent receives the name of the GPU if there are several
 */
export async function openWorkers(
  store: OpenStore,
  { sweep, stored, program, converter, machines }: PreparedSweep<WorkerSettings>,
  cache: EngineCache,
  io: Io,
  onEvent: (event: SweepEvent, gpu: string | null) => void,
): Promise<[SweepContext, ...SweepContext[]]> {
  const shared = {
    db: store.db,
    writer: new RunWriter(store.db),
    storeFile: store.file,
    artefactsFolder: artefactsFolderOf(store.path),
    cache,
    variants: converter === null ? null : variantsForStore(store.path, converter, io, (event) => onEvent(event, null)),
    // With several GPU models, the runs of one build have several engines.
    mayChangeEngines: new Set(machines.map(engineKind)).size > 1,
    cpuCount: availableParallelism(),
    signal: io.signal,
    now: io.now,
    sweep,
    plan: stored.plan,
    moreRuns: () => [],
    unfitRounds: null,
    suspects: null,
  };
  const workerOf = async (machine: Machine): Promise<SweepContext> => {
    const label = machines.length === 1 || machine.device === null ? null : deviceLabel(machine.device);
    const take = (event: SweepEvent): void => onEvent(event, label);
    const onNote = (text: string): void => take({ kind: 'note', text });
    const worker = await openGpuWorker(machine, program, stored, io, onNote);
    const kind = engineKind(machine);
    return { ...shared, ...worker, otherModel: kind === engineKind(machines[0]) ? null : kind, onEvent: take, onNote };
  };
  const [first, ...others] = machines;
  const workers: [SweepContext, ...SweepContext[]] = [await workerOf(first)];
  for (const machine of others) workers.push(await workerOf(machine));
  return workers;
}

/** Machines of one kind share engines. Every part of a divided GPU is a kind of its own. */
function engineKind({ device, environment }: Machine): string | null {
  const isPart = device !== null && device.uuid !== device.boardUuid;
  return isPart ? device.uuid : (environment.gpuName ?? null);
}

/**
 * Assigns cells to GPUs.
 * @param previous UUID by cell key, for cells that were measured before
 */
export function shareOut(
  plan: Plan,
  machines: readonly Machine[],
  previous: ReadonlyMap<string, string>,
  io: Io,
): StoredPlan['gpus'] {
  const devices = machines.flatMap(({ device }) => device ?? []);
  const uuids = devices.map(({ uuid }) => uuid);
  const cells = assignGpus(plan, uuids, previous);
  for (const device of devices) {
    const own = plan.cells.filter(({ cell }) => cells[cell.key] === device.uuid).length;
    io.err(`${deviceLabel(device)} (${printable(device.name)}): ${count(own, 'cell')}\n`);
  }
  return { uuids, cells };
}

const ANSWER_MS = 5_000;

/**
 * The prefix of a command line, empty if nothing is bound, what it binds to, and a note for the user.
 * @param gpuNode node of the GPU; null if there is only one
 */
export async function bindToNode(policy: NumaPolicy, gpuNode: number | null, env: EnvironmentVariables) {
  const where = policy === 'auto' ? gpuNode : policy === 'off' ? null : policy;
  const unbound = { prefix: [], binding: null, note: null };
  if (where === null) return unbound;
  const answer = await ask('numactl', ['--hardware'], { env, timeoutMs: ANSWER_MS });
  if (answer.kind !== 'answered') {
    return { ...unbound, note: 'numactl is missing or does not answer: runs are not bound' };
  }
  const known = [...answer.text.matchAll(/^node (\d+) cpus:(.*)$/gm)].flatMap(([, node, cpus = '']) =>
    (cpus.match(/\d+/g) ?? []).map((cpu) => ({ node: Number(node), cpu: Number(cpu) })),
  );
  const ranges = typeof where === 'number' ? [] : where.replace('cpus:', '').split(',');
  const named = ranges.map((range) => {
    const [first = 0, last = first] = range.split('-').map(Number);
    return { first, last };
  });
  const bound = known
    .filter(({ node, cpu }) => node === where || named.some(({ first, last }) => cpu >= first && cpu <= last))
    .toSorted((a, b) => a.cpu - b.cpu);
  const isThere = named.every(({ first, last }) => [first, last].every((end) => bound.some(({ cpu }) => cpu === end)));
  if (bound.length === 0 || !isThere) {
    const what =
      typeof where === 'number' ? `NUMA node ${where} does not exist or has no CPU` : `${where} do not all exist`;
    return { ...unbound, note: `${what}: runs are not bound` };
  }
  const nodes = [...new Set(bound.map(({ node }) => node))];
  const binding = `node ${nodes.join(' and ')} (CPUs ${cpuList(bound.map(({ cpu }) => cpu))})`;
  const isOther = gpuNode !== null && nodes.some((node) => node !== gpuNode);
  const note = isOther ? `runs are bound to NUMA ${binding}, their GPU hangs on node ${gpuNode}` : null;
  return { prefix: boundTo(where), binding, note };
}

/** `0-3,8`, as Linux writes ascending numbers. */
function cpuList(cpus: readonly number[]): string {
  const ends = cpus.filter((cpu, place) => cpus[place + 1] !== cpu + 1);
  const starts = cpus.filter((cpu, place) => cpus[place - 1] !== cpu - 1);
  return starts.map((start, place) => (start === ends[place] ? `${start}` : `${start}-${ends[place]}`)).join(',');
}

/**
 * Takes the lock of a GPU. Only one process at a time may use the GPU, across users and stores.
 * @param name UUID of the GPU or MIG device, or a substitute without nvidia-smi
 * @param onNote called with the processes of a killed bench that were ended
 */
export function takeGpu(
  name: string,
  env: EnvironmentVariables,
  onNote: (text: string) => void,
  wait: LockWait,
): Promise<Lock> {
  const makeFolder = (): string => makeLockFolder(env);
  const path = join(makeFolder(), `gpu-${name.replace(/[^\w-]/g, '_')}.lock`);
  return acquire(path, wait, { isShared: true, makeFolder, endLeft: () => endOrphans(onNote) });
}

/** Name from host and number, because other machines may share the lock folder. `number` is null if not stated. */
export function unnamedGpu(number: number | null, env: EnvironmentVariables): string {
  // Slurm may show each task its GPU as number 0. These variables hold the numbers on the node.
  const slurm = env['SLURM_STEP_GPUS'] || env['SLURM_JOB_GPUS'];
  return `device-${number ?? (slurm || env['CUDA_VISIBLE_DEVICES'] || 0)}-of-${identityOf(process.pid).bootId ?? hostname()}`;
}
