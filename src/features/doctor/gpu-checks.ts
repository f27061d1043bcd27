import { problemOf } from '../../process/ask.ts';
import type { GpuFacts, GpusFacts, MachineFacts } from './gather.ts';
import type { DoctorCheck } from './output.ts';

type State = DoctorCheck['state'];

/** The result of a check, and how to fix it. */
export type Judged = readonly [state: State, evidence: string, mend?: string];

/** The ID of a check within its group, its title, and its result; null if there is nothing to say. */
export type CheckRow = readonly [id: string, title: string, judged: Judged | null, essential?: boolean];

export function checksOf(group: string, prefix: string, rows: readonly CheckRow[]): DoctorCheck[] {
  return rows.flatMap(([id, title, judged, essential = false]) => {
    if (judged === null) return [];
    const [state, evidence, mend = null] = judged;
    return [{ id: `${prefix}.${id}`, group, title, state, evidence, mend, essential }];
  });
}

/** A value that is fine unless it matches; null if it is not reported. */
export function fineUnless(pattern: RegExp, value: string | null, problem: Judged): Judged | null {
  if (value === null) return null;
  return pattern.test(value) ? problem : ['ok', value];
}

/**
 * The oldest driver for each CUDA major version on Linux. Source: NVIDIA, CUDA Compatibility, "Minor Version
 * Compatibility", table 1.
 */
const OLDEST_DRIVER: Readonly<Record<number, number>> = { 11: 450, 12: 525, 13: 580 };

export function driverChecks({ gpus, builtForCuda, host, isReplay }: MachineFacts): DoctorCheck[] {
  const essential = !isReplay && !host.isJetson;
  return checksOf('GPU', 'gpu', [
    ['visible', 'visible', visible(gpus, essential ? 'failed' : 'absent'), essential],
    ['driver', 'driver', driverOf(gpus, builtForCuda), essential && builtForCuda !== null],
  ]);
}

const NO_SMI = {
  missing: '# install the NVIDIA driver; in a container: docker run --gpus all …',
  silent: 'nvidia-smi   # reboot if the driver hangs; dmesg | grep -i nvrm says why',
  refused: 'nvidia-smi   # is the driver of this kernel loaded? sudo modprobe nvidia',
};

function visible(gpus: GpusFacts, lacking: State): Judged {
  if (gpus.kind === 'none') return [lacking, `nvidia-smi: ${problemOf(gpus.answer)}`, NO_SMI[gpus.answer.kind]];
  const { hidden } = gpus;
  if (gpus.gpus.length > 0) {
    const names = gpus.gpus.map(({ index, name, uuid }) => `${index}: ${name ?? 'GPU'} ${uuid ?? ''}`);
    const others = hidden === 0 ? '' : ` (${hidden} more hidden by CUDA_VISIBLE_DEVICES)`;
    return ['ok', `${names.join(', ').trim()}${others}`];
  }
  if (hidden > 0) return [lacking, `CUDA_VISIBLE_DEVICES hides all ${hidden}`, 'unset CUDA_VISIBLE_DEVICES'];
  const look = 'lspci | grep -i nvidia   # in a container: docker run --gpus all …';
  return [lacking, 'nvidia-smi lists no GPU', look];
}

function driverOf(gpus: GpusFacts, builtForCuda: number | null): Judged | null {
  if (gpus.kind === 'none' || gpus.driver === null) return null;
  const { cuda, driver } = gpus;
  const does = `${driver}${cuda === null ? '' : `, CUDA up to ${cuda}`}`;
  if (builtForCuda === null) return ['ok', `${does}; which CUDA this TensorRT was built for is not known`];
  const evidence = `${does}; TensorRT was built for CUDA ${builtForCuda}`;
  const oldest = OLDEST_DRIVER[builtForCuda];
  if (oldest === undefined || Number(driver.split('.')[0]) >= oldest) return ['ok', evidence];
  const mend = `# install an NVIDIA driver of ${oldest} or newer, or a TensorRT for an older CUDA`;
  return ['failed', `${evidence}, which needs ${oldest} or newer`, mend];
}

/** More load than this without a measurement is other work. */
const IDLE_PERCENT = 5;
/** Less memory than this belongs to the driver or a desktop. */
const IDLE_MIB = 500;
const NEAR_SLOWDOWN_C = 5;
const LONGEST_NAME = 60;

/** The command that changes a setting of a GPU. */
type Smi = (setting: string) => string;

/** The checks of each GPU. A value that it does not report has none. */
export function gpuChecks({ gpus, host, isReplay }: MachineFacts): DoctorCheck[] {
  if (gpus.kind === 'none') return [];
  return gpus.gpus.flatMap((gpu) => {
    const smi: Smi = (setting) => `sudo nvidia-smi -i ${gpu.uuid ?? gpu.index} ${setting}`;
    const mode = computeMode(gpu, smi);
    const slice = 'on: bench measures a slice, and work in other slices affects it';
    const queues = 'WDDM: Windows queues the work of the GPU, which adds time and noise';
    const tcc = `nvidia-smi -i ${gpu.uuid ?? gpu.index} -dm 1   # TCC; as administrator, not on every card`;
    return checksOf(`GPU ${gpu.index}`, `gpu${gpu.index}`, [
      ['idle', 'idle', idle(gpu)],
      ['computeMode', 'exclusive', mode, mode?.[0] === 'failed' && !isReplay],
      ['persistence', 'persistence', host.platform === 'win32' ? null : persistence(gpu, smi)],
      ['clocks', 'clocks', clocks(gpu)],
      ['temperature', 'temperature', temperature(gpu)],
      ['power', 'power limit', powerLimit(gpu, smi)],
      ['mig', 'MIG', fineUnless(/on/, gpu.mig, ['warning', slice, smi('-mig 0')])],
      ['pcie', 'PCIe', pcie(gpu)],
      ['driverModel', 'driver model', fineUnless(/wddm/i, gpu.driverModel, ['warning', queues, tcc])],
    ]);
  });
}

function computeMode({ computeMode: mode }: GpuFacts, smi: Smi): Judged | null {
  if (mode === null) return null;
  if (/prohibited/i.test(mode)) return ['failed', mode, smi('-c DEFAULT')];
  if (/exclusive/i.test(mode)) return ['ok', mode];
  return ['advice', `${mode}: any other process may use it while bench measures`, smi('-c EXCLUSIVE_PROCESS')];
}

function persistence({ persistence: mode }: GpuFacts, smi: Smi): Judged | null {
  const evidence = 'off: each process waits for the driver, and locked clocks are forgotten between processes';
  return fineUnless(/off/, mode, ['warning', evidence, smi('-pm 1')]);
}

function clocks({ clockLock, clocks: { maxSmMhz, smMhz } }: GpuFacts): Judged | null {
  if (smMhz === null) return null;
  const now = `SM ${smMhz} of ${maxSmMhz ?? '?'} MHz now`;
  if (clockLock !== null) return ['ok', `${now}; ${clockLock}`];
  const mend = 'sudo bench run MATRIX --lock-clocks base   # released at the end, even after an error';
  return ['advice', `${now}; not locked by bench: times depend on heat and power`, mend];
}

function temperature({ slowdownTemperatureC: limit, temperatureC: celsius }: GpuFacts): Judged | null {
  if (celsius === null || limit === null) return celsius === null ? null : ['ok', `${celsius} °C`];
  const evidence = `${celsius} °C, slows down at ${limit} °C`;
  const isNear = celsius > limit - NEAR_SLOWDOWN_C;
  return isNear ? ['warning', evidence, '# let it cool down, and check the cooling'] : ['ok', evidence];
}

function powerLimit({ power: { defaultLimitW, limitW } }: GpuFacts, smi: Smi): Judged | null {
  if (limitW === null) return null;
  if (defaultLimitW === null || limitW >= defaultLimitW) return ['ok', `${limitW} W`];
  return ['advice', `${limitW} W, lower than its default of ${defaultLimitW} W`, smi(`-pl ${defaultLimitW}`)];
}

function pcie(gpu: GpuFacts): Judged | null {
  const { generation, maxGeneration, maxWidth, width } = gpu.pcie;
  if (generation === null || width === null) return null;
  const now = `generation ${generation} x${width}`;
  const isNarrow = maxWidth !== null && width < maxWidth;
  if (!isNarrow && (maxGeneration === null || generation >= maxGeneration)) return ['ok', now];
  const evidence = `${now} of ${maxGeneration ?? '?'} x${maxWidth ?? '?'}`;
  const look = 'nvidia-smi -q -d PCI   # while something runs: is the card in its full slot?';
  const isBad = isNarrow || isBusy(gpu);
  return isBad ? ['warning', evidence, look] : ['advice', `${evidence}; an idle link slows down to save power`, look];
}

function isBusy({ gpuUtilisationPercent }: GpuFacts): boolean {
  return (gpuUtilisationPercent ?? 0) >= IDLE_PERCENT;
}

function idle(gpu: GpuFacts): Judged {
  const { gpuUtilisationPercent, memoryUsedMib, processes } = gpu;
  const used = `${gpuUtilisationPercent ?? '?'} % used, ${memoryUsedMib ?? '?'} MiB`;
  if (processes.length > 0) {
    const names = processes.map(({ pid, name, memoryMib }) => {
      const memory = memoryMib === null ? '' : `, ${memoryMib} MiB`;
      return `${(name || 'process').slice(0, LONGEST_NAME)} (${pid}${memory})`;
    });
    const mend = '# end these processes, or choose another GPU with CUDA_VISIBLE_DEVICES';
    return [isBusy(gpu) ? 'warning' : 'advice', `${used}: ${names.join(', ')}`, mend];
  }
  if (isBusy(gpu) || (memoryUsedMib ?? 0) > IDLE_MIB) {
    const mend = 'nvidia-smi   # on the host: another container may be using the GPU';
    return ['warning', `${used}, by a process that is not visible here`, mend];
  }
  return gpuUtilisationPercent !== null || memoryUsedMib !== null
    ? ['ok', used]
    : ['advice', 'not known: this driver or GPU does not report its load'];
}
