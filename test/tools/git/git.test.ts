import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { ancestors, mergeBase, readGitState, resolveRevision } from '../../../src/tools/git/git.ts';
import { temporaryFolder } from '../../support/bench.ts';
import { Repository } from '../../support/repository.ts';

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
  const nothing = { commit: null, branch: null, dirty: null };
  expect(await readGitState(temporaryFolder())).toEqual(nothing);
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
