import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { expect } from 'vitest';

import { temporaryFolder } from './bench.ts';
import { Repository } from './repository.ts';

/** Stands in for trtexec: how long a run takes stands in the ONNX file that the engine was built from. */
export const BISECT_TRTEXEC = join(import.meta.dirname, 'bisect-trtexec.mjs');

const MATRIX = `name: nightly
models:
  small:
    shapes: {input: [batch, 3]}
    precisions: {fp16: {onnx: build/model.onnx}}
axes: {precision: fp16, batch: [1, 8]}
build: {opt: {batch: 8}}
`;

const BUILD = `#!/bin/sh
mkdir -p build
grep -q broken source && exit 3
echo . >> "\${BUILD_JOURNAL:-/dev/null}"
cp source build/model.onnx
`;

/**
 * A repository with one commit for each text: its file `source` becomes the model when `./build.sh` is run. The times
 * of a model that says `scale=1.05` are 5 % longer.
 * @returns its commits, the oldest first
 */
export function makeHistory(repository: Repository, sources: readonly string[]): string[] {
  writeInto(repository.folder, 'm.yaml', MATRIX);
  writeInto(repository.folder, 'build.sh', BUILD);
  chmodSync(join(repository.folder, 'build.sh'), 0o755);
  const [first = '', ...others] = sources;
  writeInto(repository.folder, 'source', first);
  repository.git('add', '.');
  repository.commit();
  return repository.commitTexts('source', others);
}

/** A repository of such commits in a folder of its own. */
export function history(sources: readonly string[], folder = temporaryFolder()) {
  const repository = new Repository(folder);
  return { repository, commits: makeHistory(repository, sources) };
}

/** Nothing of the worktrees is left, neither in the folder of the command nor in the user's repository. */
export function expectNoWorktrees(repository: Repository, command: 'bisect' | 'compare-run'): void {
  expect(repository.git('worktree', 'list', '--porcelain').match(/^worktree /gm)).toHaveLength(1);
  const folder = join(repository.folder, command);
  const left = existsSync(folder) ? readdirSync(folder, { recursive: true }).map(String) : [];
  expect(left.filter((name) => /worktrees|engines|\.tmp-|\.pid$/.test(name))).toEqual([]);
}

export function writeInto(folder: string, name: string, text: string): void {
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

/** Commits of which those from `culprit` on are slower. */
export const slowFrom = (culprit: number, count: number, scale = 1.05): string[] =>
  Array.from({ length: count }, (_, place) => `change ${place} scale=${place >= culprit ? scale : 1}\n`);
