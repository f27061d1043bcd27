import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

import { type Answer, ask, problemOf } from '../../process/ask.ts';
import { type GitState, NO_GIT } from '../../records/sweep.ts';

/** Enough history to find the nearest measured ancestor of any commit worth comparing. */
const MAX_ANCESTORS = 20_000;

function askGit(cwd: string, args: readonly string[], timeoutMs = 0): Promise<Answer> {
  return ask('git', args, { cwd, timeoutMs });
}

/** Output of git; null without git or a repository, or if git fails. */
export async function git(cwd: string, args: readonly string[], timeoutMs = 0): Promise<string | null> {
  const answer = await askGit(cwd, args, timeoutMs);
  return answer.kind === 'answered' ? answer.text : null;
}

/** Untracked files do not make a tree dirty. @param timeoutMs 0 for no limit */
export async function readGitState(cwd: string, timeoutMs = 0): Promise<GitState> {
  const args = ['status', '--porcelain=v2', '--branch', '--untracked-files=no'];
  const status = await git(cwd, args, timeoutMs);
  if (status === null) return NO_GIT;
  const oid = /^# branch\.oid ([0-9a-f]+)$/m.exec(status)?.[1] ?? null;
  const head = /^# branch\.head (.*)$/m.exec(status)?.[1] ?? null;
  return { commit: oid, branch: head === '(detached)' ? null : head, dirty: /^[^#\n]/m.test(status) };
}

/** The checked-out branch, or that of the CI job. Unlike `git status`, this does not look at the files. */
export async function branchHere(cwd: string, env: Parameters<typeof ciBranch>[0]): Promise<string | null> {
  return (await git(cwd, ['branch', '--show-current']))?.trim() || ciBranch(env);
}

/** Null if the revision is unknown. */
export async function resolveRevision(cwd: string, revision: string): Promise<string | null> {
  // Reject an empty name, which git takes for HEAD.
  if (revision.trim() === '') return null;
  const out = await git(cwd, ['rev-parse', '--verify', '--quiet', '--end-of-options', `${revision}^{commit}`]);
  return out?.trim() ?? null;
}

export async function mergeBase(cwd: string, a: string, b: string): Promise<string | null> {
  return (await git(cwd, ['merge-base', '--end-of-options', a, b]))?.trim() ?? null;
}

/** Output of `git log` for each commit; empty if git does not know the revisions. */
async function log(cwd: string, args: readonly string[], revisions: string): Promise<string[]> {
  const out = await git(cwd, ['-c', 'log.showSignature=false', 'log', ...args, '--end-of-options', revisions]);
  return (out ?? '').split('\n').filter((line) => line !== '');
}

const LISTED_COMMITS = 50;

type OfCommit = { readonly commit: string | null } | null;

/** The commits after `from` up to `to`, newest first; empty if one is not known. */
export async function commitsBetween(cwd: string, from: OfCommit, to: OfCommit) {
  if (!from?.commit || !to?.commit || from.commit === to.commit) return [];
  const lines = await log(cwd, [`--max-count=${LISTED_COMMITS}`, '--format=%H %s'], `${from.commit}..${to.commit}`);
  return lines.map((line) => ({ commit: line.slice(0, 40), subject: line.slice(41) }));
}

export async function contains(cwd: string, commit: string, ancestor: string): Promise<boolean> {
  return (await git(cwd, ['merge-base', '--is-ancestor', ancestor, commit])) !== null;
}

export async function ancestors(cwd: string, commit: string): Promise<string[]> {
  const out = await git(cwd, ['rev-list', `--max-count=${MAX_ANCESTORS}`, '--end-of-options', commit]);
  return out === null ? [] : out.trim().split('\n');
}

/**
 * The branch of a CI job, which works on a detached head, from variables of GitHub, GitLab and Jenkins. A tag has no
 * branch.
 */
export function ciBranch(env: Readonly<Record<string, string | undefined>>): string | null {
  const isTag = env['GITHUB_REF_TYPE'] === 'tag' || Boolean(env['CI_COMMIT_TAG']);
  const names = [
    // For a pull request, the ref name is that of the merge: `12/merge`.
    env['GITHUB_HEAD_REF'],
    ...(isTag ? [] : [env['GITHUB_REF_NAME'], env['CI_COMMIT_REF_NAME']]),
    env['BRANCH_NAME'],
  ];
  return firstStated(names);
}

/** The target branch of a pull request, from variables of GitHub, GitLab and Jenkins. */
export function targetBranch(env: Readonly<Record<string, string | undefined>>): string | null {
  return firstStated([env['GITHUB_BASE_REF'], env['CI_MERGE_REQUEST_TARGET_BRANCH_NAME'], env['CHANGE_TARGET']]);
}

function firstStated(names: readonly (string | undefined)[]): string | null {
  return names.find((name) => name !== undefined && name !== '') ?? null;
}

/** The root of the repository that contains a folder; null if there is none. */
export async function repositoryFolder(cwd: string): Promise<string | null> {
  return (await git(cwd, ['rev-parse', '--show-toplevel']))?.replace(/\n$/, '') ?? null;
}

/** @param path path relative to the root of the repository */
export async function isInCommit(repository: string, commit: string, path: string): Promise<boolean> {
  return (await git(repository, ['cat-file', '-e', `${commit}:${path}`])) !== null;
}

/** How to get the commits that a shallow clone lacks; null for another repository, or none. */
export async function shallowHint(cwd: string): Promise<string | null> {
  if ((await git(cwd, ['rev-parse', '--is-shallow-repository']))?.trim() !== 'true') return null;
  return 'this clone is shallow: fetch the whole history (git fetch --unshallow; fetch-depth: 0 in CI)';
}

export async function subjectOf(cwd: string, commit: string): Promise<string> {
  return (await log(cwd, ['--max-count=1', '--format=%s'], commit))[0] ?? '';
}

/**
 * Adds a worktree without changing the checkout of the user; removes an existing one of this path. Returns git's error,
 * or null.
 */
export async function addWorktree(repository: string, folder: string, commit: string): Promise<string | null> {
  await removeWorktree(repository, folder);
  const answer = await askGit(repository, ['worktree', 'add', '--detach', '--force', folder, commit]);
  return answer.kind === 'answered' ? null : problemOf(answer);
}

async function removeWorktree(repository: string, folder: string): Promise<void> {
  await askGit(repository, ['worktree', 'remove', '--force', '--force', folder]);
  await rm(folder, { recursive: true, force: true });
}

/** Removes a folder and all worktrees in it; the folder contains nothing else. */
export async function removeWorktrees(repository: string, folder: string): Promise<void> {
  const names = await readdir(folder).catch((): string[] => []);
  for (const name of names) await removeWorktree(repository, join(folder, name));
  await rm(folder, { recursive: true, force: true });
}

export function isCommit(text: string): boolean {
  return /^[0-9a-f]{7,64}$/.test(text);
}
