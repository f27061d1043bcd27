import { BISECT_BRANCH } from '../../records/sweep.ts';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';

import { searchCommits, testsLeft } from './commit-search.ts';
import { factorTestsLeft, searchFactors } from './factor-search.ts';
import type { Judged } from './step.ts';
import { UsageError } from '../../errors.ts';
import { printable } from '../../text/printable.ts';
import {
  commitRange,
  contains,
  readGitState,
  removeWorktrees,
  repositoryFolder,
  subjectOf,
} from '../../tools/git/git.ts';
import type { Io } from '../../cli/io.ts';
import { CommitSubject } from './commit-subject.ts';
import { FactorSubject, keyOfFactors } from './factor-subject.ts';
import type { BisectRequest, CommitRequest, FactorRequest } from './state.ts';
import type { Subject } from './subject.ts';

/** What a bisection ends with. `names` are commits or factors: the one, or those that it may be. */
export interface TaskEnd {
  readonly kind: 'found' | 'range' | 'together';
  readonly names: readonly string[];
}

/** What is searched through, whatever it is. */
export interface Task {
  readonly good: Subject;
  readonly bad: Subject;
  /** Candidates that will be tested when each can be judged. */
  readonly tests: number;
  next(judged: readonly Judged[]): { readonly kind: 'test'; readonly subject: Subject } | TaskEnd;
  testsLeft(judged: readonly Judged[]): number;
  /** A subject by its key. */
  subject(key: string): Subject;
  /** Removes what was made for any of them; what is needed to go on is kept. */
  close(): Promise<void>;
  /** The key of the subject that a name of the end stands for. */
  keyOf(name: string): string;
  /** The names in a key: the commit, or the factors that are bad. */
  namesOf(key: string): readonly string[];
  /** The subject line of a commit. */
  subjectOf(name: string): string | null;
}

export function taskOf(request: BisectRequest, folder: string, io: Io): Promise<Task> {
  const { search } = request;
  return search.kind === 'commits' ? commitTask(request, search, folder, io) : factorTask(request, search, folder, io);
}

async function commitTask(
  request: BisectRequest,
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
  const { matrix, trtexec, replay } = request;
  if (matrix === null) throw new UsageError('which matrix? --matrix FILE');
  const commits = await commitRange(io.cwd, good, bad);
  const subjects = new Map(commits.map(({ commit, subject }) => [commit, subject]));
  subjects.set(good, await subjectOf(io.cwd, good));
  const source = { repository, folder, command, matrix, trtexec, replay };
  const make = (commit: string): CommitSubject => new CommitSubject(commit, subjects.get(commit) ?? '', source, io);
  return {
    good: make(good),
    bad: make(bad),
    tests: testsLeft(commits, []),
    next: (judged) => {
      const state = searchCommits(commits, judged);
      if (state.kind === 'test') return { kind: 'test', subject: make(state.commit) };
      return state.kind === 'found'
        ? { kind: 'found', names: [state.commit] }
        : { kind: 'range', names: state.commits };
    },
    testsLeft: (judged) => testsLeft(commits, judged),
    subject: make,
    close: () => removeWorktrees(repository, join(folder, 'worktrees')),
    keyOf: (commit) => commit,
    namesOf: (commit) => [commit],
    subjectOf: (commit) => subjects.get(commit) ?? null,
  };
}

async function factorTask(request: BisectRequest, search: FactorRequest, folder: string, io: Io): Promise<Task> {
  const names = search.factors.map(({ name }) => name);
  const git = { ...(await readGitState(io.cwd)), branch: BISECT_BRANCH };
  const make = (bad: readonly string[]): FactorSubject => new FactorSubject(bad, request, search, git, folder, io);
  const sets = (judged: readonly Judged[]) =>
    judged.map(({ candidate, verdict }) => ({
      bad: names.filter((name) => factorsOfKey(candidate).includes(name)),
      verdict,
    }));
  return {
    good: make([]),
    bad: make(names),
    tests: factorTestsLeft(names, []),
    next: (judged) => {
      const state = searchFactors(names, sets(judged));
      if (state.kind === 'test') return { kind: 'test', subject: make(state.bad) };
      return state.kind === 'found'
        ? { kind: 'found', names: [state.factor] }
        : { kind: state.kind, names: state.factors };
    },
    testsLeft: (judged) => factorTestsLeft(names, sets(judged)),
    subject: (key) => make(factorsOfKey(key)),
    close: () => rm(join(folder, 'timing'), { recursive: true, force: true }),
    keyOf: (name) => keyOfFactors([name]),
    namesOf: factorsOfKey,
    subjectOf: () => null,
  };
}

/** The names in a key that `keyOfFactors` made. */
function factorsOfKey(key: string): string[] {
  const parsed: unknown = JSON.parse(key);
  return Array.isArray(parsed) ? parsed.map(String) : [];
}
