import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

import { beforeAll, describe, expect, test } from 'vitest';

import { ROOT, sharedFolder } from '../support/bench.ts';

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
});
