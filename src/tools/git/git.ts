import { type Answer, ask } from '../../process/ask.ts';
import { type GitState, NO_GIT } from '../../records/sweep.ts';

/** Enough history to find the nearest measured ancestor of any commit that somebody still compares with. */
const MAX_ANCESTORS = 20_000;

/** Asks git a question about the repository that a folder is in. */
export function askGit(cwd: string, args: readonly string[], timeoutMs = 0): Promise<Answer> {
  return ask('git', args, { cwd, timeoutMs });
}

/** What git printed; null when git is not there, this is no repository, or the answer is no. */
async function git(cwd: string, args: readonly string[], timeoutMs = 0): Promise<string | null> {
  const answer = await askGit(cwd, args, timeoutMs);
  return answer.kind === 'answered' ? answer.text : null;
}

/**
 * Commit, branch and whether tracked files were changed. Files that git does not track make no tree dirty.
 * @param timeoutMs after which there is no answer; 0: however long it takes
 */
export async function readGitState(cwd: string, timeoutMs = 0): Promise<GitState> {
  const asked = ['status', '--porcelain=v2', '--branch', '--untracked-files=no'];
  const status = await git(cwd, asked, timeoutMs);
  if (status === null) return NO_GIT;
  const oid = /^# branch\.oid ([0-9a-f]+)$/m.exec(status)?.[1] ?? null;
  const head = /^# branch\.head (.*)$/m.exec(status)?.[1] ?? null;
  return { commit: oid, branch: head === '(detached)' ? null : head, dirty: /^[^#\n]/m.test(status) };
}

/** The full commit id that a revision names, or null. */
export async function resolveRevision(cwd: string, revision: string): Promise<string | null> {
  // git takes an empty name for HEAD.
  if (revision.trim() === '') return null;
  const out = await git(cwd, ['rev-parse', '--verify', '--quiet', '--end-of-options', `${revision}^{commit}`]);
  return out?.trim() ?? null;
}

/** The commit at which two lines of history parted. */
export async function mergeBase(cwd: string, a: string, b: string): Promise<string | null> {
  return (await git(cwd, ['merge-base', '--end-of-options', a, b]))?.trim() ?? null;
}

export interface GitCommit {
  readonly commit: string;
  readonly subject: string;
}

/** The commits after `from` up to `to`, newest first, at most `limit` of them; empty when git knows neither. */
export async function commitsBetween(cwd: string, from: string, to: string, limit: number): Promise<GitCommit[]> {
  const out = await git(cwd, ['log', `--max-count=${limit}`, '--format=%H %s', '--end-of-options', `${from}..${to}`]);
  const lines = (out ?? '').split('\n').filter((line) => line !== '');
  return lines.map((line) => ({ commit: line.slice(0, 40), subject: line.slice(41) }));
}

/** True when `ancestor` is a commit that `commit` contains. */
export async function contains(cwd: string, commit: string, ancestor: string): Promise<boolean> {
  return (await git(cwd, ['merge-base', '--is-ancestor', ancestor, commit])) !== null;
}

/** The commit itself and its ancestors, newest first. */
export async function ancestors(cwd: string, commit: string): Promise<string[]> {
  const out = await git(cwd, ['rev-list', `--max-count=${MAX_ANCESTORS}`, '--end-of-options', commit]);
  return out === null ? [] : out.trim().split('\n');
}
