import { copyFile, mkdir } from 'node:fs/promises';
import { existsSync, realpathSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';

import { InterruptedError } from '../../errors.ts';
import { BISECT_BRANCH, type GitState } from '../../records/sweep.ts';
import { addWorktree, removeWorktree } from '../../tools/git/git.ts';
import type { Io } from '../../cli/io.ts';
import { runCommand } from './external-command.ts';
import { BrokenSubjectError, type OpenedSubject, type Subject } from './subject.ts';

export interface CommitSource {
  /** Top folder of the user's own checkout, without symbolic links. */
  readonly repository: string;
  /** Where worktrees and logs go. */
  readonly folder: string;
  readonly command: readonly string[];
  readonly matrix: string;
  readonly trtexec: string | null;
  readonly replay: string | null;
}

/** A commit in a worktree of its own, built by the user's command. */
export class CommitSubject implements Subject {
  readonly key: string;
  readonly label: string;
  readonly git: GitState;
  private readonly source: CommitSource;
  private readonly io: Io;
  private readonly worktree: string;

  constructor(commit: string, subject: string, source: CommitSource, io: Io) {
    this.key = commit;
    this.label = `${commit.slice(0, 8)} ${subject}`.trimEnd();
    this.git = { commit, branch: BISECT_BRANCH, dirty: false };
    this.source = source;
    this.io = io;
    this.worktree = join(source.folder, 'worktrees', commit.slice(0, 16));
  }

  async open(): Promise<OpenedSubject> {
    const { repository, command, folder, trtexec, replay } = this.source;
    const problem = await addWorktree(repository, this.worktree, this.key);
    if (this.io.signal.aborted) throw new InterruptedError('interrupted');
    if (problem !== null) throw new BrokenSubjectError(`git worktree: ${problem}`);
    const cwd = this.place(this.io.cwd) ?? this.worktree;
    if (!existsSync(cwd)) {
      throw new BrokenSubjectError(`the folder ${relative(this.worktree, cwd)} is not in this commit`);
    }
    await runCommand({ command, cwd, log: join(folder, 'logs', this.key.slice(0, 16)) }, this.io);
    const matrix = await this.ownMatrix();
    return {
      io: { ...this.io, cwd },
      matrix,
      trtexec: trtexec === null ? null : this.ownProgram(trtexec),
      replay,
      model: null,
      timingCache: null,
      hasOwnEngines: (program) => isInside(this.worktree, program),
      beforeRun: () => Promise.resolve(),
    };
  }

  close(): Promise<void> {
    return removeWorktree(this.source.repository, this.worktree);
  }

  /** The matrix as it is in this commit. One that nobody committed is put at its place in the worktree. */
  private async ownMatrix(): Promise<string> {
    const stated = resolve(this.io.cwd, this.source.matrix);
    const own = this.place(stated);
    if (own === null || existsSync(own)) return own ?? stated;
    if (!existsSync(stated)) return stated;
    await mkdir(dirname(own), { recursive: true });
    await copyFile(stated, own);
    return own;
  }

  /** A program of the repository is the one that this commit has, or that was built in it. */
  private ownProgram(trtexec: string): string {
    const stated = resolve(this.io.cwd, trtexec);
    const own = this.place(stated);
    return own !== null && existsSync(own) ? own : stated;
  }

  /** The same place in the worktree as a path has in the user's checkout; null when it is not in there. */
  private place(path: string): string | null {
    const { repository } = this.source;
    const real = realPath(path);
    if (!isInside(repository, real)) return null;
    return join(this.worktree, relative(repository, real));
  }
}

function isInside(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder + sep);
}

/** The path without symbolic links in its folders; the file itself need not be there. */
function realPath(path: string): string {
  try {
    return join(realpathSync(dirname(path)), relative(dirname(path), path));
  } catch {
    return path;
  }
}
