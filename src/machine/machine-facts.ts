import { access, constants, statfs } from 'node:fs/promises';

import { type Answer, type NoAnswer, ask } from '../process/ask.ts';
import type { EnvironmentVariables } from '../process/environment-variables.ts';
import { MODELOPT_PACKAGES } from '../tools/modelopt/packages.ts';
import type { GpuState } from '../tools/nvidia-smi/gpu-report.ts';
import type { TrtexecFacts } from '../trtexec/program/trtexec-facts.ts';
import type { HostState } from './host-facts.ts';

export interface GpuFacts extends Omit<GpuState, 'busId' | 'clocks' | 'memoryTotalMib' | 'vbios'> {
  readonly clocks: Pick<GpuState['clocks'], 'smMhz' | 'maxSmMhz'>;
  readonly numaNode: number | null;
  /** The bench that currently locks its clocks: `locked 1590 MHz by process 12`. */
  readonly clockLock: string | null;
}

export type GpusFacts =
  | {
      readonly kind: 'report';
      readonly driver: string | null;
      /** The newest CUDA version that the driver supports. */
      readonly cuda: string | null;
      readonly gpus: readonly GpuFacts[];
      /** Number of GPUs that `CUDA_VISIBLE_DEVICES` hides. */
      readonly hidden: number;
    }
  | { readonly kind: 'none'; readonly answer: NoAnswer };

export type StoreHealth =
  | { readonly kind: 'none'; readonly path: string }
  | { readonly kind: 'refused'; readonly path: string; readonly problem: string }
  | {
      readonly kind: 'opened';
      readonly path: string;
      readonly bytes: number;
      readonly walBytes: number;
      readonly sweeps: number | null;
      /** `ok`, or SQLite's first error. */
      readonly quickCheck: string;
      readonly schema: 'current' | 'older' | 'newer';
    };

export interface MachineFacts {
  /** The matrix is replayed from recordings, so that neither trtexec nor a GPU is needed. */
  readonly isReplay: boolean;
  readonly trtexec: TrtexecFacts;
  /** Major CUDA version that TensorRT was built for; null if unknown. */
  readonly builtForCuda: number | null;
  readonly gpus: GpusFacts;
  readonly folders: readonly FolderFacts[];
  readonly store: StoreHealth;
  readonly host: HostState;
  readonly python: PythonFacts;
  readonly nsys: Answer;
  readonly slurm: Answer;
  readonly numactl: Answer;
  readonly git: Answer;
  readonly repository: { readonly commit: string | null; readonly dirty: boolean | null };
}

/**
 * Network file systems by the type number of `statfs`. Source: linux/magic.h; for Lustre, GPFS and BeeGFS: coreutils.
 */
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

/** @param holds name of the content of the folder */
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
    /** Name of the file system if it is a network file system. */
    networkFileSystem: system === null ? null : (NETWORK.get(system.type >>> 0) ?? null),
  };
}

export interface PythonFacts {
  readonly interpreter: string;
  /** True if `$BENCH_PYTHON` named it. */
  readonly isNamed: boolean;
  readonly answer: Answer;
}

/** Queries versions without importing anything, because an import of ModelOpt takes seconds. */
const PYTHON_VERSIONS = `
import json, platform, sys
from importlib import metadata
def version(names):
    for name in names:
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            pass
packages = json.loads(sys.argv[1])
print(json.dumps({
    "python": platform.python_version(),
    "packages": {name: version(names) for name, names in packages.items()},
}))
`;

/** @param stated the named interpreter; null for `$BENCH_PYTHON`, else the first `python3` on PATH */
export async function pythonFacts(
  env: EnvironmentVariables,
  timeoutMs: number,
  stated: string | null = null,
): Promise<PythonFacts> {
  const named = stated ?? env['BENCH_PYTHON'];
  const isNamed = named !== undefined && named !== '';
  const interpreter = isNamed ? named : 'python3';
  const args = ['-c', PYTHON_VERSIONS, JSON.stringify(MODELOPT_PACKAGES)];
  const answer = await ask(interpreter, args, { env, timeoutMs });
  return { interpreter, isNamed, answer };
}
