import { XMLParser } from 'fast-xml-parser';
import * as z from 'zod';

import type { ClockReason, OtherProcess } from '../../records/telemetry.ts';
import { isRecord, type UnknownRecord } from '../../text/unknown-values.ts';
import { ExportFormatError } from '../../errors.ts';
import { numberOrNull, reasonsOfFields, switchOrNull, textOrNull } from './values.ts';

/** What `nvidia-smi -q -x` said. Null everywhere: this driver or GPU does not say it. */
export interface GpuReport {
  readonly driver: string | null;
  /** The newest CUDA that the driver can do, not the one that a program uses. */
  readonly cuda: string | null;
  /** In nvidia-smi's order, by PCI bus. */
  readonly gpus: readonly GpuState[];
}

export interface GpuState {
  /** Place in the report: nvidia-smi's own number, when no GPU was left out. */
  readonly index: number;
  readonly name: string | null;
  readonly uuid: string | null;
  readonly serial: string | null;
  /** As nvidia-smi writes it: `00000000:00:06.0`. */
  readonly busId: string | null;
  readonly vbios: string | null;
  readonly ecc: 'on' | 'off' | null;
  readonly mig: 'on' | 'off' | null;
  readonly persistence: 'on' | 'off' | null;
  /** `Default`, `Exclusive_Process`, `Prohibited`. */
  readonly computeMode: string | null;
  /** Windows only. */
  readonly driverModel: string | null;
  readonly performanceState: string | null;
  readonly clocks: GpuClocks;
  readonly powerW: number | null;
  readonly power: PowerLimits;
  readonly temperatureC: number | null;
  /** Where the hardware slows down. Hopper tells only its distance: then the sum, within a degree. */
  readonly slowdownTemperatureC: number | null;
  readonly pcie: PcieLink;
  readonly gpuUtilisationPercent: number | null;
  readonly memoryTotalMib: number | null;
  readonly memoryUsedMib: number | null;
  readonly clockReasons: readonly ClockReason[] | null;
  readonly processes: readonly OtherProcess[];
}

export interface GpuClocks {
  readonly smMhz: number | null;
  readonly memoryMhz: number | null;
  readonly maxSmMhz: number | null;
  readonly maxMemoryMhz: number | null;
  /** What applications may ask for, and what it is when nobody has changed it. */
  readonly applicationsSmMhz: number | null;
  readonly defaultApplicationsSmMhz: number | null;
  /** Every graphics clock that can be locked, the highest first. */
  readonly supportedSmMhz: readonly number[];
}

export interface PowerLimits {
  readonly limitW: number | null;
  readonly defaultLimitW: number | null;
  readonly minLimitW: number | null;
  readonly maxLimitW: number | null;
}

/** The maximum is that of GPU and slot together. */
export interface PcieLink {
  readonly generation: number | null;
  readonly width: number | null;
  readonly maxGeneration: number | null;
  readonly maxWidth: number | null;
}

/** Every value stays text: `NVIDIA 1e3` is no number. The library bounds what entities can grow to. */
const parser = new XMLParser({
  ignoreAttributes: false,
  attributeNamePrefix: '@',
  parseTagValue: false,
  parseAttributeValue: false,
  processEntities: true,
  isArray: (name) => LISTS.has(name),
});

const LISTS: ReadonlySet<unknown> = new Set(['gpu', 'process_info', 'supported_mem_clock', 'supported_graphics_clock']);

const logSchema = z.object({
  nvidia_smi_log: z.object({
    driver_version: z.string().optional(),
    cuda_version: z.string().optional(),
    gpu: z.array(z.record(z.string(), z.unknown())).default([]),
  }),
});

/**
 * Reads `nvidia-smi -q -x` of any driver.
 * @throws ExportFormatError when it is something else, such as the line of an nvidia-smi that found no driver
 */
export function parseGpuReport(xml: string): GpuReport {
  const log = logSchema.safeParse(parsedXml(xml));
  if (!log.success) throw new ExportFormatError('no report of `nvidia-smi -q -x`');
  const { driver_version, cuda_version, gpu } = log.data.nvidia_smi_log;
  return { driver: textOrNull(driver_version), cuda: textOrNull(cuda_version), gpus: gpu.map(gpuState) };
}

function parsedXml(xml: string): unknown {
  try {
    return parser.parse(xml);
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    throw new ExportFormatError(`no XML: ${problem}`, { cause: error });
  }
}

function gpuState(gpu: UnknownRecord, index: number): GpuState {
  const text = (...path: string[]): string | null => textOrNull(textAt(gpu, path));
  const number = (...path: string[]): number | null => numberOrNull(textAt(gpu, path));
  return {
    index,
    name: text('product_name'),
    uuid: text('uuid'),
    serial: text('serial'),
    busId: text('pci', 'pci_bus_id') ?? text('@id'),
    vbios: text('vbios_version'),
    ecc: switchOrNull(text('ecc_mode', 'current_ecc')),
    mig: switchOrNull(text('mig_mode', 'current_mig')),
    persistence: switchOrNull(text('persistence_mode')),
    computeMode: text('compute_mode'),
    driverModel: text('driver_model', 'current_dm'),
    performanceState: text('performance_state'),
    clocks: clocksOf(gpu, number),
    ...powerOf(number),
    temperatureC: number('temperature', 'gpu_temp'),
    slowdownTemperatureC: slowdownTemperature(number),
    pcie: {
      generation: number(...LINK, 'pcie_gen', 'current_link_gen'),
      width: number(...LINK, 'link_widths', 'current_link_width'),
      maxGeneration: number(...LINK, 'pcie_gen', 'max_link_gen'),
      maxWidth: number(...LINK, 'link_widths', 'max_link_width'),
    },
    gpuUtilisationPercent: number('utilization', 'gpu_util'),
    memoryTotalMib: number('fb_memory_usage', 'total'),
    memoryUsedMib: number('fb_memory_usage', 'used'),
    clockReasons: reasonsIn(gpu['clocks_event_reasons']) ?? reasonsIn(gpu['clocks_throttle_reasons']),
    processes: processesOf(gpu),
  };
}

const LINK = ['pci', 'pci_gpu_link_info'] as const;

type NumberAt = (...path: string[]) => number | null;

function clocksOf(gpu: UnknownRecord, number: NumberAt): GpuClocks {
  return {
    smMhz: number('clocks', 'sm_clock'),
    memoryMhz: number('clocks', 'mem_clock'),
    maxSmMhz: number('max_clocks', 'sm_clock'),
    maxMemoryMhz: number('max_clocks', 'mem_clock'),
    applicationsSmMhz: number('applications_clocks', 'graphics_clock'),
    defaultApplicationsSmMhz: number('default_applications_clocks', 'graphics_clock'),
    supportedSmMhz: supportedClocks(gpu),
  };
}

function supportedClocks(gpu: UnknownRecord): number[] {
  const clocks = childrenAt(gpu, ['supported_clocks', 'supported_mem_clock']).flatMap((memory) =>
    isRecord(memory) ? childrenAt(memory, ['supported_graphics_clock']) : [],
  );
  const values = clocks.flatMap((clock) => numberOrNull(typeof clock === 'string' ? clock : null) ?? []);
  return [...new Set(values)].toSorted((a, b) => b - a);
}

/** Driver 530 split the readings of the GPU from those of the module; 535 renamed the limits. */
function powerOf(number: NumberAt): Pick<GpuState, 'powerW' | 'power'> {
  const first = (...names: string[]): number | null => {
    for (const group of ['gpu_power_readings', 'power_readings']) {
      for (const name of names) {
        const value = number(group, name);
        if (value !== null) return value;
      }
    }
    return null;
  };
  return {
    powerW: first('average_power_draw', 'power_draw', 'instant_power_draw'),
    power: {
      limitW: first('current_power_limit', 'enforced_power_limit', 'power_limit'),
      defaultLimitW: first('default_power_limit'),
      minLimitW: first('min_power_limit'),
      maxLimitW: first('max_power_limit'),
    },
  };
}

function slowdownTemperature(number: NumberAt): number | null {
  const stated = number('temperature', 'gpu_temp_slow_threshold');
  if (stated !== null) return stated;
  const now = number('temperature', 'gpu_temp');
  const left = number('temperature', 'gpu_temp_tlimit');
  const atSlowdown = number('temperature', 'gpu_temp_slow_tlimit_threshold');
  return now === null || left === null || atSlowdown === null ? null : now + left - atSlowdown;
}

function reasonsIn(group: unknown): ClockReason[] | null {
  if (!isRecord(group)) return null;
  return reasonsOfFields(
    Object.entries(group).map(([field, value]) => [field, typeof value === 'string' ? value : '']),
  );
}

function processesOf(gpu: UnknownRecord): OtherProcess[] {
  return childrenAt(gpu, ['processes', 'process_info']).flatMap((info) => {
    if (!isRecord(info)) return [];
    const pid = numberOrNull(textAt(info, ['pid']));
    if (pid === null) return [];
    return {
      pid,
      name: textOrNull(textAt(info, ['process_name'])) ?? '',
      memoryMib: numberOrNull(textAt(info, ['used_memory'])),
    };
  });
}

function textAt(parent: UnknownRecord, path: readonly string[]): string | null {
  const value = valueAt(parent, path);
  return typeof value === 'string' ? value : null;
}

function childrenAt(parent: UnknownRecord, path: readonly string[]): readonly unknown[] {
  const value = valueAt(parent, path);
  return Array.isArray(value) ? value : [];
}

function valueAt(parent: UnknownRecord, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (value, name) => (isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined),
    parent,
  );
}
