import type { Sweep } from '../records/sweep.ts';
import { printable } from './printable.ts';

/** `main 1a2b3c4d+dirty`: the branch and the commit, as far as known. */
export function describeCommit({ branch, commit, dirty }: Pick<Sweep, 'branch' | 'commit' | 'dirty'>): string {
  if (commit === null) return printable(branch ?? '');
  const short = `${commit.slice(0, 8)}${dirty === true ? '+dirty' : ''}`;
  return branch === null ? short : `${printable(branch)} ${short}`;
}
