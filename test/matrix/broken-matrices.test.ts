import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { BROKEN_MATRICES } from './broken-matrices.ts';
import { bench, temporaryFolder } from '../support/bench.ts';

test('broken matrices through the command line: every line with its place, exit code 2, no stack', async () => {
  expect(BROKEN_MATRICES.length).toBeGreaterThanOrEqual(30);
  await Promise.all(
    BROKEN_MATRICES.map(async ({ name, files, mistakes }) => {
      const folder = temporaryFolder();
      for (const [path, text] of Object.entries(files)) {
        mkdirSync(join(folder, path, '..'), { recursive: true });
        writeFileSync(join(folder, path), text);
      }
      const { code, stdout, stderr } = await bench(['plan', 'm.yaml', '--tensorrt', '10.6'], { cwd: folder });
      expect([name, code, stdout]).toEqual([name, 2, '']);
      expect([name, stderr.trimEnd().split('\n')]).toEqual([
        name,
        mistakes.map((line) => `bench: ${line.replace(process.cwd(), folder)}`),
      ]);
    }),
  );
}, 60_000);
