import { existsSync, realpathSync } from 'node:fs';
import { copyFile, mkdir } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';

import { isInside } from '../../artefacts/layout.ts';
import type { Io } from '../../cli/io.ts';
import { InterruptedError, UsageError } from '../../errors.ts';
import { BISECT_BRANCH } from '../../records/sweep.ts';
import { printable } from '../../text/printable.ts';
import {
  addWorktree,
  commitRange,
  contains,
  removeWorktree,
  removeWorktrees,
  repositoryFolder,
  subjectOf,
} from '../../tools/git/git.ts';
import { searchCommits, testsLeft } from './commit-search.ts';
import { runCommand, BrokenSubjectError, type Subject, type Task } from './subject.ts';
import type { BisectRequest, CommitRequest } from './state.ts';

export async function commitTask(
  { matrix, trtexec, replay }: BisectRequest,
  { good, bad, goodRef, badRef, command }: CommitRequest,
  folder: string,
  io: Io,
): Promise<Task> {
  const repository = await repositoryFolder(io.cwd);
  if (repository === null) throw new UsageError('there is no git repository here');
  const shown = `${printable(goodRef)} (${good.slice(0, 8)})`;
  const shownBad = `${printable(badRef)} (${bad.slice(0, 8)})`;
  if (good === bad) throw new UsageError(`${shown} and ${shownBad} are the same commit`);
  if (!(await contains(io.cwd, bad, good))) {
    throw new UsageError(
      (await contains(io.cwd, good, bad))
        ? `${shown} comes after ${shownBad}: GOOD is the older one`
        : `${shown} is no ancestor of ${shownBad}: take the commit where the two parted, git merge-base`,
    );
  }
  if (matrix === null) throw new UsageError('which matrix? --matrix FILE');
  const commits = await commitRange(io.cwd, good, bad);
  const subjects = new Map(commits.map(({ commit, subject }) => [commit, subject]));
  subjects.set(good, await subjectOf(io.cwd, good));
  const source = { repository, folder, command, matrix, trtexec, replay };
  const make = (commit: string): Subject => commitSubject(commit, subjects.get(commit) ?? '', source, io);
  return {
    good: make(good),
    bad: make(bad),
    next: (judged) => {
      const next = searchCommits(commits, judged);
      return next.kind === 'test' ? { kind: 'test', candidate: make(next.candidate) } : next;
    },
    testsLeft: (judged) => testsLeft(commits, judged),
    subject: make,
    close: () => removeWorktrees(repository, join(folder, 'worktrees')),
    keyOf: (commit) => commit,
    namesOf: (commit) => [commit],
    subjectOf: (commit) => subjects.get(commit) ?? null,
  };
}

interface CommitSource extends Pick<BisectRequest, 'trtexec' | 'replay'> {
  /** Top folder of the user's checkout, without symbolic links. */
  readonly repository: string;
  readonly folder: string;
  readonly command: readonly string[];
  readonly matrix: string;
}

/** A commit in a worktree, built by the user's command. */
function commitSubject(commit: string, subject: string, source: CommitSource, io: Io): Subject {
  const { repository, command, folder, matrix, trtexec, replay } = source;
  const worktree = join(folder, 'worktrees', commit.slice(0, 16));

  /** The path's counterpart in the worktree; null outside of the checkout. */
  const place = (path: string): string | null => {
    const real = realPath(path);
    return isInside(repository, real) ? join(worktree, relative(repository, real)) : null;
  };

  /** The matrix of this commit; an uncommitted one is copied into the worktree. */
  const ownMatrix = async (): Promise<string> => {
    const stated = resolve(io.cwd, matrix);
    const own = place(stated);
    if (own === null || existsSync(own)) return own ?? stated;
    if (!existsSync(stated)) return stated;
    await mkdir(dirname(own), { recursive: true });
    await copyFile(stated, own);
    return own;
  };

  /** A program of the repository: this commit's, or built in its worktree. */
  const ownProgram = (program: string): string => {
    const stated = resolve(io.cwd, program);
    const own = place(stated);
    return own !== null && existsSync(own) ? own : stated;
  };

  return {
    key: commit,
    label: `${commit.slice(0, 8)} ${subject}`.trimEnd(),
    git: { commit, branch: BISECT_BRANCH, dirty: false },
    open: async () => {
      const problem = await addWorktree(repository, worktree, commit);
      if (io.signal.aborted) throw new InterruptedError('interrupted');
      if (problem !== null) throw new BrokenSubjectError(`git worktree: ${problem}`);
      const cwd = place(io.cwd) ?? worktree;
      if (!existsSync(cwd)) throw new BrokenSubjectError(`the folder ${relative(worktree, cwd)} is not in this commit`);
      await runCommand({ command, cwd, log: join(folder, 'logs', commit.slice(0, 16)) }, io);
      return {
        io: { ...io, cwd },
        matrix: await ownMatrix(),
        trtexec: trtexec === null ? null : ownProgram(trtexec),
        replay,
        model: null,
        timingCache: null,
        hasOwnEngines: (program) => isInside(worktree, program),
        beforeRun: () => Promise.resolve(),
      };
    },
    close: () => removeWorktree(repository, worktree),
  };
}

/** Resolves symbolic links of the folders; the file need not exist. */
function realPath(path: string): string {
  try {
    return join(realpathSync(dirname(path)), relative(dirname(path), path));
  } catch {
    return path;
  }
}
