import type { GitState } from '../domain/sweep.ts';
import { readGitState, resolveRevision } from '../git/git.ts';
import type { Io } from './io.ts';

/** The commit that a sweep is of: the one checked out, unless another was named. */
export async function gitStateOf(
  options: { readonly commit?: string; readonly branch?: string },
  io: Io,
): Promise<GitState> {
  const state = await readGitState(io.cwd);
  if (options.commit === undefined) return { ...state, branch: options.branch ?? state.branch };
  const commit = await resolveRevision(io.cwd, options.commit);
  return { commit: commit ?? options.commit, branch: options.branch ?? state.branch, dirty: false };
}
