import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, relative } from 'node:path';

import { lastLinesOf } from '../../artefacts/files.ts';
import { readJson } from '../../artefacts/folders.ts';
import type { Io } from '../../cli/io.ts';
import { BenchError, InterruptedError } from '../../errors.ts';
import { EXIT_CODES } from '../../exit-codes.ts';
import { endOrphan, identityOf, identitySchema } from '../../process/process-identity.ts';
import type { Invocation } from '../../process/spawn.ts';
import { printable } from '../../text/printable.ts';

/** A commit or setting that cannot be measured, with the reason in one line. */
export class BrokenSubjectError extends BenchError {
  override readonly name = 'BrokenSubjectError';
  readonly exitCode = EXIT_CODES.incomplete;
  /** The last lines that the command printed. */
  readonly lastLines: readonly string[];

  constructor(problem: string, lastLines: readonly string[] = [], options?: ErrorOptions) {
    super(problem, options);
    this.lastLines = lastLines;
  }

  override get lines(): readonly string[] {
    return [this.message, ...this.lastLines.map((line) => `  ${line}`)];
  }
}

/** Variables that git sets for its hooks; they may name another working tree. */
const GIT_VARIABLES = ['GIT_DIR', 'GIT_WORK_TREE', 'GIT_INDEX_FILE', 'GIT_PREFIX'];

export interface ExternalCommand {
  readonly command: readonly string[];
  readonly cwd: string;
  /** Output goes to `LOG.out` and `LOG.err`. */
  readonly log: string;
  /** Receives the output while the command runs. */
  readonly reader?: Invocation['reader'];
}

/**
 * Runs a user's command in its own process group, without a time limit.
 * @throws BrokenSubjectError when it cannot be started or fails
 * @throws InterruptedError on Ctrl-C, after it was ended
 */
export async function runCommand({ command, cwd, log, reader }: ExternalCommand, io: Io): Promise<void> {
  const [file, ...args] = command;
  if (file === undefined) return;
  await mkdir(dirname(log), { recursive: true });
  const pidFile = `${log}.pid`;
  endLeftover(pidFile);
  const env = Object.fromEntries(Object.entries(io.env).filter(([name]) => !GIT_VARIABLES.includes(name)));
  let noted = Promise.resolve();
  const paths = { stdoutPath: `${log}.out`, stderrPath: `${log}.err` };
  const started = { file, args, cwd, env, ...paths, timeoutMs: 0, ...(reader === undefined ? {} : { reader }) };
  const result = await io.spawn(started, io.signal, (pid) => {
    noted = writeFile(pidFile, JSON.stringify(identityOf(pid)));
  });
  await noted;
  await rm(pidFile, { force: true });
  if (result.cancelled || io.signal.aborted) throw new InterruptedError('interrupted');
  if (result.exitCode === 0) return;
  if (result.startProblem !== null) throw new BrokenSubjectError(`${printable(file)}: ${result.startProblem}`);
  const ended = result.signal === null ? `exit code ${result.exitCode}` : `ended by ${result.signal}`;
  const problem = `${printable(file)}: ${ended}; its output is in ${relative(io.cwd, log)}.err`;
  const errors = lastLinesOf(paths.stderrPath, LAST_LINES);
  throw new BrokenSubjectError(problem, errors.length > 0 ? errors : lastLinesOf(paths.stdoutPath, LAST_LINES));
}

const LAST_LINES = 10;

/** Ends a command of a killed bench, which would work in the same folder. */
function endLeftover(pidFile: string): void {
  const identity = readJson(pidFile, identitySchema);
  if (identity !== null) endOrphan(identity);
}
