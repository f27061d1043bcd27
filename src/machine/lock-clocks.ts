import type { ClockRequest } from './requests.ts';
import { EnvironmentLackingError } from '../errors.ts';
import type { Plan } from '../records/plan.ts';
import { printable } from '../text/printable.ts';
import { firstVisibleGpu } from '../tools/nvidia-smi/gpu-environment.ts';
import { type ClockLock, type LockableGpu, lockClocks } from './clock-lock.ts';
import type { TrtexecProgram } from '../trtexec/program/find-trtexec.ts';
import type { Io } from '../cli/io.ts';
import { numberOfDevice } from '../run/gpu-worker.ts';
import type { Machine } from './machine.ts';
import { readReport } from '../tools/nvidia-smi/nvidia-smi.ts';

type Machines = readonly [Machine, ...Machine[]];

export interface WantedLock {
  /** Null if not requested. */
  readonly request: ClockRequest | null;
  /** False for one of many runs, which only reports problems. */
  readonly isVerbose: boolean;
}

/** Runs `work` with locked clocks, and always releases them. `work` receives the machines with their clock policy. */
export async function withLockedClocks<Result>(
  { request, isVerbose }: WantedLock,
  machines: Machines,
  plan: Plan,
  program: TrtexecProgram,
  io: Io,
  work: (machines: Machines) => Promise<Result>,
): Promise<Result> {
  if (request === null || program.recordings !== null) return work(machines);
  const gpus = chosenGpus(machines) ?? (await gpusOf(plan, io));
  const locks: ClockLock[] = [];
  const warn = (line: string): void => io.err(`${line}\n`);
  const around = { env: io.env, now: io.now, warn, say: isVerbose ? warn : () => {} };
  try {
    for (const gpu of gpus) {
      io.signal.throwIfAborted();
      locks.push(lockClocks(gpu, request, around));
    }
    const clockPolicy = [...new Set(locks.map(({ policy }) => policy))].join(', ');
    const withPolicy = (machine: Machine): Machine => ({
      ...machine,
      environment: { ...machine.environment, clockPolicy },
    });
    const [first, ...others] = machines;
    return await work([withPolicy(first), ...others.map(withPolicy)]);
  } finally {
    for (const lock of locks) lock.release();
  }
}

/** Null if no GPUs were named. */
function chosenGpus(machines: Machines): LockableGpu[] | null {
  return machines[0].isChosen
    ? machines.flatMap(({ device }) => (device === null ? [] : [{ gpuUuid: device.uuid, gpuName: device.name }]))
    : null;
}

async function gpusOf(plan: Plan, io: Io): Promise<LockableGpu[]> {
  const report = await readReport(io.env);
  if (typeof report === 'string') {
    throw new EnvironmentLackingError(`clocks cannot be locked: nvidia-smi gave no answer (${printable(report)})`);
  }
  const devices = new Set([...plan.builds, ...plan.runs].map(({ args }) => numberOfDevice(args) ?? 0));
  const found = [...devices].map((device) => {
    const listed = io.env['CUDA_VISIBLE_DEVICES']?.split(',');
    const visible = listed === undefined ? String(device) : listed[device];
    const gpu =
      visible === undefined ? null : firstVisibleGpu(report.gpus, { ...io.env, CUDA_VISIBLE_DEVICES: visible });
    if (gpu === null || gpu.uuid === null) {
      throw new EnvironmentLackingError(
        `clocks cannot be locked: it is not certain which GPU is device ${device}; name it by its UUID in CUDA_VISIBLE_DEVICES`,
      );
    }
    return { gpuUuid: gpu.uuid, gpuName: gpu.name ?? 'GPU' };
  });
  return [...new Map(found.map((gpu) => [gpu.gpuUuid, gpu])).values()];
}
