import type { GpuFacts, GpusFacts, MachineFacts } from '../../machine/machine-facts.ts';
import type { ClockReason } from '../../records/telemetry.ts';
import { checksOf, type Judged, noAnswer } from './checks.ts';
import type { DoctorCheck } from './output.ts';

/**
 * The oldest driver for each CUDA major, on Linux: NVIDIA, CUDA Compatibility, "Minor Version Compatibility", table 1.
 */
const OLDEST_DRIVER: Readonly<Record<number, number>> = { 11: 450, 12: 525, 13: 580 };

export function driverChecks({ gpus, builtForCuda, host, isReplay }: MachineFacts): DoctorCheck[] {
  const essential = !isReplay && !host.isJetson;
  const driver = gpus.kind === 'none' ? null : driverOf(gpus, builtForCuda);
  return checksOf('GPU', 'gpu', [
    ['visible', 'visible', { ...visible(gpus, essential ? 'failed' : 'absent'), essential }],
    ['driver', 'driver', driver === null ? null : { ...driver, essential: essential && builtForCuda !== null }],
  ]);
}

function visible(gpus: GpusFacts, lacking: DoctorCheck['state']): Judged {
  if (gpus.kind === 'none') {
    const mends = {
      missing: '# install the NVIDIA driver; in a container: docker run --gpus all …',
      silent: 'nvidia-smi   # a driver that hangs wants a reboot; dmesg | grep -i nvrm says why',
      refused: 'nvidia-smi   # is the driver of this kernel loaded? sudo modprobe nvidia',
    };
    return { state: lacking, evidence: `nvidia-smi: ${noAnswer(gpus.answer)}`, mend: mends[gpus.answer.kind] };
  }
  const { hidden } = gpus;
  if (gpus.gpus.length > 0) {
    const names = gpus.gpus.map(({ index, name, uuid }) => `${index}: ${name ?? 'GPU'} ${uuid ?? ''}`);
    const others = hidden === 0 ? '' : ` (${hidden} more hidden by CUDA_VISIBLE_DEVICES)`;
    return { state: 'ok', evidence: `${names.join(', ').trim()}${others}` };
  }
  return hidden > 0
    ? { state: lacking, evidence: `CUDA_VISIBLE_DEVICES hides all ${hidden}`, mend: 'unset CUDA_VISIBLE_DEVICES' }
    : {
        state: lacking,
        evidence: 'nvidia-smi lists no GPU',
        mend: 'lspci | grep -i nvidia   # in a container: docker run --gpus all …',
      };
}

function driverOf(
  { cuda, driver }: Extract<GpusFacts, { kind: 'report' }>,
  builtForCuda: number | null,
): Judged | null {
  if (driver === null) return null;
  const does = `${driver}${cuda === null ? '' : `, CUDA up to ${cuda}`}`;
  if (builtForCuda === null) {
    return { state: 'ok', evidence: `${does}; which CUDA this TensorRT was built for is not known` };
  }
  const evidence = `${does}; TensorRT was built for CUDA ${builtForCuda}`;
  const oldest = OLDEST_DRIVER[builtForCuda];
  if (oldest === undefined || Number(driver.split('.')[0]) >= oldest) return { state: 'ok', evidence };
  return {
    state: 'failed',
    evidence: `${evidence}, which needs ${oldest} or newer`,
    mend: `# install an NVIDIA driver of ${oldest} or newer, or a TensorRT for an older CUDA`,
  };
}

/** More load than this while nothing is measured is other work. */
const IDLE_PERCENT = 5;
/** Below this, memory is the driver's or a desktop's. */
const IDLE_MIB = 500;
const NEAR_SLOWDOWN_C = 5;

export function gpuChecks({ gpus, host, isReplay }: MachineFacts): DoctorCheck[] {
  if (gpus.kind === 'none') return [];
  return gpus.gpus.flatMap((gpu) =>
    checksOf(`GPU ${gpu.index}`, `gpu${gpu.index}`, [
      ['idle', 'idle', idle(gpu)],
      ['computeMode', 'exclusive', computeMode(gpu, !isReplay)],
      ['persistence', 'persistence', persistence(gpu, host.platform)],
      ['clocks', 'clocks', clocks(gpu)],
      ['slowdown', 'slowdown', slowdown(gpu)],
      ['temperature', 'temperature', temperature(gpu)],
      ['power', 'power limit', powerLimit(gpu)],
      ['ecc', 'ECC', gpu.ecc === null ? null : { state: 'ok', evidence: gpu.ecc }],
      ['mig', 'MIG', mig(gpu)],
      ['pcie', 'PCIe', pcie(gpu)],
      ['driverModel', 'driver model', driverModel(gpu)],
    ]),
  );
}

function smi({ uuid, index }: GpuFacts, what: string): string {
  return `sudo nvidia-smi -i ${uuid ?? index} ${what}`;
}

const LONGEST_NAME = 60;

function isBusy({ gpuUtilisationPercent }: GpuFacts): boolean {
  return (gpuUtilisationPercent ?? 0) >= IDLE_PERCENT;
}

function idle(gpu: GpuFacts): Judged {
  const used = `${gpu.gpuUtilisationPercent ?? '?'} % used, ${gpu.memoryUsedMib ?? '?'} MiB`;
  if (gpu.processes.length > 0) {
    const names = gpu.processes.map(({ pid, name, memoryMib }) => {
      const memory = memoryMib === null ? '' : `, ${memoryMib} MiB`;
      return `${(name || 'process').slice(0, LONGEST_NAME)} (${pid}${memory})`;
    });
    return {
      state: isBusy(gpu) ? 'warning' : 'advice',
      evidence: `${used}: ${names.join(', ')}`,
      mend: '# end these processes, or choose another GPU with CUDA_VISIBLE_DEVICES',
    };
  }
  if (isBusy(gpu) || (gpu.memoryUsedMib ?? 0) > IDLE_MIB) {
    return {
      state: 'warning',
      evidence: `${used}, by something that cannot be seen from here`,
      mend: 'nvidia-smi   # on the host: another container may be at work',
    };
  }
  const isKnown = gpu.gpuUtilisationPercent !== null || gpu.memoryUsedMib !== null;
  return isKnown
    ? { state: 'ok', evidence: used }
    : { state: 'advice', evidence: 'not known: this driver or GPU does not tell its load', mend: null };
}

function computeMode(gpu: GpuFacts, essential: boolean): Judged | null {
  const { computeMode: mode } = gpu;
  if (mode === null) return null;
  if (/prohibited/i.test(mode)) {
    return { state: 'failed', evidence: mode, mend: smi(gpu, '-c DEFAULT'), essential };
  }
  if (/exclusive/i.test(mode)) return { state: 'ok', evidence: mode };
  return {
    state: 'advice',
    evidence: `${mode}: any other process may use it while bench measures`,
    mend: smi(gpu, '-c EXCLUSIVE_PROCESS'),
  };
}

function persistence(gpu: GpuFacts, platform: string): Judged | null {
  if (gpu.persistence === null || platform === 'win32') return null;
  if (gpu.persistence === 'on') return { state: 'ok', evidence: 'on' };
  return {
    state: 'warning',
    evidence: 'off: each process waits for the driver, and locked clocks are forgotten between processes',
    mend: smi(gpu, '-pm 1'),
  };
}

function clocks(gpu: GpuFacts): Judged | null {
  const { smMhz, maxSmMhz } = gpu.clocks;
  if (smMhz === null) return null;
  const now = `SM ${smMhz} of ${maxSmMhz ?? '?'} MHz now`;
  if (gpu.clockLock !== null) return { state: 'ok', evidence: `${now}; ${gpu.clockLock}` };
  return {
    state: 'advice',
    evidence: `${now}; not locked by bench: times follow heat and power`,
    mend: 'sudo bench run MATRIX --lock-clocks base   # released at the end, whatever becomes of it',
  };
}

const SLOWED: Readonly<Partial<Record<ClockReason, readonly [DoctorCheck['state'], string]>>> = {
  hwSlowdown: ['warning', 'hardware slowdown'],
  hwThermalSlowdown: ['warning', 'hardware thermal slowdown'],
  swThermalSlowdown: ['warning', 'thermal slowdown'],
  hwPowerBrake: ['warning', 'power brake'],
  swPowerCap: ['advice', 'power cap'],
  syncBoost: ['advice', 'sync boost with other GPUs'],
};

function slowdown({ clockReasons }: GpuFacts): Judged | null {
  if (clockReasons === null) return null;
  const active = clockReasons.flatMap((reason) => {
    const slowed = SLOWED[reason];
    return slowed === undefined ? [] : [slowed];
  });
  if (active.length === 0) return { state: 'ok', evidence: 'none' };
  return {
    state: active.some(([state]) => state === 'warning') ? 'warning' : 'advice',
    evidence: active.map(([, words]) => words).join(', '),
    mend: 'nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER   # cooling, power supply, other work?',
  };
}

function temperature({ temperatureC, slowdownTemperatureC }: GpuFacts): Judged | null {
  if (temperatureC === null) return null;
  if (slowdownTemperatureC === null) return { state: 'ok', evidence: `${temperatureC} °C` };
  const evidence = `${temperatureC} °C, slows down at ${slowdownTemperatureC} °C`;
  return temperatureC > slowdownTemperatureC - NEAR_SLOWDOWN_C
    ? { state: 'warning', evidence, mend: '# let it cool down, and look at the cooling' }
    : { state: 'ok', evidence };
}

function powerLimit(gpu: GpuFacts): Judged | null {
  const { limitW, defaultLimitW } = gpu.power;
  if (limitW === null) return null;
  if (defaultLimitW === null || limitW >= defaultLimitW) {
    return { state: 'ok', evidence: `${limitW} W` };
  }
  return {
    state: 'advice',
    evidence: `${limitW} W, lower than its default of ${defaultLimitW} W`,
    mend: smi(gpu, `-pl ${defaultLimitW}`),
  };
}

function mig(gpu: GpuFacts): Judged | null {
  if (gpu.mig === null) return null;
  if (gpu.mig === 'off') return { state: 'ok', evidence: 'off' };
  return {
    state: 'warning',
    evidence: 'on: what is measured is a slice, shared with whatever runs in the others',
    mend: smi(gpu, '-mig 0'),
  };
}

function pcie(gpu: GpuFacts): Judged | null {
  const { generation, width, maxGeneration, maxWidth } = gpu.pcie;
  if (generation === null || width === null) return null;
  const now = `generation ${generation} x${width}`;
  const isLower = (maxGeneration !== null && generation < maxGeneration) || (maxWidth !== null && width < maxWidth);
  if (!isLower) return { state: 'ok', evidence: now };
  const evidence = `${now} of ${maxGeneration ?? '?'} x${maxWidth ?? '?'}`;
  const look = 'nvidia-smi -q -d PCI   # while something runs: is the card in its full slot?';
  return isBusy(gpu) || (maxWidth !== null && width < maxWidth)
    ? { state: 'warning', evidence, mend: look }
    : { state: 'advice', evidence: `${evidence}; an idle link lowers itself`, mend: look };
}

function driverModel(gpu: GpuFacts): Judged | null {
  if (gpu.driverModel === null) return null;
  if (!/wddm/i.test(gpu.driverModel)) return { state: 'ok', evidence: gpu.driverModel };
  return {
    state: 'warning',
    evidence: 'WDDM: Windows queues the work of the GPU, which adds time and noise',
    mend: `nvidia-smi -i ${gpu.uuid ?? gpu.index} -dm 1   # TCC; as administrator, not on every card`,
  };
}
