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

/** The commits after `from` up to `to`, newest first, at most `limit`; empty if git knows neither. */
export async function commitsBetween(cwd: string, from: string, to: string, limit: number) {
  const lines = await log(cwd, [`--max-count=${limit}`, '--format=%H %s'], `${from}..${to}`);
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

/** URL of the remote `origin`, which may hold a password; null if there is none. */
export async function originUrl(cwd: string): Promise<string | null> {
  return (await git(cwd, ['remote', 'get-url', 'origin']))?.trim() ?? null;
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

export async function removeWorktree(repository: string, folder: string): Promise<void> {
  await askGit(repository, ['worktree', 'remove', '--force', '--force', folder]);
  await rm(folder, { recursive: true, force: true });
}

/** Removes a folder and all worktrees in it; the folder contains nothing else. */
export async function removeWorktrees(repository: string, folder: string): Promise<void> {
  const names = await readdir(folder).catch((): string[] => []);
  for (const name of names) await removeWorktree(repository, join(folder, name));
  await rm(folder, { recursive: true, force: true });
}

/** The web address of a repository. */
export interface Forge {
  readonly kind: keyof typeof PATHS;
  /** `https://github.com/acme/bench`, without user and password. */
  readonly url: string;
}

const PATHS = {
  github: { commit: 'commit', compare: (a: string, b: string) => `compare/${a}...${b}` },
  gitlab: { commit: '-/commit', compare: (a: string, b: string) => `-/compare/${a}...${b}` },
  gitea: { commit: 'commit', compare: (a: string, b: string) => `compare/${a}...${b}` },
  bitbucket: { commit: 'commits', compare: (a: string, b: string) => `branches/compare/${b}..${a}` },
} as const;

/** A word of the host that names its software: `github.com`, `gitlab.acme.com`. */
const FORGES: Readonly<Record<string, Forge['kind']>> = {
  github: 'github',
  gitlab: 'gitlab',
  bitbucket: 'bitbucket',
  codeberg: 'gitea',
  gitea: 'gitea',
  forgejo: 'gitea',
};

/** Matches `git@host:path`, which is not a URL. */
const SCP = /^(?:[\w.-]+@)?(?<host>[\w.-]+):(?<path>[^/].*)$/;

/**
 * @param remote URL of a remote, as git prints it: `https:`, `http:`, `ssh:`, `git:`, or `user@host:path`
 * @returns null for a host that is not a known forge, because a guessed link would be wrong
 */
export function forgeOf(remote: string): Forge | null {
  const place = placeOf(remote.trim());
  if (place === null) return null;
  const { host, path, scheme } = place;
  const kind = FORGES[host.split('.')[0] ?? ''];
  const segments = path
    .replace(/\.git\/?$/, '')
    .split('/')
    .filter((segment) => segment !== '');
  const isPath = segments.every((segment) => /^[\w~-][\w.~-]*$/.test(segment));
  if (kind === undefined || !isPath || segments.length < 2) return null;
  if (kind !== 'gitlab' && segments.length > 2) return null;
  return { kind, url: `${scheme}//${host}${place.port}/${segments.join('/')}` };
}

function placeOf(remote: string) {
  // `git@host:path` is not a URL.
  const url = URL.parse(remote.includes('://') ? remote : remote.replace(SCP, 'ssh://$<host>/$<path>'));
  if (url === null || !['https:', 'http:', 'ssh:', 'git:', 'git+ssh:'].includes(url.protocol)) return null;
  const isWeb = url.protocol === 'https:' || url.protocol === 'http:';
  // The port of ssh differs from that of the web pages.
  const port = isWeb && url.port !== '' ? `:${url.port}` : '';
  return { scheme: isWeb ? url.protocol : 'https:', host: url.hostname.toLowerCase(), port, path: url.pathname };
}

/** @returns null for a text that is not a commit ID */
export function commitUrl({ kind, url }: Forge, commit: string): string | null {
  return isCommit(commit) ? `${url}/${PATHS[kind].commit}/${commit}` : null;
}

/** URL of the changes from `from` to `to`. @returns null if one of them is not a commit ID */
export function compareUrl({ kind, url }: Forge, from: string, to: string): string | null {
  return isCommit(from) && isCommit(to) ? `${url}/${PATHS[kind].compare(from, to)}` : null;
}

function isCommit(text: string): boolean {
  return /^[0-9a-f]{7,64}$/.test(text);
}
