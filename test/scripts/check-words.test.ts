import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { expect, test } from 'vitest';

import { ROOT, temporaryFolder } from '../support/bench.ts';

const exec = promisify(execFile);
const SCRIPT = join(ROOT, 'scripts', 'check-words.mjs');

function checked(name: string, text: string): Promise<{ code: unknown; stderr: string }> {
  const file = join(temporaryFolder(), name);
  writeFileSync(file, text);
  return exec(process.execPath, [SCRIPT, file]).then(
    ({ stderr }) => ({ code: 0, stderr }),
    (error: { code: unknown; stderr: string }) => ({ code: error.code, stderr: error.stderr }),
  );
}

test.each([
  ['a name', 'names.ts', 'const x = 1;\nconst wasTold = x;\n', 2, 'told'],
  ['a help text', 'help.ts', "option('--last <n>', 'so many lines');\n", 1, 'so many'],
  ['a comment over two lines', 'comment.ts', '/**\n * Measured all the\n * same.\n */\n', 2, 'all the same'],
  ['a document', 'page.md', 'What is beside the store.\n', 1, 'beside'],
])('%s with a word that the glossary replaces is refused, with its line', async (_, name, text, line, word) => {
  const { code, stderr } = await checked(name, text);
  expect(code).toBe(1);
  expect(stderr).toContain(`${name}:${line}: "${word}": say `);
});

test.each([
  ['output of another program in a document', 'page.md', '```console\n[E] the engine stands alone\n```\n'],
  [
    'names in stores and in JSON',
    'names.ts',
    "const { toldSweepId } = finding;\nif (effect === 'barred') id = 'loneOutlier';\n",
  ],
  ['words that contain one', 'words.ts', '// besides, alone, plane, understands\n'],
])('%s is not', async (_, name, text) => {
  expect(await checked(name, text)).toEqual({ code: 0, stderr: '' });
});

test('the text of the project has none', async () => {
  await expect(exec(process.execPath, [SCRIPT])).resolves.toMatchObject({ stderr: '' });
});
