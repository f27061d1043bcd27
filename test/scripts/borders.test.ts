import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

import { beforeAll, describe, expect, test } from 'vitest';

import { ROOT, sharedFolder, temporaryFolder } from '../support/bench.ts';

describe('borders', () => {
  const exec = promisify(execFile);

  /** Each breaks a rule that CONTRIBUTING names; `npm run check` has to refuse it. */
  const PROBES: Readonly<Record<string, string>> = {
    'src/judge/imports-a-feature.ts': "export { compare as probe } from '../features/compare/compare.ts';\n",
    'src/judge/is-not-pure.ts': 'export const probe = [Date.now(), Math.random(), process.pid, fetch];\n',
    'src/judge/reads-a-file.ts':
      "import { createRequire } from 'node:module';\nexport const probe: unknown = createRequire(import.meta.url)('node:fs');\n",
    'src/features/trend/starts-a-process.ts': "export { spawn as probe } from 'node:child_process';\n",
    'src/features/trend/reaches-in.ts': "export type { StoredPlan as probe } from '../plan/prepare.ts';\n",
    'src/features/why/makes-a-circle.ts': "export { compareProbe } from '../compare/index.ts';\n",
  };

  const folder = { path: '' };
  let borders = '';
  let lint = '';

  beforeAll(async () => {
    folder.path = sharedFolder();
    for (const name of ['src', 'tsconfig.json', 'package.json', '.dependency-cruiser.mjs', '.oxlintrc.json']) {
      cpSync(join(ROOT, name), join(folder.path, name), { recursive: true });
    }
    symlinkSync(join(ROOT, 'node_modules'), join(folder.path, 'node_modules'));
    for (const [name, text] of Object.entries(PROBES)) {
      mkdirSync(dirname(join(folder.path, name)), { recursive: true });
      writeFileSync(join(folder.path, name), text);
    }
    const tools = join(folder.path, 'node_modules', '.bin');
    [borders, lint] = await Promise.all([
      printed(join(tools, 'depcruise'), ['--config', '.dependency-cruiser.mjs', 'src']),
      printed(join(tools, 'oxlint'), ['--deny-warnings', '--format', 'unix', 'src']),
    ]);
  }, 120_000);

  /** What a check prints that fails. */
  async function printed(tool: string, args: readonly string[]): Promise<string> {
    const ended = await exec(process.execPath, [tool, ...args], { cwd: folder.path, maxBuffer: 2 ** 26 }).then(
      () => null,
      (error: { stdout: string; stderr: string }) => error.stdout + error.stderr,
    );
    expect(ended).not.toBeNull();
    return ended ?? '';
  }

  test.each([
    'the-platform-knows-no-feature: src/judge/imports-a-feature.ts',
    'pure-folders-do-no-io: src/judge/reads-a-file.ts',
    'one-folder-starts-processes: src/features/trend/starts-a-process.ts',
    'a-feature-is-used-through-its-index: src/features/trend/reaches-in.ts',
    'features-form-no-circle: src/features/',
  ])('%s is refused', (line) => expect(borders).toContain(line));

  test('a pure module has no clock, no random numbers, no process and no network', () => {
    const lines = lint.split('\n').filter((line) => line.includes('is-not-pure.ts'));
    for (const name of ['Date.now', 'Math.random', 'process', 'fetch']) {
      expect(lines.filter((line) => line.includes(`'${name}'`))).toHaveLength(1);
    }
  });

  test('nothing else is refused', () => {
    const refused = [...borders.matchAll(/^ +error ([\w-]+): (\S+)/gm)].map(([, rule, file]) => `${rule} ${file}`);
    const isKnown = (line: string): boolean =>
      line.startsWith('features-form-no-circle') || Object.keys(PROBES).some((name) => line.includes(name));
    expect(refused.filter((line) => !isKnown(line))).toEqual([]);
  });
});

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
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(`${name}:${line}: "${word}": say `) });
});

test.each([
  ['output of another program in a document', 'page.md', '```console\n[E] the engine stands alone\n```\n'],
  [
    'names in stores and in JSON',
    'names.ts',
    "const { toldSweepId } = finding;\nif (effect === 'barred') id = 'loneOutlier';\n",
  ],
  ['words that contain one', 'words.ts', '// besides, alone, plane, understands\n'],
])('%s is not', async (_, name, text) => expect(await checked(name, text)).toEqual({ code: 0, stderr: '' }));

test('the text of the project has none', async () => {
  await expect(exec(process.execPath, [SCRIPT])).resolves.toMatchObject({ stderr: '' });
});
