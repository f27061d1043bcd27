import { UsageError } from '../errors.ts';
import type { GitState } from '../records/sweep.ts';
import { ciBranch, readGitState, resolveRevision } from '../tools/git/git.ts';
import type { Io } from './io.ts';

/**
 * The checked-out commit, or the named one.
 * @throws UsageError when the commit is not in the repository, or there is no repository
 */
export async function gitStateOf(
  options: { readonly commit?: string; readonly branch?: string },
  io: Io,
): Promise<GitState> {
  const state = await readGitState(io.cwd);
  const branch = options.branch ?? state.branch ?? ciBranch(io.env);
  if (options.commit === undefined) return { ...state, branch };
  const commit = await resolveRevision(io.cwd, options.commit);
  const isInRepository = state.dirty !== null;
  if (commit === null && (isInRepository || !/^[0-9a-f]{7,64}$/.test(options.commit))) {
    throw new UsageError(
      `--commit ${options.commit}: ${isInRepository ? 'commit not found in this repository' : 'there is no git repository here; give the id of a commit'}`,
    );
  }
  return { commit: commit ?? options.commit, branch, dirty: false };
}
