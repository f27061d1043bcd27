import { writeFileSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { dirname, relative } from 'node:path';

import { lastLinesOf } from '../files/files.ts';
import { readJson } from '../files/folders.ts';
import type { Io } from '../cli/io.ts';
import { IncompleteError, InterruptedError, orNull } from '../errors.ts';
import { identityOf, identitySchema, isRunning } from '../process/process-identity.ts';
import { printable } from '../text/printable.ts';

/** Variables that git sets for its hooks; they may name another working tree. */
const GIT_VARIABLES = ['GIT_DIR', 'GIT_WORK_TREE', 'GIT_INDEX_FILE', 'GIT_PREFIX'];

/**
 * Runs a user's command in its own process group, without a time limit.
 * @param log the output goes to `LOG.out` and `LOG.err`
 * @throws IncompleteError when it cannot be started or fails
 * @throws InterruptedError on Ctrl-C, after it was ended
 */
export async function runCommand(command: readonly string[], cwd: string, log: string, io: Io): Promise<void> {
  const [file, ...args] = command;
  if (file === undefined) return;
  await mkdir(dirname(log), { recursive: true });
  const pidFile = `${log}.pid`;
  // The command of a killed bench would work in the same folder.
  const leftover = readJson(pidFile, identitySchema);
  if (leftover !== null && isRunning(leftover)) orNull(() => process.kill(-leftover.pid, 'SIGKILL'));
  const env = Object.fromEntries(Object.entries(io.env).filter(([name]) => !GIT_VARIABLES.includes(name)));
  const paths = { stdoutPath: `${log}.out`, stderrPath: `${log}.err` };
  const started = { file, args, cwd, env, ...paths, timeoutMs: 0 };
  const result = await io.spawn(started, io.signal, (pid) => writeFileSync(pidFile, JSON.stringify(identityOf(pid))));
  await rm(pidFile, { force: true });
  if (result.cancelled || io.signal.aborted) throw new InterruptedError('interrupted');
  if (result.exitCode === 0) return;
  if (result.startProblem !== null) throw new IncompleteError(`${printable(file)}: ${result.startProblem}`);
  const ended = result.signal === null ? `exit code ${result.exitCode}` : `ended by ${result.signal}`;
  const problem = `${printable(file)}: ${ended}; its output is in ${relative(io.cwd, log)}.err`;
  const errors = lastLinesOf(paths.stderrPath, LAST_LINES);
  const last = errors.length > 0 ? errors : lastLinesOf(paths.stdoutPath, LAST_LINES);
  throw new IncompleteError([problem, ...last.map((line) => `  ${line}`)].join('\n'));
}

const LAST_LINES = 10;
