import { keysOf } from '../../text/unknown-values.ts';
import { git, isCommit } from './git.ts';

/** URL of the remote `origin`, which may hold a password; null if there is none. */
export async function originUrl(cwd: string): Promise<string | null> {
  return (await git(cwd, ['remote', 'get-url', 'origin']))?.trim() ?? null;
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

/** Hosts of the software of Gitea. */
const LIKE_GITEA = /^(?:codeberg|forgejo)$/;

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
  // The first word of the host names its software: `github.com`, `gitlab.acme.com`.
  const word = host.split('.', 1).join().replace(LIKE_GITEA, 'gitea');
  const kind = keysOf(PATHS).find((each) => each === word);
  const plain = path.replace(/\.git\/?$/, '');
  const segments = plain.split('/').filter((segment) => segment !== '');
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
