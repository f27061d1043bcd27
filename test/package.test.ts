import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';

import { expect, test } from 'vitest';

import { ROOT, temporaryFolder } from './support/bench.ts';

/** How npm says that it reached no registry. */
const NO_REGISTRY =
  /\b(?:ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ECONNRESET|EIDLETIMEOUT|ERR_SOCKET_TIMEOUT|ENOTCACHED)\b/;

test('npm pack makes a package that installs and runs elsewhere, small enough to download', ({ skip }) => {
  const folder = temporaryFolder();
  const npm = (args: readonly string[], cwd: string): string => {
    const script = process.env['npm_execpath'];
    const [file, list] = script === undefined ? ['npm', args] : [process.execPath, [script, ...args]];
    const { status, stdout, stderr } = spawnSync(file, list, { cwd, encoding: 'utf8' });
    if (status !== 0 && NO_REGISTRY.test(stderr)) {
      process.stderr.write(
        'the test of the installed package is skipped; what it needs, a registry of npm: npm ping\n',
      );
      skip('no registry of npm answers: npm ping');
    }
    expect([args[0], status, status === 0 ? '' : stderr]).toEqual([args[0], 0, '']);
    return stdout;
  };
  const packed: { filename: string; size: number; files: { path: string }[] }[] = JSON.parse(
    npm(['pack', '--json', '--ignore-scripts', '--pack-destination', folder], ROOT),
  );
  const [made] = packed;
  expect(made?.size).toBeLessThan(6e6);
  expect(made?.files.filter(({ path }) => /^(?:src|test|scripts)\/|\.map$/.test(path))).toEqual([]);

  const prefix = join(folder, 'prefix');
  npm(
    [
      'install',
      '-g',
      '--prefix',
      prefix,
      '--prefer-offline',
      // npm waits more than a minute between its usual tries: longer than this test may take.
      '--fetch-retries=1',
      '--fetch-retry-mintimeout=1000',
      '--fetch-timeout=20000',
      '--no-audit',
      '--no-fund',
      join(folder, made?.filename ?? ''),
    ],
    folder,
  );
  // The launcher of the recipe: what finds neither Node nor bench on its PATH starts it by its path.
  const nightly = readFileSync(join(ROOT, 'docs', 'how-to', 'nightly.md'), 'utf8');
  execFileSync('sh', ['-c', nightly.split('\n').find((line) => line.startsWith('printf ')) ?? ''], {
    cwd: folder,
    env: {
      PATH: [join(process.execPath, '..'), process.env['PATH']].join(delimiter),
      HOME: folder,
      npm_config_prefix: prefix,
    },
  });
  const launcher = join(folder, 'bench.launcher');
  chmodSync(launcher, 0o755);
  const bench = (...args: string[]): string =>
    execFileSync(launcher, args, {
      cwd: folder,
      encoding: 'utf8',
      env: { PATH: '/usr/bin:/bin', HOME: folder },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  expect(bench('--version').trim()).toBe(version);
  // cron, sudo, timeout, and a service of systemd.
  for (const words of [
    ['HOME=/', 'SHELL=/bin/sh', 'PATH=/usr/bin:/bin', launcher],
    ['SUDO_USER=somebody', 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', launcher],
    ['PATH=/usr/bin:/bin', 'timeout', '60', launcher],
    ['INVOCATION_ID=1', 'JOURNAL_STREAM=8:1', 'LANG=C.UTF-8', 'PATH=/usr/local/bin:/usr/bin', launcher],
  ]) {
    const printed = execFileSync('env', ['-i', ...words, '--version'], { cwd: '/', encoding: 'utf8' });
    expect([words, printed.trim()]).toEqual([words, version]);
  }
  const matrix = join(prefix, 'lib', 'node_modules', 'trtbench', 'matrices', 'quickstart-pair.yaml');
  bench('run', matrix, '--repeats', '3');
  bench('run', matrix, '--repeats', '3');
  expect(JSON.parse(bench('compare', '--json')).counts).toMatchObject({ slower: 0, same: 2 });
}, 120_000);
