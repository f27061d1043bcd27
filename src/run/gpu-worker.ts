import { availableParallelism } from 'node:os';
import { basename } from 'node:path';

import { artefactsFolderOf } from '../files/layout.ts';
import type { Io } from '../cli/io.ts';
import type { EngineCache } from '../engines/engine-cache.ts';
import { EnvironmentLackingError, UsageError } from '../errors.ts';
import { coolDown } from '../machine/cool-down.ts';
import { lockedSpawn, takeGpu, unnamedGpu } from '../machine/gpu-lock.ts';
import { LoadedLibrary } from '../machine/host-facts.ts';
import { type Machine, machineOf, machinesOf } from '../machine/machine.ts';
import { boundTo, type CoolDown, type NumaPolicy } from '../machine/requests.ts';
import { assignGpus } from '../matrix/plan/assign-gpus.ts';
import { ask } from '../process/ask.ts';
import type { EnvironmentVariables } from '../process/environment-variables.ts';
import { type LockWait, holderText, makeLockFolder } from '../process/lock.ts';
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

type WorkerSettings = Pick<StoredPlan, 'coolDown' | 'numa' | 'telemetry'>;

/** Decides how processes on one GPU are started and monitored. Recordings use no GPU. */
async function openGpuWorker(
  machine: Machine,
  program: TrtexecProgram,
  settings: WorkerSettings,
  { runs }: Plan,
  io: Io,
  onNote: (note: string) => void,
): Promise<Pick<SweepContext, 'environment' | 'gpu' | 'library' | 'program' | 'spawn' | 'watch'>> {
  const { device, environment } = machine;
  if (program.recordings !== null) {
    const nothing = { gpu: null, library: null, watch: null };
    return { ...nothing, environment, program, spawn: io.spawn };
  }
  const binding = await bindToNode(settings.numa, environment.numaNode ?? null, io.env);
  if (binding.note !== null) onNote(binding.note);
  const env = machine.isChosen && device !== null ? { ...program.env, CUDA_VISIBLE_DEVICES: device.uuid } : program.env;
  return {
    environment,
    gpu: device === null ? null : { label: deviceLabel(device), uuid: device.uuid },
    library: new LoadedLibrary(),
    watch: settings.telemetry ? watchOf(machine, mostGpus(runs), { ...program, env }, io, onNote) : null,
    program: { ...program, env, wrapper: binding.prefix },
    spawn: spawnOn(machine, settings.coolDown, io, onNote),
  };
}

function watchOf(
  { device, hasSmi, pool }: Machine,
  gpus: number,
  { env, file }: TrtexecProgram,
  { now, signal }: Io,
  onNote: (note: string) => void,
): RunWatch {
  const isWhole = device === null || device.uuid === device.boardUuid;
  // Processes on other MIG partitions are irrelevant.
  const boards = gpusTogether(gpus, device, pool)?.map(({ boardUuid }) => boardUuid);
  // nvidia-smi accepts a comma-separated list.
  const ofWhole = { gpuUuid: boards?.join(',') ?? null, asksForProcesses: isWhole };
  return new RunWatch({ env, ...ofWhole, hasSmi, program: basename(file), signal, onNote, now });
}

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
  return (invocation, signal, onStart) => {
    const { env, gpus = 1, isTimed } = invocation;
    const together = gpusTogether(gpus, device, pool)?.map(({ uuid }) => uuid);
    const numbers = gpus === 1 ? [null] : Array.from({ length: gpus }, (_, gpu) => gpu);
    const names = together ?? numbers.map((number) => unnamedGpu(number, io.env));
    // All locks are taken in the same order, so that no two processes wait for each other.
    const take = names
      .toSorted()
      .map((name) => (until: AbortSignal) => takeGpu(name, io.env, onNote, { signal: until, onWait }));
    const settle = async (): Promise<void> => {
      if (request !== null && isTimed) await coolDown(request, { temperatureC, onNote }, signal);
    };
    const seen = gpus === 1 || together === undefined ? env : { ...env, CUDA_VISIBLE_DEVICES: names.join(',') };
    return lockedSpawn(spawnWithNeighbor(io.spawn), take, settle)({ ...invocation, env: seen }, signal, onStart);
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

interface OpenedSweep {
  readonly sweep: Sweep;
  readonly plan: Plan;
  readonly program: TrtexecProgram;
  readonly converter: ConverterPython | null;
  readonly machines: readonly [Machine, ...Machine[]];
  readonly settings: WorkerSettings;
  readonly cache: EngineCache;
}

/**
 * The workers of a sweep that writes to this store, one per GPU, without runs beyond its plan.
 * @param onEvent receives the name of the GPU if there are several
 */
export async function openWorkers(
  store: OpenStore,
  { sweep, plan, program, converter, machines, settings, cache }: OpenedSweep,
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
    plan,
    againRuns: () => [],
    moreRuns: () => [],
    unfitRounds: null,
    suspects: null,
  };
  const workerOf = async (machine: Machine): Promise<SweepContext> => {
    const label = machines.length === 1 || machine.device === null ? null : deviceLabel(machine.device);
    const take = (event: SweepEvent): void => onEvent(event, label);
    const onNote = (text: string): void => take({ kind: 'note', text });
    const worker = await openGpuWorker(machine, program, settings, plan, io, onNote);
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
 * One machine for each GPU.
 * @param gpus value of `--gpus`; null for the first visible one
 */
export async function machinesFor(
  program: TrtexecProgram,
  gpus: string | null,
  io: Io,
): Promise<[Machine, ...Machine[]]> {
  if (gpus === null) return [await machineOf(program, io)];
  if (program.recordings !== null) {
    throw new UsageError('--gpus and recordings cannot be used together: no GPU will run');
  }
  return machinesOf(gpus, io);
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
 * The prefix of a command line, empty if nothing is bound, and a note for the user.
 * @param gpuNode node of the GPU; null if there is only one
 */
export async function bindToNode(policy: NumaPolicy, gpuNode: number | null, env: EnvironmentVariables) {
  const node = policy === 'auto' ? gpuNode : policy === 'off' ? null : policy;
  if (node === null) return { prefix: [], note: null };
  const answer = await ask('numactl', ['--hardware'], { env, timeoutMs: ANSWER_MS });
  if (answer.kind !== 'answered' || !new RegExp(`^node ${node} cpus:`, 'm').test(answer.text)) {
    const why =
      answer.kind === 'answered' ? `NUMA node ${node} does not exist` : 'numactl is missing or does not answer';
    return { prefix: [], note: `${why}: runs are not bound to a NUMA node` };
  }
  const other = gpuNode !== null && gpuNode !== node;
  return {
    prefix: boundTo(node),
    note: other ? `runs are bound to NUMA node ${node}, their GPU hangs on node ${gpuNode}` : null,
  };
}
