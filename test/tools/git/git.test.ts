import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { ancestors, mergeBase, readGitState, resolveRevision } from '../../../src/tools/git/git.ts';
import { temporaryFolder } from '../../support/bench.ts';
import { Repository } from '../../support/repository.ts';
import { commitUrl, compareUrl, forgeOf } from '../../../src/tools/git/forge.ts';

test('commit, branch and changes of the working tree', async () => {
  const repository = new Repository(temporaryFolder());
  const commit = repository.commit();
  expect(await readGitState(repository.folder)).toEqual({ commit, branch: 'main', dirty: false });
  writeFileSync(join(repository.folder, 'untracked'), '');
  expect(await readGitState(repository.folder)).toMatchObject({ dirty: false });
  repository.makeDirty();
  expect(await readGitState(repository.folder)).toMatchObject({ dirty: true });
  repository.git('checkout', '--quiet', '--detach', '--force');
  expect(await readGitState(repository.folder)).toMatchObject({ commit, branch: null });
});

test('no repository, or one without a commit', async () => {
  expect(await readGitState(temporaryFolder())).toEqual({ commit: null, branch: null, dirty: null });
  expect(await readGitState(new Repository(temporaryFolder()).folder)).toMatchObject({ commit: null, branch: 'main' });
  expect(await ancestors(temporaryFolder(), 'abc')).toEqual([]);
});

test('revisions, ancestors and where two lines parted', async () => {
  const repository = new Repository(temporaryFolder());
  const [first, second] = [repository.commit(), repository.commit()];
  repository.git('checkout', '--quiet', '-b', 'feature/ünï"quoted"$(x);😀');
  const side = repository.commit();
  repository.git('checkout', '--quiet', 'main');
  const third = repository.commit('main again');
  const { folder } = repository;
  expect(await resolveRevision(folder, 'HEAD~1')).toBe(second);
  expect(await resolveRevision(folder, 'feature/ünï"quoted"$(x);😀')).toBe(side);
  expect(await ancestors(folder, third)).toEqual([third, second, first]);
  expect(await mergeBase(folder, third, side)).toBe(second);
  for (const nonsense of ['nope', '', '--help', '--output=/tmp/x', '-n1', 'HEAD; id', '../..']) {
    expect(await resolveRevision(folder, nonsense)).toBeNull();
  }
});

describe('where a remote can be read', () => {
  test.each([
    ['https://github.com/acme/bench.git', 'github', 'https://github.com/acme/bench'],
    ['git@github.com:acme/bench.git', 'github', 'https://github.com/acme/bench'],
    ['ssh://git@github.com:22/acme/bench.git', 'github', 'https://github.com/acme/bench'],
    ['git://GitHub.com/acme/bench.git', 'github', 'https://github.com/acme/bench'],
    ['https://gitlab.acme.com:8443/gpu/bench.git', 'gitlab', 'https://gitlab.acme.com:8443/gpu/bench'],
    ['ssh://git@codeberg.org/acme/bench.git', 'gitea', 'https://codeberg.org/acme/bench'],
    ['git@bitbucket.org:acme/bench.git', 'bitbucket', 'https://bitbucket.org/acme/bench'],
    // Without user and password.
    ['https://me:ghp_secret@github.com/acme/bench.git', 'github', 'https://github.com/acme/bench'],
  ] as const)('%s', (remote, kind, url) => expect(forgeOf(remote)).toEqual({ kind, url }));

  test.each([
    'git@notgithub.com:acme/bench.git',
    'https://github.com/acme',
    'https://github.com/acme/bench/extra',
    'https://github.com/acme/../../bench',
    'https://github.com/acme/"><script>',
    'javascript:alert(1)//github.com/a/b',
    '../bench',
    '',
  ])('no link for %j', (remote) => expect(forgeOf(remote)).toBeNull());
});

describe('links', () => {
  const [from, to] = ['b74fdbe2', '4aac0ffa'];

  test.each([
    ['github', 'https://github.com/a/b', 'commit/4aac0ffa', 'compare/b74fdbe2...4aac0ffa'],
    ['gitlab', 'https://gitlab.com/a/b', '-/commit/4aac0ffa', '-/compare/b74fdbe2...4aac0ffa'],
    ['gitea', 'https://codeberg.org/a/b', 'commit/4aac0ffa', 'compare/b74fdbe2...4aac0ffa'],
    ['bitbucket', 'https://bitbucket.org/a/b', 'commits/4aac0ffa', 'branches/compare/4aac0ffa..b74fdbe2'],
  ] as const)('%s', (kind, url, commit, compare) => {
    expect(commitUrl({ kind, url }, to)).toBe(`${url}/${commit}`);
    expect(compareUrl({ kind, url }, from, to)).toBe(`${url}/${compare}`);
  });

  test('what is no commit id is never part of a link', () => {
    const forge = { kind: 'github', url: 'https://github.com/a/b' } as const;
    expect([commitUrl(forge, '../../evil'), commitUrl(forge, 'main')]).toEqual([null, null]);
    expect(compareUrl(forge, from, '"onclick=')).toBeNull();
  });
});
