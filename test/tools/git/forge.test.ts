import { describe, expect, test } from 'vitest';

import { commitUrl, compareUrl, forgeOf } from '../../../src/tools/git/forge.ts';

describe('where a remote can be read', () => {
  test.each([
    ['https://github.com/acme/bench.git', 'github', 'https://github.com/acme/bench'],
    ['https://github.com/acme/bench/', 'github', 'https://github.com/acme/bench'],
    ['git@github.com:acme/bench.git', 'github', 'https://github.com/acme/bench'],
    ['github.com:acme/bench', 'github', 'https://github.com/acme/bench'],
    ['ssh://git@github.com:22/acme/bench.git', 'github', 'https://github.com/acme/bench'],
    ['git+ssh://git@github.com/acme/bench.git', 'github', 'https://github.com/acme/bench'],
    ['git://GitHub.com/acme/bench.git', 'github', 'https://github.com/acme/bench'],
    ['git@gitlab.com:acme/gpu/bench.git', 'gitlab', 'https://gitlab.com/acme/gpu/bench'],
    ['https://gitlab.acme.com:8443/gpu/bench.git', 'gitlab', 'https://gitlab.acme.com:8443/gpu/bench'],
    ['http://gitea.lan:3000/acme/bench', 'gitea', 'http://gitea.lan:3000/acme/bench'],
    ['ssh://git@codeberg.org/acme/bench.git', 'gitea', 'https://codeberg.org/acme/bench'],
    ['git@forgejo.acme.com:acme/bench.git', 'gitea', 'https://forgejo.acme.com/acme/bench'],
    ['git@bitbucket.org:acme/bench.git', 'bitbucket', 'https://bitbucket.org/acme/bench'],
    // Without user and password.
    ['https://me:ghp_secret@github.com/acme/bench.git', 'github', 'https://github.com/acme/bench'],
  ] as const)('%s', (remote, kind, url) => {
    expect(forgeOf(remote)).toEqual({ kind, url });
  });

  test.each([
    'https://git.acme.com/gpu/bench.git',
    'git@notgithub.com:acme/bench.git',
    'https://github.com/acme',
    'https://github.com/acme/bench/extra',
    'https://github.com/acme/../../bench',
    'https://github.com/acme/"><script>',
    'javascript:alert(1)//github.com/a/b',
    'file:///srv/git/bench.git',
    '/srv/git/bench.git',
    '../bench',
    '',
  ])('no link for %j', (remote) => {
    expect(forgeOf(remote)).toBeNull();
  });
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
