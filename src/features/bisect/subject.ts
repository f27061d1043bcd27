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
  /** Tells it from the others of its search, and is the same after a restart. */
  readonly key: string;
  /** In a few words. Not safe to print. */
  readonly label: string;
  readonly git: GitState;
  /**
   * Makes it ready to be measured.
   * @throws BrokenSubjectError when it cannot be
   */
  open(): Promise<OpenedSubject>;
  /** Removes what `open` made. */
  close(): Promise<void>;
}

export interface OpenedSubject {
  /** Where and with which environment it is measured. */
  readonly io: Io;
  readonly matrix: string;
  readonly trtexec: string | null;
  readonly replay: string | null;
  /** An ONNX file in place of the matrix's own. */
  readonly model: string | null;
  /** A timing cache in place of the one that all share. */
  readonly timingCache: string | null;
  /** True when a program from in here makes engines that no other subject may load. */
  readonly hasOwnEngines: (program: string) => boolean;
  /** @throws BrokenSubjectError when the machine cannot be set up */
  readonly beforeRun: () => Promise<void>;
}

/** What is searched through, whatever it is. */
export interface Task {
  readonly good: Subject;
  readonly bad: Subject;
  next(judged: readonly Judged[]): NextStep<Subject>;
  /** Candidates that will still be tested when each can be judged. */
  testsLeft(judged: readonly Judged[]): number;
  /** A subject by its key. */
  subject(key: string): Subject;
  /** Removes what was made for any of them; what is needed to go on is kept. */
  close(): Promise<void>;
  /** The key of the subject that a name of the end represents. */
  keyOf(name: string): string;
  /** The names in a key: the commit, or the factors that are bad. */
  namesOf(key: string): readonly string[];
  /** The subject line of a commit. */
  subjectOf(name: string): string | null;
}

/** Why a subject cannot be measured, in one line: a result, and no end of the search. */
export class BrokenSubjectError extends Error {
  override readonly name = 'BrokenSubjectError';
}

/** Set by git for its hooks, where they name another working tree than the one that is meant. */
const GIT_VARIABLES = ['GIT_DIR', 'GIT_WORK_TREE', 'GIT_INDEX_FILE', 'GIT_PREFIX'];

export interface ExternalCommand {
  readonly command: readonly string[];
  readonly cwd: string;
  /** Its output goes to `LOG.out` and `LOG.err`. */
  readonly log: string;
}

/**
 * Runs somebody's command in its own process group and waits for it, however long it takes.
 * @throws BrokenSubjectError when it cannot be started or does not end well
 * @throws InterruptedError on Ctrl-C, after it has been ended
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

/** A command that an earlier bench started and did not live to wait for would work in the same folder. */
function endLeftover(pidFile: string): void {
  const identity = readJson(pidFile, identitySchema);
  if (identity !== null) endOrphan(identity);
}
