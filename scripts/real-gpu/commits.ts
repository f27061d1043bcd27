import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

import { execa } from 'execa';

import { type MatrixOptions, matrixOf } from './matrices.ts';
import type { Visit } from './visit.ts';

/** A git repository of five commits that hold a matrix; from the fourth on its engine is built with level 0. */
export async function makeRepository(
  visit: Visit,
  options: MatrixOptions,
): Promise<{ folder: string; culprit: string }> {
  const folder = join(visit.place.folder, 'commits');
  mkdirSync(folder, { recursive: true });
  const who = ['-c', 'user.name=visit', '-c', 'user.email=visit@example.org'];
  const git = async (...args: readonly string[]): Promise<string> =>
    (await execa('git', [...who, ...args], { cwd: folder })).stdout;
  await git('init', '--quiet', '--initial-branch=main');
  let culprit = '';
  for (const number of [1, 2, 3, 4, 5]) {
    visit.file(`commits/${options.name}.yaml`, matrixOf(visit, { ...options, level: number < 4 ? 3 : 0 }));
    visit.file('commits/notes.txt', `change ${number}\n`);
    await git('add', '.');
    await git('commit', '--quiet', '--message', `change ${number}`);
    if (number === 4) culprit = await git('rev-parse', 'HEAD');
  }
  return { folder, culprit };
}
