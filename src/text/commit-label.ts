import { COMPARE_BRANCH, type Sweep } from '../records/sweep.ts';
import { printable } from './printable.ts';

/** `main 1a2b3c4d+dirty`: the branch and the commit, as far as known. */
export function describeCommit({ branch, commit, dirty }: Pick<Sweep, 'branch' | 'commit' | 'dirty'>): string {
  if (commit === null) return printable(branch ?? '');
  const short = `${commit.slice(0, 8)}${dirty === true ? '+dirty' : ''}`;
  if (branch === null) return short;
  // The two sweeps differ in the commit, which a narrow column must not truncate.
  return branch === COMPARE_BRANCH ? `${short} ${branch}` : `${printable(branch)} ${short}`;
}
