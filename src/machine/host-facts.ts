import { readFileSync } from 'node:fs';
import { cpus, hostname, loadavg, release, type } from 'node:os';
import { basename } from 'node:path';

import { orNull } from '../errors.ts';
import type { EnvironmentVariables } from '../process/environment-variables.ts';
import type { Environment } from '../records/environment.ts';

/** Facts from the operating system. Null if it does not have them. */
export function hostFacts(env: EnvironmentVariables): Partial<Environment> {
  return {
    host: hostname(),
    cpu: cpus()[0]?.model ?? null,
    os: `${type()} ${release()}`,
    cpuGovernor: textOf('/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor'),
    container: containerImage(env, textOf('/run/.containerenv')),
    binding: bindingOf(textOf('/proc/self/status'), textOf('/sys/devices/system/cpu/online')),
  };
}

/** The CPUs to which this process and its children are bound from outside. @param online all CPUs: `0-31` */
export function bindingOf(status: string | null, online: string | null): string | null {
  const [, allowed = null] = /^Cpus_allowed_list:\s*(\S+)$/m.exec(status ?? '') ?? [];
  return allowed === null || online === null ? null : allowed === online ? 'nothing' : `CPUs ${allowed}`;
}

/** The NUMA node of the GPU; null if there is only one node. `busId` has the form of nvidia-smi: `00000000:17:00.0`. */
export function numaNodeOf(busId: string | null): number | null {
  const [, domain, place] = /^(?:0000)?([\da-f]{4}):([\da-f:.]+)$/i.exec(busId ?? '') ?? [];
  if (domain === undefined || place === undefined) return null;
  const path = `/sys/bus/pci/devices/${domain}:${place}`.toLowerCase();
  const node = Number(textOf(`${path}/numa_node`) ?? -1);
  return Number.isInteger(node) && node >= 0 ? node : null;
}

/**
 * The image of this container. The runtime must state it: Podman in a file, Apptainer in a variable, others on request
 * (`-e CONTAINER_IMAGE=...`).
 * @param containerenv content of /run/.containerenv
 */
export function containerImage(env: EnvironmentVariables, containerenv: string | null): string | null {
  const stated = env['CONTAINER_IMAGE'] || /^image="?([^"\n]+)"?$/m.exec(containerenv ?? '')?.[1];
  if (stated !== undefined) return stated;
  const file = env['APPTAINER_CONTAINER'] || env['SINGULARITY_CONTAINER'];
  return file ? basename(file) : null;
}

/** One-minute load average per CPU; null on Windows, which has none. */
export function hostLoad(): number | null {
  const [minute] = loadavg();
  const count = cpus().length;
  if (minute === undefined || count === 0 || process.platform === 'win32') return null;
  return Number((minute / count).toFixed(3));
}

/** Null for a missing, unreadable or empty file. */
function textOf(path: string): string | null {
  return orNull(() => readFileSync(path, 'utf8').trim() || null);
}

/** Host memory of a builder, whatever the model. Source: Torch-TensorRT, Resource Management: about 2 GB. */
const BUILDER_BYTES = 2 * 2 ** 30;
/** Source: TensorRT, How TensorRT Works, The Build Phase: at least those of the network and those of the engine. */
const COPIES_OF_WEIGHTS = 2;

/** Host memory that a build needs at least. @param modelBytes size of the ONNX file with its external data */
export function buildMemoryBytes(modelBytes: number): number {
  return BUILDER_BYTES + COPIES_OF_WEIGHTS * modelBytes;
}

const MAPPED_LIBRARY = /\/libnvinfer(?:_lean|_dispatch)?\.so\.(\d+(?:\.\d+)*)(?: \(deleted\))?$/m;

/** Version in the file name of the mapped TensorRT library. The kernel has resolved symbolic links. */
export function libraryVersion(maps: string): string | null {
  return MAPPED_LIBRARY.exec(maps)?.[1] ?? null;
}

/** A script may have started trtexec. */
function processTree(pid: number, depth = 3): number[] {
  if (depth === 0) return [];
  const children = textOf(`/proc/${pid}/task/${pid}/children`)?.split(/\s+/) ?? [];
  return [pid, ...children.flatMap((child) => processTree(Number(child), depth - 1))];
}

/** IDs of this process and of what it has started. */
export function ownProcesses(): Set<number> {
  return new Set(processTree(process.pid));
}

/** Short enough to sample a run of a third of a second. */
const INTERVAL_MS = 200;
/** The loader takes milliseconds, but `--useRuntime` loads later, and even later from a cold network disk. */
const LOOKS_FOR_LIBRARY = 20;

/** Facts of a process and of those that it starts, read from /proc several times a second. */
export class ProcessFacts {
  /** IDs of all processes that were seen, the process itself first. */
  readonly pids = new Set<number>();
  private peakKib = 0;
  /** The TensorRT library that a process loaded; null without /proc. Read only once: all run the same program. */
  libraryVersion: string | null = null;
  private looks = 0;
  private timer: NodeJS.Timeout | undefined;

  watch(pid: number): void {
    this.stop();
    this.pids.clear();
    this.pids.add(pid);
    this.peakKib = 0;
    this.looks = 0;
    this.timer = setInterval(() => this.look(pid), INTERVAL_MS).unref();
  }

  /** Call this when the process has ended, because its ID may be reused soon. */
  stop(): void {
    clearInterval(this.timer);
  }

  /** The peak host memory of the largest of its processes in MiB; null if none was seen, such as without /proc. */
  get peakMib(): number | null {
    return this.peakKib === 0 ? null : this.peakKib / 1024;
  }

  private look(pid: number): void {
    this.looks += 1;
    for (const each of processTree(pid)) {
      this.pids.add(each);
      // Of its resident memory. Source: proc_pid_status(5). An ended process has none.
      const [, peak = 0] = /^VmHWM:\s*(\d+) kB$/m.exec(textOf(`/proc/${each}/status`) ?? '') ?? [];
      this.peakKib = Math.max(this.peakKib, Number(peak));
      if (this.looks <= LOOKS_FOR_LIBRARY) this.libraryVersion ??= libraryVersion(textOf(`/proc/${each}/maps`) ?? '');
    }
  }
}
