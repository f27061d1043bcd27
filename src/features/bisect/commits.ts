import type { Io } from '../../cli/io.ts';
import { UsageError } from '../../errors.ts';
import { BISECT_BRANCH } from '../../records/sweep.ts';
import { printable } from '../../text/printable.ts';
import { type CheckoutSource, CommitCheckout, worktreesOf } from '../../run/checkout/commit-checkout.ts';
import { commitRange, contains, removeWorktrees, repositoryFolder, subjectOf } from '../../tools/git/git.ts';
import { searchCommits, testsLeft } from './commit-search.ts';
import type { Subject, Task } from './subject.ts';
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
    close: () => removeWorktrees(repository, worktreesOf(folder)),
    keyOf: (commit) => commit,
    namesOf: (commit) => [commit],
    subjectOf: (commit) => subjects.get(commit) ?? null,
  };
}

/** A commit in a worktree, built by the user's command. */
function commitSubject(
  commit: string,
  subject: string,
  source: CheckoutSource & Pick<BisectRequest, 'replay'>,
  io: Io,
): Subject {
  const checkout = new CommitCheckout(commit, source, io);
  return {
    key: commit,
    label: `${commit.slice(0, 8)} ${subject}`.trimEnd(),
    git: { commit, branch: BISECT_BRANCH, dirty: false },
    open: async () => {
      await checkout.add();
      await checkout.build();
      return {
        io: checkout.there,
        matrix: (await checkout.matrix()).path,
        trtexec: checkout.trtexec,
        replay: source.replay,
        model: null,
        timingCache: null,
        hasOwnEngines: (program) => checkout.holds(program),
        beforeRun: () => Promise.resolve(),
      };
    },
    close: () => checkout.remove(),
  };
}
