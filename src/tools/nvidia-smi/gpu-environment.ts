import type { Environment } from '../../records/environment.ts';
import type { GpuReport, GpuState } from './gpu-report.ts';

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

/**
 * The clock policy as far as nvidia-smi shows it; null if unknown. It reports applications clocks, but not clocks
 * locked with `-lgc`. An idle GPU at its lowest clock is not locked.
 */
function clockPolicyOf({ clocks, clockReasons }: GpuState): string | null {
  const { applicationsSmMhz, defaultApplicationsSmMhz, smMhz, supportedSmMhz } = clocks;
  const isSet =
    applicationsSmMhz !== null && defaultApplicationsSmMhz !== null && applicationsSmMhz !== defaultApplicationsSmMhz;
  if (isSet) return `applications clock ${applicationsSmMhz} MHz`;
  const lowest = supportedSmMhz.at(-1);
  const hasFallen = smMhz !== null && lowest !== undefined && smMhz <= lowest;
  return hasFallen && clockReasons?.includes('gpuIdle') === true ? 'floating' : null;
}

const BEFORE_ADA = /^(?:Kepler|Maxwell|Pascal|Volta|Turing|Ampere)$/;
/** Names of GPUs with these architectures, for drivers that do not report the architecture. */
const NAMES_BEFORE_ADA =
  /\b(?:Tesla|Quadro|GTX|TITAN|RTX [23]0\d0|RTX A\d{4}|T4|[PV]100|A(?:2|10G?|16|30|40|100|800))\b/;

/** FP8 needs compute capability 8.9: Ada, Hopper or newer. */
export function lacksFp8({ architecture, name }: Pick<GpuState, 'architecture' | 'name'>): boolean {
  return BEFORE_ADA.test(architecture ?? '') || NAMES_BEFORE_ADA.test(name ?? '');
}
