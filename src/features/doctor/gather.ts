import { existsSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { artefactsFolderOf } from '../../files/layout.ts';
import {
  type FolderFacts,
  type GpusFacts,
  type MachineFacts,
  folderFacts,
  pythonFacts,
} from '../../machine/machine-facts.ts';
import type { Matrix } from '../../matrix/load.ts';
import { readGitState } from '../../tools/git/git.ts';
import { ask } from '../../process/ask.ts';
import { hostState, numaNodeOf } from '../../machine/host-facts.ts';
import { trtexecFacts } from '../../trtexec/program/trtexec-facts.ts';
import { storeHealth } from '../../store/file/store-file.ts';
import type { Io } from '../../cli/io.ts';
import { migrationsFolder } from '../../cli/store-location.ts';
import { ExportFormatError } from '../../errors.ts';
import { devicesOfReport, parseGpuReport, visibleDevices } from '../../tools/nvidia-smi/gpu-report.ts';
import { clockLockOf } from '../../machine/clock-lock.ts';
import type { EnvironmentVariables } from '../../process/environment-variables.ts';

/**
 * Gathers facts within time limits. Tools hang when a driver, a file server or a license server hangs, and trtexec may
 * load gigabytes.
 */
export async function gatherFacts(
  { matrix, storePath, trtexec: named }: { matrix: Matrix | null; storePath: string; trtexec: string | undefined },
  { toolMs, trtexecMs }: { readonly toolMs: number; readonly trtexecMs: number },
  io: Io,
): Promise<MachineFacts> {
  const { cwd, env, signal } = io;
  const options = { env, timeoutMs: toolMs };
  const [found, gpus, python, nsys, slurm, numactl, git, repository, folders] = await Promise.all([
    trtexecFacts({ flag: named, matrix: matrix?.trtexec ?? null, env, cwd, signal, timeoutMs: trtexecMs }),
    gpusFacts(env, toolMs),
    pythonFacts(env, toolMs),
    ask('nsys', ['--version'], options),
    ask('sbatch', ['--version'], options),
    ask('numactl', ['--hardware'], options),
    ask('git', ['--version'], options),
    readGitState(cwd, toolMs),
    foldersOf(storePath),
  ]);
  const { trtexec, linkedCuda } = found;
  return {
    isReplay: matrix !== null && matrix.replay !== null && named === undefined,
    trtexec,
    builtForCuda: linkedCuda,
    gpus,
    folders,
    store: storeHealth(storePath, migrationsFolder()),
    host: hostState(env),
    python,
    nsys,
    slurm,
    numactl,
    git,
    repository,
  };
}

async function foldersOf(storePath: string): Promise<FolderFacts[]> {
  const folder = dirname(storePath);
  const places: [string, string][] = [
    ['store', folder],
    ['artefacts', artefactsFolderOf(storePath)],
    ['engines', join(folder, 'engines')],
    ['temporary', tmpdir()],
  ];
  const disks = new Set<number>();
  const facts: FolderFacts[] = [];
  for (const [holds, path] of places) {
    // Skip other folders that do not exist yet: they will be created in the first one.
    if (path !== folder && !existsSync(path)) continue;
    const device = statSync(path, { throwIfNoEntry: false })?.dev;
    if (device !== undefined && disks.has(device)) continue;
    if (device !== undefined) disks.add(device);
    facts.push(await folderFacts(holds, path));
  }
  return facts;
}

/** GPUs visible to processes started from here, according to nvidia-smi. */
export async function gpusFacts(env: EnvironmentVariables, timeoutMs: number): Promise<GpusFacts> {
  const answer = await ask('nvidia-smi', ['-q', '-x'], { env, timeoutMs });
  if (answer.kind !== 'answered') return { kind: 'none', answer };
  try {
    const report = parseGpuReport(answer.text);
    const { driver, cuda, gpus } = report;
    const stated = env['CUDA_VISIBLE_DEVICES'];
    // The report does not list MIG slices, so their GPU is unknown.
    const named = { ...report, gpus: gpus.map((gpu) => ({ ...gpu, uuid: gpu.uuid ?? '' })) };
    const visible = visibleDevices(devicesOfReport(named), stated?.includes('MIG-') === true ? undefined : stated);
    const seen = gpus.filter(({ index }) => visible.some((device) => device.index === index));
    return {
      kind: 'report',
      driver,
      cuda,
      gpus: seen.map((gpu) => ({
        ...gpu,
        numaNode: numaNodeOf(gpu.busId),
        clockLock: gpu.uuid === null ? null : clockLockOf(gpu.uuid, env),
      })),
      hidden: gpus.length - seen.length,
    };
  } catch (error) {
    if (!(error instanceof ExportFormatError)) throw error;
    return { kind: 'none', answer: { ...answer, kind: 'refused', problem: error.message, exitCode: 0, signal: null } };
  }
}
