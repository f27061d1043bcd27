import { XMLParser } from 'fast-xml-parser';
import * as z from 'zod';

import { ExportFormatError, orNull } from '../../errors.ts';
import type { Environment } from '../../records/environment.ts';
import type { Immutable } from '../../records/scalars.ts';
import type { OtherProcess } from '../../records/telemetry.ts';
import { type UnknownRecord, valueAt } from '../../text/unknown-values.ts';
import { numberOrNull, switchOrNull, textOrNull } from './values.ts';

/** Content of `nvidia-smi -q -x`. Null: not supported by this driver or GPU. */
export type GpuReport = Immutable<ReturnType<typeof parseGpuReport>>;
export type GpuState = GpuReport['gpus'][number];

/** Values stay text, because `NVIDIA 1e3` is not a number. The library limits entity expansion. */
const parser = new XMLParser({
  ignoreAttributes: false,
  attributeNamePrefix: '@',
  parseTagValue: false,
  parseAttributeValue: false,
  processEntities: true,
  isArray: (name) => LISTS.has(name),
});

const LISTS: ReadonlySet<unknown> = new Set(['gpu', 'process_info']);

const logSchema = z.object({
  nvidia_smi_log: z.object({
    driver_version: z.string().optional(),
    cuda_version: z.string().optional(),
    gpu: z.array(z.record(z.string(), z.unknown())).default([]),
  }),
});

/** @throws ExportFormatError for anything else, such as the error of an nvidia-smi without a driver */
export function parseGpuReport(xml: string) {
  const log = logSchema.safeParse(orNull(() => parser.parse(xml)));
  if (!log.success) throw new ExportFormatError('not a report of `nvidia-smi -q -x`');
  const { driver_version, cuda_version, gpu } = log.data.nvidia_smi_log;
  return {
    driver: textOrNull(driver_version),
    /** The newest CUDA version that the driver supports, not the version that a program uses. */
    cuda: textOrNull(cuda_version),
    /** In the order of nvidia-smi, by PCI bus. */
    gpus: gpu.map(gpuState),
  };
}

function gpuState(gpu: UnknownRecord, index: number) {
  const text = (path: string): string | null => textAt(gpu, path);
  const number: NumberAt = (path) => numberOrNull(textAt(gpu, path));
  return {
    /** Index in the report, which is nvidia-smi's number if no GPU was left out. */
    index,
    name: text('product_name'),
    /** Such as `Hopper`; drivers before 510 do not report it. */
    architecture: text('product_architecture'),
    uuid: text('uuid'),
    /** In the form of nvidia-smi: `00000000:00:06.0`. */
    busId: text('pci.pci_bus_id') ?? text('@id'),
    vbios: text('vbios_version'),
    ecc: switchOrNull(text('ecc_mode.current_ecc')),
    mig: switchOrNull(text('mig_mode.current_mig')),
    persistence: switchOrNull(text('persistence_mode')),
    /** `Default`, `Exclusive_Process`, `Prohibited`. */
    computeMode: text('compute_mode'),
    /** Windows only. */
    driverModel: text('driver_model.current_dm'),
    clocks: {
      smMhz: number('clocks.sm_clock'),
      maxSmMhz: number('max_clocks.sm_clock'),
      applicationsSmMhz: number('applications_clocks.graphics_clock'),
      defaultApplicationsSmMhz: number('default_applications_clocks.graphics_clock'),
    },
    power: {
      limitW: powerLimit(number, 'current_power_limit', 'enforced_power_limit', 'power_limit'),
      defaultLimitW: powerLimit(number, 'default_power_limit'),
    },
    temperatureC: number('temperature.gpu_temp'),
    /**
     * Temperature of the hardware slowdown. Hopper reports only the distance to it, so this is a sum, accurate to a
     * degree.
     */
    slowdownTemperatureC: slowdownTemperature(number),
    /** The maximum applies to GPU and slot together. */
    pcie: {
      generation: number(`${LINK}.pcie_gen.current_link_gen`),
      width: number(`${LINK}.link_widths.current_link_width`),
      maxGeneration: number(`${LINK}.pcie_gen.max_link_gen`),
      maxWidth: number(`${LINK}.link_widths.max_link_width`),
    },
    gpuUtilisationPercent: number('utilization.gpu_util'),
    memoryTotalMib: number('fb_memory_usage.total'),
    memoryUsedMib: number('fb_memory_usage.used'),
    processes: processesOf(gpu),
  };
}

const LINK = 'pci.pci_gpu_link_info';

type NumberAt = (path: string) => number | null;

/** Driver 530 split the readings of GPU and module; 535 renamed the limits. */
function powerLimit(number: NumberAt, ...names: readonly string[]): number | null {
  const paths = ['gpu_power_readings', 'power_readings'].flatMap((group) => names.map((name) => `${group}.${name}`));
  return paths.map(number).find((limit) => limit !== null) ?? null;
}

function slowdownTemperature(number: NumberAt): number | null {
  const stated = number('temperature.gpu_temp_slow_threshold');
  if (stated !== null) return stated;
  const now = number('temperature.gpu_temp');
  const left = number('temperature.gpu_temp_tlimit');
  const atSlowdown = number('temperature.gpu_temp_slow_tlimit_threshold');
  return now === null || left === null || atSlowdown === null ? null : now + left - atSlowdown;
}

function processesOf(gpu: UnknownRecord): OtherProcess[] {
  const infos: unknown = valueAt(gpu, 'processes.process_info');
  const list: readonly unknown[] = Array.isArray(infos) ? infos : [];
  return list.flatMap((info) => {
    const pid = numberOrNull(textAt(info, 'pid'));
    if (pid === null) return [];
    return { pid, name: textAt(info, 'process_name') ?? '', memoryMib: numberOrNull(textAt(info, 'used_memory')) };
  });
}

function textAt(parent: unknown, path: string): string | null {
  const value = valueAt(parent, path);
  return typeof value === 'string' ? textOrNull(value) : null;
}

export interface GpuDevice {
  /** `GPU-…` or `MIG-…`. */
  readonly uuid: string;
  /** `NVIDIA H200`; for a MIG device with its profile: `NVIDIA H200 MIG 1g.18gb`. */
  readonly name: string;
  /** nvidia-smi's number of the GPU. */
  readonly index: number;
  /** The GPU of a MIG device; otherwise equal to `uuid`. */
  readonly boardUuid: string;
}

/** A short label: `GPU 2`, or `GPU 2 MIG-1a2b3c4d`. */
export function deviceLabel({ boardUuid, index, uuid }: GpuDevice): string {
  return uuid === boardUuid ? `GPU ${index}` : `GPU ${index} ${uuid.slice(0, 12)}`;
}

const GPU_LINE = /^GPU (\d+): (.+) \(UUID: (GPU-[\w-]+)\)/;
/** Matches `  MIG 1g.18gb     Device  0: (UUID: MIG-c7384736-…)`; before R470 the UUID was `MIG-GPU-…/7/0`. */
const MIG_LINE = /^\s+MIG (\S+)\s+Device\s+\d+: \(UUID: (MIG-[\w/-]+)\)/;

/**
 * Parses `nvidia-smi -L`. For a divided GPU it returns only the MIG devices, because CUDA programs can use nothing
 * else.
 */
export function parseDeviceList(text: string): GpuDevice[] {
  const devices: GpuDevice[] = [];
  let board: GpuDevice | null = null;
  for (const line of text.split('\n')) {
    const [, index, name, uuid] = GPU_LINE.exec(line) ?? [];
    if (index !== undefined && name !== undefined && uuid !== undefined) {
      board = { uuid, name, index: Number(index), boardUuid: uuid };
      devices.push(board);
      continue;
    }
    const [, profile, migUuid] = MIG_LINE.exec(line) ?? [];
    if (board === null || profile === undefined || migUuid === undefined) continue;
    if (devices.at(-1) === board) devices.pop();
    devices.push({ ...board, uuid: migUuid, name: `${board.name} MIG ${profile}` });
  }
  return devices;
}

export function devicesOfReport({ gpus }: GpuReport): GpuDevice[] {
  return gpus.flatMap(({ index, name, uuid }) =>
    uuid === null ? [] : [{ uuid, name: name ?? 'GPU', index, boardUuid: uuid }],
  );
}

/**
 * Devices that a process may use according to `CUDA_VISIBLE_DEVICES`; all if it is unset. Numbers are those of
 * nvidia-smi, as with `CUDA_DEVICE_ORDER=PCI_BUS_ID`. Like CUDA, it stops at the first invalid entry.
 */
export function visibleDevices(devices: readonly GpuDevice[], visible: string | undefined): GpuDevice[] {
  if (visible === undefined) return [...devices];
  const chosen: GpuDevice[] = [];
  for (const entry of visible.split(',').map((part) => part.trim())) {
    const found = devicesNamed(devices, entry);
    if (found.length === 0) break;
    chosen.push(...found);
  }
  return chosen;
}

/** Devices by number (all MIG devices of that GPU), or by UUID prefix; empty if none or more than one matches. */
export function devicesNamed(devices: readonly GpuDevice[], name: string): GpuDevice[] {
  if (/^\d+$/.test(name)) return devices.filter(({ index }) => index === Number(name));
  if (!/^(?:GPU|MIG)-./.test(name)) return [];
  const ofBoard = devices.filter(({ boardUuid }) => boardUuid === name);
  if (ofBoard.length > 0) return ofBoard;
  const found = devices.filter(({ uuid }) => uuid.startsWith(name));
  return found.length === 1 ? found : [];
}

/**
 * The first GPU that a process sees; null if unknown. Without `CUDA_DEVICE_ORDER=PCI_BUS_ID`, CUDA orders GPUs by speed
 * but nvidia-smi by bus, so that a number is reliable only among equal GPUs.
 */
export function firstVisibleGpu(
  gpus: readonly GpuState[],
  env: Readonly<Record<string, string | undefined>>,
): GpuState | null {
  const visible = env['CUDA_VISIBLE_DEVICES']?.split(',')[0]?.trim() ?? '0';
  if (visible.startsWith('GPU-')) {
    return gpus.find(({ uuid }) => uuid?.startsWith(visible) === true) ?? null;
  }
  if (!/^\d+$/.test(visible)) return null;
  const isOrdered = env['CUDA_DEVICE_ORDER'] === 'PCI_BUS_ID' || gpus.every(({ name }) => name === gpus[0]?.name);
  return isOrdered ? (gpus[Number(visible)] ?? null) : null;
}

export function environmentOf({ driver, cuda }: GpuReport, gpu: GpuState | null): Partial<Environment> {
  if (gpu === null) return { driver, cuda };
  const { maxGeneration, maxWidth } = gpu.pcie;
  return {
    driver,
    cuda,
    gpuName: gpu.name,
    gpuUuid: gpu.uuid,
    gpuMemoryMib: gpu.memoryTotalMib,
    clockPolicy: clockPolicyOf(gpu),
    maxSmClockMhz: gpu.clocks.maxSmMhz,
    powerLimitW: gpu.power.limitW,
    ecc: gpu.ecc,
    mig: gpu.mig,
    persistence: gpu.persistence,
    computeMode: gpu.computeMode,
    driverModel: gpu.driverModel,
    vbios: gpu.vbios,
    pcieMax: maxGeneration === null || maxWidth === null ? null : `${maxGeneration} x${maxWidth}`,
  };
}

/** A set applications clock; null for clocks locked with `-lgc`, which nvidia-smi does not show, and for floating ones. */
function clockPolicyOf({ clocks: { applicationsSmMhz, defaultApplicationsSmMhz } }: GpuState): string | null {
  const isSet = defaultApplicationsSmMhz !== null && applicationsSmMhz !== defaultApplicationsSmMhz;
  return isSet && applicationsSmMhz !== null ? `applications clock ${applicationsSmMhz} MHz` : null;
}

const BEFORE_ADA = /^(?:Kepler|Maxwell|Pascal|Volta|Turing|Ampere)$/;

/** FP8 needs compute capability 8.9: Ada, Hopper or newer. */
export function lacksFp8({ architecture }: Pick<GpuState, 'architecture'>): boolean {
  return BEFORE_ADA.test(architecture ?? '');
}
