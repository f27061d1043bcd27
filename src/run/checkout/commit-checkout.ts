import { existsSync, realpathSync, writeFileSync } from 'node:fs';
import { copyFile, mkdir, rm } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';

import { lastLinesOf } from '../../files/files.ts';
import { readJson } from '../../files/folders.ts';
import { isInside } from '../../files/layout.ts';
import type { Io } from '../../cli/io.ts';
import { InterruptedError, ProgramError, EXIT_CODES } from '../../errors.ts';
import { endOrphan, identityOf, identitySchema } from '../../process/process-identity.ts';
import { printable } from '../../text/printable.ts';
import { addWorktree, removeWorktree } from '../../tools/git/git.ts';

/** A commit or setting that cannot be measured: the reason, then the last lines that the command printed. */
class BrokenSubjectError extends ProgramError {
  override readonly name = 'BrokenSubjectError';
  readonly exitCode = EXIT_CODES.incomplete;
}

/** Variables that git sets for its hooks; they may name another working tree. */
const GIT_VARIABLES = ['GIT_DIR', 'GIT_WORK_TREE', 'GIT_INDEX_FILE', 'GIT_PREFIX'];

interface ExternalCommand {
  readonly command: readonly string[];
  readonly cwd: string;
  /** Output goes to `LOG.out` and `LOG.err`. */
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
  // The command of a killed bench would work in the same folder.
  const leftover = readJson(pidFile, identitySchema);
  if (leftover !== null) endOrphan(leftover);
  const env = Object.fromEntries(Object.entries(io.env).filter(([name]) => !GIT_VARIABLES.includes(name)));
  const paths = { stdoutPath: `${log}.out`, stderrPath: `${log}.err` };
  const started = { file, args, cwd, env, ...paths, timeoutMs: 0 };
  const result = await io.spawn(started, io.signal, (pid) => writeFileSync(pidFile, JSON.stringify(identityOf(pid))));
  await rm(pidFile, { force: true });
  if (result.cancelled || io.signal.aborted) throw new InterruptedError('interrupted');
  if (result.exitCode === 0) return;
  if (result.startProblem !== null) throw new BrokenSubjectError(`${printable(file)}: ${result.startProblem}`);
  const ended = result.signal === null ? `exit code ${result.exitCode}` : `ended by ${result.signal}`;
  const problem = `${printable(file)}: ${ended}; its output is in ${relative(io.cwd, log)}.err`;
  const errors = lastLinesOf(paths.stderrPath, LAST_LINES);
  const last = errors.length > 0 ? errors : lastLinesOf(paths.stdoutPath, LAST_LINES);
  throw new BrokenSubjectError([problem, ...last.map((line) => `  ${line}`)].join('\n'));
}

const LAST_LINES = 10;

export interface CheckoutSource {
  /** Top folder of the user's checkout, without symbolic links. */
  readonly repository: string;
  /** Folder for worktrees and logs of the command. */
  readonly folder: string;
  /** Command that builds a commit, run in the worktree's counterpart of the current folder; empty for none. */
  readonly command: readonly string[];
  /** As the user named it. */
  readonly matrix: string;
  readonly trtexec: string | null;
}

/** A commit in a separate worktree, so that the checkout of the user stays unchanged. */
export class CommitCheckout {
  readonly commit: string;
  private readonly source: CheckoutSource;
  private readonly io: Io;
  private readonly worktree: string;

  constructor(commit: string, source: CheckoutSource, io: Io) {
    this.commit = commit;
    this.source = source;
    this.io = io;
    this.worktree = join(worktreesOf(source.folder), commit.slice(0, 16));
  }

  /** The Io of bench as if it was started in the worktree. */
  get there(): Io {
    return { ...this.io, cwd: this.place(this.io.cwd) ?? this.worktree };
  }

  /** @throws BrokenSubjectError when git cannot add the worktree */
  async add(): Promise<void> {
    const problem = await addWorktree(this.source.repository, this.worktree, this.commit);
    if (this.io.signal.aborted) throw new InterruptedError('interrupted');
    if (problem !== null) throw new BrokenSubjectError(`git worktree: ${problem}`);
    const { cwd } = this.there;
    if (existsSync(cwd)) return;
    if (this.source.command.length === 0) {
      await mkdir(cwd, { recursive: true });
      return;
    }
    throw new BrokenSubjectError(`the folder ${printable(relative(this.worktree, cwd))} is not in this commit`);
  }

  /** @throws BrokenSubjectError when the command fails */
  async build(): Promise<void> {
    const log = join(this.source.folder, 'logs', this.commit.slice(0, 16));
    await runCommand({ command: this.source.command, cwd: this.there.cwd, log }, this.io);
  }

  /** The matrix of this commit; an uncommitted one is copied into the worktree. */
  async matrix(): Promise<{ readonly path: string; readonly isCopied: boolean }> {
    const stated = resolve(this.io.cwd, this.source.matrix);
    const own = this.place(stated);
    if (own === null || existsSync(own)) return { path: own ?? stated, isCopied: false };
    if (!existsSync(stated)) return { path: stated, isCopied: false };
    await mkdir(dirname(own), { recursive: true });
    await copyFile(stated, own);
    return { path: own, isCopied: true };
  }

  /** trtexec in the repository: that of this commit, or the one built in its worktree. */
  get trtexec(): string | null {
    if (this.source.trtexec === null) return null;
    const stated = resolve(this.io.cwd, this.source.trtexec);
    const own = this.place(stated);
    return own !== null && existsSync(own) ? own : stated;
  }

  holds(path: string): boolean {
    return isInside(this.worktree, path);
  }

  remove(): Promise<void> {
    return removeWorktree(this.source.repository, this.worktree);
  }

  /** The counterpart of a path in the worktree; null outside of the checkout. */
  private place(path: string): string | null {
    const inside = pathInside(this.source.repository, path);
    return inside === null ? null : join(this.worktree, inside);
  }
}

export function worktreesOf(folder: string): string {
  return join(folder, 'worktrees');
}

/** The path relative to the top folder of the checkout; null outside of it. */
export function pathInside(repository: string, path: string): string | null {
  const real = realPath(path);
  return isInside(repository, real) ? relative(repository, real) : null;
}

/** Resolves symbolic links of the folders; the file need not exist. */
function realPath(path: string): string {
  try {
    return join(realpathSync(dirname(path)), relative(dirname(path), path));
  } catch {
    return path;
  }
}
