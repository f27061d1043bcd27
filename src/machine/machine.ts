import type { Environment } from '../records/environment.ts';
import { EnvironmentLackingError, UsageError } from '../errors.ts';
import { printable } from '../text/printable.ts';
import {
  type GpuDevice,
  type GpuReport,
  deviceLabel,
  devicesNamed,
  devicesOfReport,
  environmentOf,
  firstVisibleGpu,
  parseDeviceList,
  visibleDevices,
} from '../tools/nvidia-smi/gpu-report.ts';
import { askForDevices, readReport } from '../tools/nvidia-smi/nvidia-smi.ts';
import { hostFacts, numaNodeOf } from './host-facts.ts';
import type { TrtexecProgram } from '../trtexec/program/find-trtexec.ts';
import type { EnvironmentVariables } from '../process/environment-variables.ts';

export interface Machine {
  readonly environment: Partial<Environment>;
  /** What is missing, in words for the user; null if nothing is. */
  readonly note: string | null;
  /** False if runs cannot be monitored. */
  readonly hasSmi: boolean;
  /** The device of its processes; null if unknown, and for recordings. */
  readonly device: GpuDevice | null;
  /** All devices that runs with several GPUs may use: the visible ones, or those that the user named. */
  readonly pool: readonly GpuDevice[];
  /** True if the user requested the device; its processes see no other. */
  readonly isChosen: boolean;
}

type MachineIo = Readonly<Record<'env', EnvironmentVariables>>;

/**
 * The machine of each GPU, with facts known before anything runs. Recordings contain those of their own machine.
 * @param requested value of `--gpus`: `all`, or comma-separated numbers of nvidia-smi and UUIDs; null for the first
 * visible one
 */
export async function machinesFor(
  program: TrtexecProgram,
  requested: string | null,
  io: MachineIo,
): Promise<[Machine, ...Machine[]]> {
  const nothing = { device: null, pool: [], isChosen: false, hasSmi: false };
  if (program.recordings !== null) {
    if (requested === null) return [{ ...nothing, environment: program.recordings.environment, note: null }];
    throw new UsageError('--gpus and recordings cannot be used together: no GPU will run');
  }
  const report = await readReport(io.env);
  if (typeof report === 'string') {
    const problem = `nvidia-smi gave no answer (${printable(report)})`;
    if (requested !== null) throw new EnvironmentLackingError(`--gpus: ${problem}`);
    const note = `${problem}: bench knows only the driver and GPU that the logs name`;
    return [{ ...nothing, environment: hostFacts(io.env), note }];
  }
  const visible = visibleDevices(await devicesOf(report, io), io.env['CUDA_VISIBLE_DEVICES']);
  if (requested === null) {
    const [first] = visible;
    const isDivided = first !== undefined && first.uuid !== first.boardUuid;
    const uuid = firstVisibleGpu(report.gpus, io.env)?.uuid ?? null;
    const device = isDivided ? first : (visible.find((each) => each.uuid === uuid) ?? null);
    return [machineWith(report, device, { pool: visible, isChosen: false }, io)];
  }
  const chosen = requested === 'all' ? visible : requested.split(',').flatMap((name) => named(visible, name.trim()));
  const pool = [...new Map(chosen.map((device) => [device.uuid, device])).values()];
  const [first, ...others] = pool.map((device) => machineWith(report, device, { pool, isChosen: true }, io));
  if (first === undefined) throw new EnvironmentLackingError('--gpus: no GPU is visible here');
  return [first, ...others];
}

function named(all: readonly GpuDevice[], name: string): GpuDevice[] {
  const found = devicesNamed(all, name);
  if (found.length > 0) return found;
  const known = all.map((device) => `${deviceLabel(device)} (${device.uuid})`).join(', ');
  throw new UsageError(`--gpus ${printable(name)}: GPU not found; there is ${known || 'none'}`);
}

function machineWith(
  report: GpuReport,
  device: GpuDevice | null,
  rest: Pick<Machine, 'pool' | 'isChosen'>,
  io: MachineIo,
): Machine {
  const gpu = report.gpus.find(({ uuid }) => uuid === device?.boardUuid) ?? null;
  const isDivided = device !== null && device.uuid !== device.boardUuid;
  const environment = {
    ...hostFacts(io.env),
    ...environmentOf(report, gpu),
    // A MIG partition has only part of the memory of the GPU.
    ...(isDivided ? { gpuName: device.name, gpuUuid: device.uuid, gpuMemoryMib: null } : {}),
    numaNode: numaNodeOf(gpu?.busId ?? null),
  };
  return { ...rest, environment, device, note: null, hasSmi: true };
}

/** Only the list contains MIG devices, and it is queried only if there may be some. */
async function devicesOf(report: GpuReport, { env }: MachineIo): Promise<GpuDevice[]> {
  const isDivided = report.gpus.some(({ mig }) => mig === 'on');
  const answer = isDivided ? await askForDevices(env) : null;
  const listed = answer?.kind === 'answered' ? parseDeviceList(answer.text) : [];
  return listed.length > 0 ? listed : devicesOfReport(report);
}
