import { access, constants, statfs } from 'node:fs/promises';

import type { FolderFacts } from './machine-facts.ts';

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
