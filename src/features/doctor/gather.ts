import { existsSync, statSync } from 'node:fs';
import { access, constants, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname } from 'node:path';

import { artefactsFolderOf, enginesFolderOf } from '../../files/layout.ts';
import { pythonFacts } from '../../tools/python/helper.ts';
import { modelBytes } from '../../files/hashes.ts';
import { onnxFilesOf } from '../../matrix/models/check-model.ts';
import type { Matrix } from '../../matrix/load.ts';
import { readGitState } from '../../tools/git/git.ts';
import { ask } from '../../process/ask.ts';
import { hostFacts, hostLoad, numaNodeOf } from '../../machine/host-facts.ts';
import { trtexecFacts } from '../../trtexec/program/trtexec-facts.ts';
import { storeHealth } from '../../store/verify/verify-store.ts';
import type { Io } from '../../cli/io.ts';
import { migrationsFolder } from '../../cli/store-location.ts';
import { devicesOfReport, visibleDevices } from '../../tools/nvidia-smi/gpu-report.ts';
import { askForReport } from '../../tools/nvidia-smi/nvidia-smi.ts';
import { clockLockOf } from '../../machine/clock-lock.ts';
import type { Immutable } from '../../records/scalars.ts';
import type { EnvironmentVariables } from '../../process/environment-variables.ts';
import { availableParallelism, freemem, totalmem } from 'os';
import { namesIn } from '../../files/folders.ts';

export type MachineFacts = Immutable<Awaited<ReturnType<typeof gatherFacts>>>;

export type GpusFacts = MachineFacts['gpus'];

export type GpuFacts = Extract<GpusFacts, { kind: 'report' }>['gpus'][number];

/**
 * Gathers facts within time limits. Tools hang when a driver, a file server or a license server hangs, and trtexec may
 * load gigabytes.
 */
export async function gatherFacts(
  { matrix, storePath, trtexec: named }: { matrix: Matrix | null; storePath: string; trtexec: string | undefined },
  { toolMs, trtexecMs }: { readonly toolMs: number; readonly trtexecMs: number },
  io: Io,
) {
  const { cwd, env, signal } = io;
  const options = { env, timeoutMs: toolMs };
  const [found, gpus, python, nsys, slurm, git, repository, folders] = await Promise.all([
    trtexecFacts({ flag: named, matrix: matrix?.trtexec ?? null, env, cwd, signal, timeoutMs: trtexecMs }),
    gpusFacts(env, toolMs),
    pythonFacts(env, toolMs),
    ask('nsys', ['--version'], options),
    ask('sbatch', ['--version'], options),
    ask('git', ['--version'], options),
    readGitState(cwd, toolMs),
    foldersOf(storePath),
  ]);
  const { trtexec, linkedCuda } = found;
  return {
    /** The matrix is replayed from recordings, so that neither trtexec nor a GPU is needed. */
    isReplay: matrix !== null && matrix.replay !== null && named === undefined,
    trtexec,
    /** Major CUDA version that TensorRT was built for; null if unknown. */
    builtForCuda: linkedCuda,
    gpus,
    folders,
    store: storeHealth(storePath, migrationsFolder()),
    host: hostState(env),
    /** Of the largest model of the matrix; null without one. */
    modelBytes: largestModel(matrix),
    python,
    nsys,
    slurm,
    git,
    repository,
  };
}

function largestModel(matrix: Matrix | null): number | null {
  const paths = onnxFilesOf(matrix?.cells ?? []).flatMap(({ value }) => (existsSync(value) ? [value] : []));
  return paths.length === 0 ? null : Math.max(...paths.map(modelBytes));
}

/** The folders that bench writes into, one on each disk. */
function foldersOf(storePath: string) {
  const folder = dirname(storePath);
  const engines = enginesFolderOf(storePath);
  const places = { store: folder, artefacts: artefactsFolderOf(storePath), engines, temporary: tmpdir() };
  // Skip other folders that do not exist yet: they will be created in the first one.
  const there = Object.entries(places).filter(([, path]) => path === folder || existsSync(path));
  const disks = Map.groupBy(there, ([, path]) => statSync(path, { throwIfNoEntry: false })?.dev ?? path);
  return Promise.all([...disks.values()].flatMap(([first]) => (first === undefined ? [] : folderFacts(...first))));
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

/** @param holds name of the content of the folder */
async function folderFacts(holds: string, path: string) {
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

/** GPUs visible to processes started from here, according to nvidia-smi. */
export async function gpusFacts(env: EnvironmentVariables, timeoutMs: number) {
  const report = await askForReport(env, timeoutMs);
  if ('kind' in report) return { kind: 'none' as const, answer: report };
  const { driver, cuda, gpus } = report;
  const stated = env['CUDA_VISIBLE_DEVICES'];
  // The report does not list MIG slices, so their GPU is unknown.
  const named = { ...report, gpus: gpus.map((gpu) => ({ ...gpu, uuid: gpu.uuid ?? '' })) };
  const visible = visibleDevices(devicesOfReport(named), stated?.includes('MIG-') === true ? undefined : stated);
  const seen = gpus.filter(({ index }) => visible.some((device) => device.index === index));
  return {
    kind: 'report' as const,
    driver,
    /** The newest CUDA version that the driver supports. */
    cuda,
    gpus: seen.map((gpu) => ({
      ...gpu,
      numaNode: numaNodeOf(gpu.busId),
      /** The bench that currently locks its clocks: `locked 1590 MHz by process 12`. */
      clockLock: gpu.uuid === null ? null : clockLockOf(gpu.uuid, env),
    })),
    /** Number of GPUs that `CUDA_VISIBLE_DEVICES` hides. */
    hidden: gpus.length - seen.length,
  };
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
    numaNodes: namesIn('/sys/devices/system/node').filter((name) => /^node\d+$/.test(name)).length || null,
    /** On a Jetson, nvidia-smi reports little or does not exist. */
    isJetson: existsSync('/etc/nv_tegra_release'),
  };
}
