import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, relative } from 'node:path';

import { readJson } from '../../artefacts/folders.ts';
import type { Io } from '../../cli/io.ts';
import { InterruptedError } from '../../errors.ts';
import type { Judged, NextStep } from './turns.ts';
import { endOrphan, identityOf, identitySchema } from '../../process/process-identity.ts';
import type { GitState } from '../../records/sweep.ts';
import { printable } from '../../text/printable.ts';

/** What is measured: a commit, or a setting of factors. */
export interface Subject {
  /** Unique within the search, stable over restarts. */
  readonly key: string;
  /** Not safe to print. */
  readonly label: string;
  readonly git: GitState;
  /** @throws BrokenSubjectError when it cannot be measured */
  open(): Promise<OpenedSubject>;
  close(): Promise<void>;
}

export interface OpenedSubject {
  readonly io: Io;
  readonly matrix: string;
  readonly trtexec: string | null;
  readonly replay: string | null;
  /** An ONNX file in place of the matrix's own. */
  readonly model: string | null;
  /** A timing cache in place of the shared one. */
  readonly timingCache: string | null;
  /** True when a program from this folder builds engines that no other subject may load. */
  readonly hasOwnEngines: (program: string) => boolean;
  /** @throws BrokenSubjectError when the machine cannot be set up */
  readonly beforeRun: () => Promise<void>;
}

/** The space that is searched. */
export interface Task {
  readonly good: Subject;
  readonly bad: Subject;
  next(judged: readonly Judged[]): NextStep<Subject>;
  /** Tests left if every candidate can be judged. */
  testsLeft(judged: readonly Judged[]): number;
  subject(key: string): Subject;
  /** Removes what was made for the subjects, except what is needed to resume. */
  close(): Promise<void>;
  /** The key of the subject that a name of the end represents. */
  keyOf(name: string): string;
  /** The commit in a key, or its bad factors. */
  namesOf(key: string): readonly string[];
  subjectOf(name: string): string | null;
}

/** A subject that cannot be measured, with the reason in one line: a result of the search, not its end. */
export class BrokenSubjectError extends Error {
  override readonly name = 'BrokenSubjectError';
}

/** Set by git for its hooks: they may name another working tree. */
const GIT_VARIABLES = ['GIT_DIR', 'GIT_WORK_TREE', 'GIT_INDEX_FILE', 'GIT_PREFIX'];

export interface ExternalCommand {
  readonly command: readonly string[];
  readonly cwd: string;
  /** Its output goes to `LOG.out` and `LOG.err`. */
  readonly log: string;
}

/**
 * Runs a user's command in its own process group, without a time limit.
 * @throws BrokenSubjectError when it cannot be started or fails
 * @throws InterruptedError on Ctrl-C, after it was ended
 */
export async function runCommand({ command, cwd, log }: ExternalCommand, io: Io): Promise<void> {
  const [file, ...args] = command;
  if (file === undefined) return;
  await mkdir(dirname(log), { recursive: true });
  const pidFile = `${log}.pid`;
  endLeftover(pidFile);
  const env = Object.fromEntries(Object.entries(io.env).filter(([name]) => !GIT_VARIABLES.includes(name)));
  let noted = Promise.resolve();
  const paths = { stdoutPath: `${log}.out`, stderrPath: `${log}.err` };
  const result = await io.spawn({ file, args, cwd, env, ...paths, timeoutMs: 0 }, io.signal, (pid) => {
    noted = writeFile(pidFile, JSON.stringify(identityOf(pid)));
  });
  await noted;
  await rm(pidFile, { force: true });
  if (result.cancelled || io.signal.aborted) throw new InterruptedError('interrupted');
  if (result.exitCode === 0) return;
  const ended =
    result.startProblem ?? (result.signal === null ? `exit code ${result.exitCode}` : `ended by ${result.signal}`);
  throw new BrokenSubjectError(`${printable(file)}: ${ended}; its output is in ${relative(io.cwd, log)}.err`);
}

/** Ends a command left by a killed bench: it would work in the same folder. */
function endLeftover(pidFile: string): void {
  const identity = readJson(pidFile, identitySchema);
  if (identity !== null) endOrphan(identity);
}
