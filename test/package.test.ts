import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { ROOT, temporaryFolder } from './support/bench.ts';

test('npm pack makes a package that installs and runs elsewhere, small enough to download', () => {
  const folder = temporaryFolder();
  const npm = (args: readonly string[], cwd: string): string => {
    const script = process.env['npm_execpath'];
    const [file, list] = script === undefined ? ['npm', args] : [process.execPath, [script, ...args]];
    return execFileSync(file, list, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  };
  const packed: { filename: string; size: number; files: { path: string }[] }[] = JSON.parse(
    npm(['pack', '--json', '--ignore-scripts', '--pack-destination', folder], ROOT),
  );
  const [made] = packed;
  expect(made?.size).toBeLessThan(6e6);
  expect(made?.files.filter(({ path }) => /^(?:src|test|scripts)\//.test(path))).toEqual([]);

  npm(
    ['install', '--prefix', folder, '--prefer-offline', '--no-audit', '--no-fund', join(folder, made?.filename ?? '')],
    folder,
  );
  const bench = (...args: string[]): string =>
    execFileSync(process.execPath, [join(folder, 'node_modules', 'trtbench', 'bin', 'bench.js'), ...args], {
      cwd: folder,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  expect(bench('--version').trim()).toBe(version);
  const matrix = join('node_modules', 'trtbench', 'matrices', 'quickstart-pair.yaml');
  bench('run', matrix, '--repeats', '3');
  bench('run', matrix, '--repeats', '3');
  expect(JSON.parse(bench('compare', '--json')).counts).toMatchObject({ slower: 0, same: 2 });
}, 120_000);
