import { existsSync, realpathSync } from 'node:fs';
import { copyFile, mkdir } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';

import { isInside } from '../../artefacts/layout.ts';
import type { Io } from '../../cli/io.ts';
import { InterruptedError } from '../../errors.ts';
import { printable } from '../../text/printable.ts';
import { addWorktree, removeWorktree } from '../../tools/git/git.ts';
import { BrokenSubjectError, runCommand } from './user-command.ts';

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
