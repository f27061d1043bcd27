import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import type { Spawn } from '../../process/spawn.ts';
import { inTemporaryFolder } from '../../process/temporary-folder.ts';
import type { TrtexecProgram } from './trtexec-program.ts';

const TIMEOUT_MS = 60_000;

const CREATED_WITH = /Plan was created with TensorRT version (\d+(?:\.\d+)+)/;

/**
 * Asks trtexec which TensorRT built an engine, without loading it (`--getPlanVersionOnly`; 0.3 s with 10.6). Null when
 * it does not say: then the first run tells whether the engine loads.
 */
export async function askPlanVersion(
  program: TrtexecProgram,
  spawn: Spawn,
  signal: AbortSignal,
  enginePath: string,
): Promise<string | null> {
  return inTemporaryFolder('probe', async (folder) => {
    const stdoutPath = join(folder, 'stdout.log');
    const args = [...program.prefixArgs, `--loadEngine=${enginePath}`, '--getPlanVersionOnly'];
    const result = await spawn(
      {
        file: program.file,
        args,
        cwd: folder,
        env: program.env,
        stdoutPath,
        stderrPath: join(folder, 'stderr.log'),
        timeoutMs: TIMEOUT_MS,
      },
      signal,
      () => {},
    );
    signal.throwIfAborted();
    if (result.startProblem !== null) return null;
    return CREATED_WITH.exec(readFileSync(stdoutPath, 'utf8'))?.[1] ?? null;
  });
}
