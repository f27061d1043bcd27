import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { ROOT, bench, temporaryFolder } from '../support/bench.ts';
import { mistakesIn } from '../support/matrices.ts';

/** Matrices that are wrong, and the lines that must be said about each: with their places, and nothing else. */
const BROKEN_MATRICES = readFileSync(join(ROOT, 'test/fixtures/matrices/broken.txt'), 'utf8')
  .split(/^## /m)
  .slice(1)
  .map((block) => {
    const [name = '', ...files] = block.split(/^--- ?/m);
    const mistakes = (files.pop() ?? '').trim().replaceAll('CWD', process.cwd()).split('\n');
    const texts = files.map((file) => [file.split('\n')[0] ?? '', file.slice(file.indexOf('\n') + 1)]);
    return { name: name.trim(), files: Object.fromEntries(texts), mistakes };
  });

test.each(BROKEN_MATRICES)('$name', ({ files, mistakes }) => expect(mistakesIn(files)).toEqual(mistakes));

test('broken matrices through the command line: every line with its place, exit code 2, no stack', async () => {
  const [form, meaning] = ['form', 'meaning'].map((of) =>
    BROKEN_MATRICES.find(({ name }) => name === `every mistake of ${of} at once`),
  );
  const folder = temporaryFolder();
  for (const { files = {}, mistakes } of [form ?? {}, meaning ?? {}]) {
    writeFileSync(join(folder, 'm.yaml'), files['m.yaml'] ?? '');
    const { code, stdout, stderr } = await bench(['plan', 'm.yaml', '--tensorrt', '10.6'], { cwd: folder });
    expect([code, stdout, stderr.trimEnd().split('\n')]).toEqual([2, '', mistakes?.map((line) => `bench: ${line}`)]);
  }
});
