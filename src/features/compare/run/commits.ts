import type { Io } from '../../../cli/io.ts';
import { UsageError } from '../../../errors.ts';
import { splitRange } from '../../../selection/sides.ts';
import { printable } from '../../../text/printable.ts';
import { isShallow, mergeBase, readGitState, repositoryFolder, resolveRevision } from '../../../tools/git/git.ts';

export interface NamedCommit {
  /** As it was named. Not safe to print. */
  readonly ref: string;
  readonly commit: string;
}

export interface TwoCommits {
  /** Top folder of the checkout. */
  readonly repository: string;
  readonly base: NamedCommit;
  readonly head: NamedCommit;
  /** True when head is checked out, with changes that are not committed. */
  readonly isDirty: boolean;
}

/**
 * `A..B`, `A...B` (from where the two parted), `A B`, `A` (against HEAD); HEAD against the commit before it when nothing
 * is named.
 * @throws UsageError where these are not two commits
 */
export async function twoCommits(base: string | undefined, head: string | undefined, io: Io): Promise<TwoCommits> {
  const repository = await repositoryFolder(io.cwd);
  if (repository === null) {
    throw new UsageError('there is no git repository here, or no git: --run checks out two commits and measures them');
  }
  const range = base === undefined || head !== undefined ? null : splitRange(base);
  const from = range?.from ?? base ?? 'HEAD~1';
  const to = await named(range?.to ?? head ?? 'HEAD', io);
  const stated = await named(from, io).catch((error: unknown) => {
    if (base !== undefined) throw error;
    throw new UsageError(`${commitText(to)} has no commit before it: name two`);
  });
  const sides = { base: range?.symmetric === true ? await parted(stated, to, io) : stated, head: to };
  const { commit, dirty } = await readGitState(io.cwd);
  const isDirty = dirty === true && commit === to.commit;
  if (sides.base.commit === to.commit) {
    const advice = isDirty ? 'uncommitted changes are not measured: commit them first' : 'name two, as in HEAD~1..HEAD';
    const names = from === to.ref ? printable(from) : `${printable(from)} and ${printable(to.ref)}`;
    throw new UsageError(`both sides are commit ${to.commit.slice(0, 8)} (${names}); ${advice}`);
  }
  return { repository, ...sides, isDirty };
}

/** `main (1a2b3c4d)`. */
export function commitText({ ref, commit }: NamedCommit): string {
  const short = commit.slice(0, 8);
  return commit.startsWith(ref) ? short : `${printable(ref)} (${short})`;
}

async function named(ref: string, io: Io): Promise<NamedCommit> {
  const commit = await resolveRevision(io.cwd, ref);
  if (commit !== null) return { ref, commit };
  const why = (await isShallow(io.cwd))
    ? 'not in this shallow clone: fetch the whole history (git fetch --unshallow; fetch-depth: 0 in CI)'
    : 'no git revision here: --run measures commits';
  throw new UsageError(`${printable(ref)}: ${why}`);
}

async function parted(from: NamedCommit, to: NamedCommit, io: Io): Promise<NamedCommit> {
  const commit = await mergeBase(io.cwd, from.commit, to.commit);
  if (commit === null) throw new UsageError(`${printable(from.ref)}...${printable(to.ref)}: no common commit`);
  return { ref: from.ref, commit };
}
