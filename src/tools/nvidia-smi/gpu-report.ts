import { XMLParser } from 'fast-xml-parser';
import * as z from 'zod';

import type { Immutable } from '../../records/scalars.ts';
import type { ClockReason, OtherProcess } from '../../records/telemetry.ts';
import { isRecord, type UnknownRecord } from '../../text/unknown-values.ts';
import { ExportFormatError, errorText } from '../../errors.ts';
import { numberOrNull, reasonsOfFields, switchOrNull, textOrNull } from './values.ts';

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

const LISTS: ReadonlySet<unknown> = new Set(['gpu', 'process_info', 'supported_mem_clock', 'supported_graphics_clock']);

const logSchema = z.object({
  nvidia_smi_log: z.object({
    driver_version: z.string().optional(),
    cuda_version: z.string().optional(),
    gpu: z.array(z.record(z.string(), z.unknown())).default([]),
  }),
});

/** @throws ExportFormatError for anything else, such as the error of an nvidia-smi without a driver */
export function parseGpuReport(xml: string) {
  const log = logSchema.safeParse(parsedXml(xml));
  if (!log.success) throw new ExportFormatError('no report of `nvidia-smi -q -x`');
  const { driver_version, cuda_version, gpu } = log.data.nvidia_smi_log;
  return {
    driver: textOrNull(driver_version),
    /** The newest CUDA version that the driver supports, not the version that a program uses. */
    cuda: textOrNull(cuda_version),
    /** In the order of nvidia-smi, by PCI bus. */
    gpus: gpu.map(gpuState),
  };
}

function parsedXml(xml: string): unknown {
  try {
    return parser.parse(xml);
  } catch (error) {
    const problem = errorText(error);
    throw new ExportFormatError(`no XML: ${problem}`, { cause: error });
  }
}

function gpuState(gpu: UnknownRecord, index: number) {
  const text = (...path: string[]): string | null => textOrNull(textAt(gpu, path));
  const number = (...path: string[]): number | null => numberOrNull(textAt(gpu, path));
  return {
    /** Index in the report, which is nvidia-smi's number if no GPU was left out. */
    index,
    name: text('product_name'),
    /** Such as `Hopper`; drivers before 510 do not report it. */
    architecture: text('product_architecture'),
    uuid: text('uuid'),
    /** In the form of nvidia-smi: `00000000:00:06.0`. */
    busId: text('pci', 'pci_bus_id') ?? text('@id'),
    vbios: text('vbios_version'),
    ecc: switchOrNull(text('ecc_mode', 'current_ecc')),
    mig: switchOrNull(text('mig_mode', 'current_mig')),
    persistence: switchOrNull(text('persistence_mode')),
    /** `Default`, `Exclusive_Process`, `Prohibited`. */
    computeMode: text('compute_mode'),
    /** Windows only. */
    driverModel: text('driver_model', 'current_dm'),
    clocks: {
      smMhz: number('clocks', 'sm_clock'),
      maxSmMhz: number('max_clocks', 'sm_clock'),
      applicationsSmMhz: number('applications_clocks', 'graphics_clock'),
      defaultApplicationsSmMhz: number('default_applications_clocks', 'graphics_clock'),
      supportedSmMhz: supportedClocks(gpu),
    },
    power: {
      limitW: powerLimit(number, 'current_power_limit', 'enforced_power_limit', 'power_limit'),
      defaultLimitW: powerLimit(number, 'default_power_limit'),
    },
    temperatureC: number('temperature', 'gpu_temp'),
    /**
     * Temperature of the hardware slowdown. Hopper reports only the distance to it, so this is a sum, accurate to a
     * degree.
     */
    slowdownTemperatureC: slowdownTemperature(number),
    /** The maximum applies to GPU and slot together. */
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

function supportedClocks(gpu: UnknownRecord): number[] {
  const clocks = childrenAt(gpu, ['supported_clocks', 'supported_mem_clock']).flatMap((memory) =>
    isRecord(memory) ? childrenAt(memory, ['supported_graphics_clock']) : [],
  );
  const values = clocks.flatMap((clock) => numberOrNull(typeof clock === 'string' ? clock : null) ?? []);
  return [...new Set(values)].toSorted((a, b) => b - a);
}

/** Driver 530 split the readings of GPU and module; 535 renamed the limits. */
function powerLimit(number: NumberAt, ...names: readonly string[]): number | null {
  const groups = ['gpu_power_readings', 'power_readings'];
  const limits = groups.flatMap((group) => names.map((name) => number(group, name)));
  return limits.find((limit) => limit !== null) ?? null;
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
