import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { readOnnxFacts } from '../../../src/tools/onnx/onnx-file.ts';
import { temporaryFolder } from '../../support/bench.ts';
import { ONNX_MODELS } from '../../support/onnx-models.ts';
import { initializer, model, writeSparse } from '../../support/onnx-writer.ts';

test('files with weights: that are not there, cut off, elsewhere, or no files', async () => {
  const folder = temporaryFolder();
  const path = join(folder, 'm.onnx');
  mkdirSync(join(folder, 'folder'));
  writeFileSync(join(folder, 'short'), 'abc');
  const files = ['missing', 'short', '../outside', '/etc/passwd', 'folder', '', 'a/../short'];
  writeSparse(path, model(17, ...files.flatMap((file, i) => initializer(`w${i}`, 4, file, 2))));
  const { externalFiles } = await readOnnxFacts(path);
  expect(externalFiles.map(({ location, bytes, problem }) => [location, bytes, problem])).toEqual([
    ['', null, 'the model does not name it'],
    ['../outside', null, "outside of the model's folder"],
    ['/etc/passwd', null, "outside of the model's folder"],
    ['a/../short', 3, 'has 3 bytes of 10: it is cut off'],
    ['folder', null, 'not a regular file'],
    ['missing', null, 'file not found'],
    ['short', 3, 'has 3 bytes of 10: it is cut off'],
  ]);
});

test('a folder, a pipe that nobody writes, and a model cut off in its weights are no files with a model', async () => {
  const folder = temporaryFolder();
  await expect(readOnnxFacts(folder)).rejects.toThrow('not a regular file');
  const [pipe, cut] = [join(folder, 'pipe.onnx'), join(folder, 'cut.onnx')];
  execFileSync('mkfifo', [pipe]);
  await expect(readOnnxFacts(pipe)).rejects.toThrow('not a regular file');
  copyFileSync(join(ONNX_MODELS, 'vit_tiny.onnx'), cut);
  truncateSync(cut, 60_000);
  await expect(readOnnxFacts(cut)).rejects.toThrow(/^byte \d+: .*the file is cut off/);
});
