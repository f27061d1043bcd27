import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { Io } from '../../cli/io.ts';
import type { ProcessResult } from '../../process/spawn.ts';
import { inTemporaryFolder } from '../../process/temporary-folder.ts';
import { printable } from '../../text/printable.ts';

const LIMIT_S = 30;
/** Of what the program printed: enough for its last line. */
const LOG_BYTES = 64 << 10;
const LONGEST_LINE = 200;

/**
 * Starts a program with a text as its standard input. Its failure is said on standard error and has no other effect.
 * @param argv a program and its arguments, from a matrix file or the command line
 * @returns whether it ended well
 */
export async function notify(argv: readonly string[], text: string, io: Io): Promise<boolean> {
  const [file = '', ...args] = argv;
  const problem = await inTemporaryFolder('notify', async (folder) => {
    const stdinPath = join(folder, 'check.json');
    const stdoutPath = join(folder, 'stdout.log');
    const stderrPath = join(folder, 'stderr.log');
    await writeFile(stdinPath, text);
    const result = await io.spawn(
      {
        file,
        args,
        cwd: io.cwd,
        env: io.env,
        stdinPath,
        stdoutPath,
        stderrPath,
        timeoutMs: LIMIT_S * 1000,
        logCapBytes: LOG_BYTES,
      },
      io.signal,
      () => {},
    );
    return problemOf(result, () => lastLine(stderrPath) || lastLine(stdoutPath));
  });
  if (problem !== null) {
    io.err(
      `note: notify: ${printable(file)}: ${problem}; what was found is as it is, and the next check tries again\n`,
    );
  }
  return problem === null;
}

function problemOf(result: ProcessResult, printed: () => string): string | null {
  if (result.startProblem !== null) return result.startProblem;
  if (result.timedOut) return `ended after ${LIMIT_S} s`;
  if (result.cancelled) return 'interrupted';
  if (result.exitCode === 0) return null;
  const how = result.signal === null ? `exit code ${result.exitCode}` : `ended by ${result.signal}`;
  const line = printed();
  return line === '' ? how : `${how}: ${printable(line)}`;
}

function lastLine(path: string): string {
  return (readFileSync(path, 'utf8').trimEnd().split('\n').at(-1) ?? '').slice(0, LONGEST_LINE);
}
