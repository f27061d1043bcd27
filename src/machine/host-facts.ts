import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { availableParallelism, cpus, freemem, hostname, loadavg, release, totalmem, type } from 'node:os';
import { basename } from 'node:path';
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
  };
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
export function textOf(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').trim() || null;
  } catch {
    return null;
  }
}

export type HostState = Readonly<ReturnType<typeof hostState>>;

export function hostState(env: EnvironmentVariables) {
  const platform: string = process.platform;
  return {
    node: process.versions.node,
    platform,
    cpuCount: availableParallelism(),
    loadPerCpu: hostLoad(),
    freeMemoryBytes: freemem(),
    memoryBytes: totalmem(),
    cpuGovernor: hostFacts(env).cpuGovernor ?? null,
    numaNodes: numaNodes(),
    /** On a Jetson, nvidia-smi reports little or does not exist. */
    isJetson: existsSync('/etc/nv_tegra_release'),
  };
}

function numaNodes(): number | null {
  try {
    const names = readdirSync('/sys/devices/system/node');
    return names.filter((name) => /^node\d+$/.test(name)).length;
  } catch {
    return null;
  }
}
