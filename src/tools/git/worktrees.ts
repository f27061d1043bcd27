import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

import { problemOf } from '../../process/ask.ts';
import { askGit } from './git.ts';

/**
 * Checks a commit out into a folder of its own; the user's checkout stays as it is. What is in the way is removed.
 * @returns what git refused, or null
 */
export async function addWorktree(repository: string, folder: string, commit: string): Promise<string | null> {
  await removeWorktree(repository, folder);
  const answer = await askGit(repository, ['worktree', 'add', '--detach', '--force', folder, commit]);
  return answer.kind === 'answered' ? null : problemOf('git', answer);
}

/** Removes a worktree with all that was built in it; it may be gone already. */
export async function removeWorktree(repository: string, folder: string): Promise<void> {
  await askGit(repository, ['worktree', 'remove', '--force', '--force', folder]);
  await rm(folder, { recursive: true, force: true });
}

/** Every worktree in a folder that holds nothing else. */
export async function removeWorktrees(repository: string, folder: string): Promise<void> {
  const names = await readdir(folder).catch((): string[] => []);
  for (const name of names) await removeWorktree(repository, join(folder, name));
  await rm(folder, { recursive: true, force: true });
}
