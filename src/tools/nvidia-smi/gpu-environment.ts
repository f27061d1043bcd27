import type { Environment } from '../../records/environment.ts';
import type { GpuReport, GpuState } from './gpu-report.ts';

/**
 * The GPU that a process will see first; null when nothing says which. Without `CUDA_DEVICE_ORDER=PCI_BUS_ID` CUDA counts
 * the fastest first, and nvidia-smi by the bus: a number tells only GPUs of the same kind apart.
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

/** What a report says of the machine, and of the GPU that is used: null where that is not known. */
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
 * nvidia-smi tells nobody that clocks were locked with `-lgc`. It does tell of applications clocks that were set; and
 * an idle GPU whose clock has fallen to the lowest that it has is not held anywhere. Null when neither is to be seen.
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
