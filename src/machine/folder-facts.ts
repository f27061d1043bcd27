import { access, constants, statfs } from 'node:fs/promises';

/** Network file systems by the type number from `statfs` (linux/magic.h; Lustre, GPFS, BeeGFS: coreutils). */
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

export type FolderFacts = Readonly<Awaited<ReturnType<typeof folderFacts>>>;

/** @param holds what is kept there */
export async function folderFacts(holds: string, path: string) {
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
    /** Null if unknown. */
    freeBytes: system === null ? null : system.bavail * system.bsize,
    /** Name of the file system if it is a network one. */
    networkFileSystem: system === null ? null : (NETWORK.get(system.type >>> 0) ?? null),
  };
}
