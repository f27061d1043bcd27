import type { DoctorCheck } from './output.ts';
import type { GpuFacts, MachineFacts } from '../../machine/machine-facts.ts';
import type { ClockReason } from '../../records/telemetry.ts';
import { check } from './answer.ts';

/** More than this while nothing is measured is somebody else's work. */
const IDLE_PERCENT = 5;
/** Less memory than this is the driver's own, or a desktop's. */
const IDLE_MIB = 500;
const NEAR_SLOWDOWN_C = 5;

type Judged = Pick<DoctorCheck, 'state' | 'evidence'> & Partial<Pick<DoctorCheck, 'mend' | 'essential'>>;

/** Everything about one GPU that decides what its numbers are worth. */
export function gpuChecks({ gpus, host, isReplay }: MachineFacts): DoctorCheck[] {
  if (gpus.kind === 'none') return [];
  return gpus.gpus.flatMap((gpu) => {
    const group = `GPU ${gpu.index}`;
    const one = (id: string, title: string, judged: Judged | null): DoctorCheck[] => {
      if (judged === null) return [];
      const { state, evidence, ...more } = judged;
      return [check(group, `gpu${gpu.index}.${id}`, title, state, evidence, more)];
    };
    return [
      ...one('idle', 'idle', idle(gpu)),
      ...one('computeMode', 'exclusive', computeMode(gpu, !isReplay)),
      ...one('persistence', 'persistence', persistence(gpu, host.platform)),
      ...one('clocks', 'clocks', clocks(gpu)),
      ...one('slowdown', 'slowdown', slowdown(gpu)),
      ...one('temperature', 'temperature', temperature(gpu)),
      ...one('power', 'power limit', powerLimit(gpu)),
      ...one('ecc', 'ECC', gpu.ecc === null ? null : { state: 'ok', evidence: gpu.ecc }),
      ...one('mig', 'MIG', mig(gpu)),
      ...one('pcie', 'PCIe', pcie(gpu)),
      ...one('driverModel', 'driver model', driverModel(gpu)),
    ];
  });
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
    evidence: 'on: what is measured is a slice, beside whatever runs in the others',
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
