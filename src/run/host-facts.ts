import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { access, constants, statfs } from 'node:fs/promises';
import { availableParallelism, loadavg } from 'node:os';

import type { FolderFacts, HostFacts } from '../domain/machine-facts.ts';

const CPU = '/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor';

export function hostFacts(): HostFacts {
  return {
    node: process.versions.node,
    platform: process.platform,
    cpuCount: availableParallelism(),
    load: process.platform === 'win32' ? null : (loadavg()[0] ?? null),
    cpuGovernor: textOf(CPU),
    numaNodes: numaNodes(),
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

/**
 * The NUMA node of a device of the PCI bus; null when the system does not say, or says -1.
 * @param busId as nvidia-smi writes it: `00000000:00:06.0`; the system's own has four digits of domain
 */
export function numaNodeOf(busId: string | null): number | null {
  const short = /^(?:[0-9a-f]{4})?([0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f])$/i.exec(
    busId ?? '',
  )?.[1];
  if (short === undefined) return null;
  const text = textOf(`/sys/bus/pci/devices/${short.toLowerCase()}/numa_node`);
  return text === null || !/^\d+$/.test(text) ? null : Number(text);
}

/** File systems of the network, by the number that `statfs` gives (linux/magic.h; Lustre, GPFS, BeeGFS: coreutils). */
const NETWORK: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xfe534d42, 'SMB'],
  [0xff534d42, 'CIFS'],
  [0x00c36400, 'Ceph'],
  [0x01021997, '9p'],
  [0x5346414f, 'AFS'],
  [0x0bd00bd0, 'Lustre'],
  [0x47504653, 'GPFS'],
  [0x19830326, 'BeeGFS'],
]);

export async function folderFacts(holds: string, path: string): Promise<FolderFacts> {
  const isWritable = await access(path, constants.W_OK).then(
    () => true,
    () => false,
  );
  const system = await statfs(path).catch(() => null);
  return {
    holds,
    path,
    isThere: system !== null || isWritable,
    isWritable,
    freeBytes: system === null ? null : system.bavail * system.bsize,
    networkFileSystem: system === null ? null : (NETWORK.get(system.type >>> 0) ?? null),
  };
}

function textOf(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').trim() || null;
  } catch {
    return null;
  }
}
