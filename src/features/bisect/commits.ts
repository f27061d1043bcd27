import type { Io } from '../../cli/io.ts';
import { UsageError } from '../../errors.ts';
import { printable } from '../../text/printable.ts';
import { contains, git, repositoryFolder, subjectOf } from '../../tools/git/git.ts';
import { inTurns, type TwoCommits } from '../compare/index.ts';
import { type CommitRequest, type NextTest, type Search, type Settings, type Step, measureOptions } from './search.ts';

/** Bisects the commits between two. Each is measured in turns with GOOD. */
export async function commitSearch(settings: Settings, search: CommitRequest, io: Io): Promise<Search> {
  const { bad, badRef, command, good, goodRef } = search;
  const repository = await repositoryFolder(io.cwd);
  if (repository === null) throw new UsageError('there is no git repository here');
  if (!(await contains(io.cwd, bad, good))) {
    const names = `${printable(goodRef)} is not an ancestor of ${printable(badRef)}`;
    throw new UsageError(`${names}: name the older commit first, or their merge base (git merge-base)`);
  }
  const build = command.length === 0 ? {} : { build: command };
  const options = { ...measureOptions(settings, settings.request.matrix ?? '', io), ...build };
  const { measuredCommits, pairIds, requestOf } = await inTurns();
  const upTo = (commit: string): TwoCommits => ({
    repository,
    base: { ref: goodRef, commit: good },
    head: { ref: commit === bad ? badRef : commit, commit },
    isDirty: false,
  });
  const end = async (ref: string, commit: string) => ({ ref, commit, subject: await subjectOf(io.cwd, commit) });
  return {
    kind: 'commits',
    good: await end(goodRef, good),
    bad: await end(badRef, bad),
    all: [bad],
    next: async (steps) => nextCommit(search, steps, repository),
    measured: async ([commit = bad], goal) => measuredCommits(upTo(commit), { ...options, ...goal }, io),
    idsOf: async ([commit = bad]) => pairIds(await requestOf(upTo(commit), options, io), 1),
    subjectOf: async (commit) => subjectOf(io.cwd, commit),
  };
}

/** Chooses the commit that halves the rest, as `git bisect` does. Commits that could not be judged are skipped. */
async function nextCommit({ bad, good }: CommitRequest, steps: readonly Step[], repository: string): Promise<NextTest> {
  const judged = (wanted: Step['verdict']): string[] =>
    steps.flatMap(({ candidate, verdict }) => (verdict === wanted ? candidate : []));
  const worst = judged('bad').at(-1) ?? bad;
  const left = async (order: string): Promise<string> =>
    (await git(repository, ['rev-list', order, worst, '--not', good, ...judged('good')])) ?? '';
  const names = (await left('--reverse')).split('\n').filter(Boolean);
  const distances = new Map(
    [...(await left('--bisect-all')).matchAll(/^(\w+) .*dist=(\d+)/gm)].map(([, commit, text]) => [
      commit,
      Number(text),
    ]),
  );
  const tried = new Set([worst, ...judged('unclear'), ...judged('broken')]);
  // Of commits that halve the rest equally well, the oldest.
  const [candidate] = names
    .filter((commit) => !tried.has(commit))
    .toSorted((a, b) => (distances.get(b) ?? 0) - (distances.get(a) ?? 0));
  if (candidate !== undefined) return { kind: 'test', candidate: [candidate] };
  return { kind: names.length === 1 ? 'found' : 'range', names };
}
