import { existsSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { artefactsFolderOf } from '../../artefacts/layout.ts';
import type { FolderFacts, MachineFacts } from '../../machine/machine-facts.ts';
import type { Matrix } from '../../matrix/matrix.ts';
import { readGitState } from '../../tools/git/git.ts';
import { versionInMarkers } from '../../trtexec/log/marker.ts';
import { ask } from '../../process/ask.ts';
import { folderFacts } from '../../machine/folder-facts.ts';
import { hostState } from '../../machine/host-facts.ts';
import { packageCuda, pythonFacts } from '../../machine/machine-tools.ts';
import { trtexecFacts } from '../../trtexec/program/trtexec-facts.ts';
import { storeHealth } from '../../store/verify/store-health.ts';
import type { Io } from '../../cli/io.ts';
import { migrationsFolder } from '../../cli/store-location.ts';
import { gpusFacts } from './gpus.ts';

/** How long a tool may take: each of them hangs where a driver, a file server or a licence server does. */
export interface Patience {
  readonly toolMs: number;
  /** trtexec may have to load libraries of gigabytes. */
  readonly trtexecMs: number;
}

export interface Examined {
  readonly storePath: string;
  readonly trtexec: string | undefined;
  /** Null when none was named. */
  readonly matrix: Matrix | null;
}

/** Looks at everything that measuring needs, all at once, and changes nothing. */
export async function gatherFacts(
  { matrix, storePath, trtexec: named }: Examined,
  { toolMs, trtexecMs }: Patience,
  io: Io,
): Promise<MachineFacts> {
  const { cwd, env, signal } = io;
  const asked = { env, timeoutMs: toolMs };
  const [found, gpus, python, nsys, slurm, numactl, git, repository, folders] = await Promise.all([
    trtexecFacts({
      flag: named,
      matrix: matrix?.trtexec ?? null,
      env,
      cwd,
      signal,
      timeoutMs: trtexecMs,
      readVersion: versionInMarkers,
    }),
    gpusFacts(env, toolMs),
    pythonFacts(env, toolMs),
    ask('nsys', ['--version'], asked),
    ask('sbatch', ['--version'], asked),
    ask('numactl', ['--hardware'], asked),
    ask('git', ['--version'], asked),
    readGitState(cwd, toolMs),
    foldersOf(storePath),
  ]);
  const { trtexec, linkedCuda } = found;
  const major = trtexec.kind === 'found' && trtexec.help.kind === 'version' ? trtexec.help.version.major : null;
  return {
    isReplay: matrix !== null && matrix.replay !== null && named === undefined,
    trtexec,
    builtForCuda: linkedCuda ?? (major === null ? null : await packageCuda(major, env, toolMs)),
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

/** The folders that grow while bench measures: one for each disk. */
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
    // Folders of bench's own that are not there yet will be made in the first.
    if (path !== folder && !existsSync(path)) continue;
    const device = statSync(path, { throwIfNoEntry: false })?.dev;
    if (device !== undefined && disks.has(device)) continue;
    if (device !== undefined) disks.add(device);
    facts.push(await folderFacts(holds, path));
  }
  return facts;
}
