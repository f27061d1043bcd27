import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';

import stringWidth from 'string-width';
import { beforeAll, describe, expect, test } from 'vitest';

import { bench, finished, ROOT } from '../support/bench.ts';
import { sharedStore } from '../support/made-stores.ts';
import { HAS_TERMINALS, typeInto } from '../support/shells.ts';

/** An escape that sets colours or attributes. */
// oxlint-disable-next-line no-control-regex
const ESCAPE = /\u001b\[([\d;]*)m/g;

describe('output on terminals and in pipes', () => {
  let db: string;

  beforeAll(async () => {
    db = await sharedStore('pairs');
  }, 60_000);

  const COMPARE_MAP = ['compare', 'latest~1', 'latest', '--map'];
  const COMMANDS = [
    ['compare', 'latest~1', 'latest'],
    ['trend', '--together'],
    ['ls', 'cells'],
    ['show', 'latest'],
  ];

  // Wider ones, and what each command prints there: test/golden.
  test('nothing is wider than 40 columns', async () => {
    for (const args of COMMANDS) {
      const lines = (await bench([...args, '--db', db], { env: { COLUMNS: '40' } })).stdout.split('\n');
      expect([args[0], lines.filter((line) => stringWidth(line) > 40)]).toEqual([args[0], []]);
      expect(lines.length).toBeGreaterThan(2);
    }
  });

  test('no colour in a pipe; with FORCE_COLOR the same text in colour; NO_COLOR and --no-color win', async () => {
    for (const args of COMMANDS) {
      const run = async (env: Record<string, string>, ...more: string[]): Promise<string> =>
        (await bench([...args, ...more, '--db', db], { env: { NO_COLOR: '', ...env } })).stdout;
      const plain = await run({});
      const coloured = await run({ FORCE_COLOR: '1' });
      expect([plain, stripVTControlCharacters(coloured)]).toEqual([expect.not.stringContaining('\u001b'), plain]);
      expect(await run({ FORCE_COLOR: '1', NO_COLOR: '1' })).toBe(plain);
      expect(await run({ FORCE_COLOR: '1' }, '--no-color')).toBe(plain);
    }
  });

  /** Attributes, and the 16 colours that every theme, light or dark, sets for itself; no black, no white, no background. */
  const BASIC = /^(?:0|1|2|22|3[1-6]|39|9[1-6])$/;

  test('colours are of the basic 16, and none that a light or dark background swallows', async () => {
    for (const args of [...COMMANDS, ['show', 'latest', '--map'], COMPARE_MAP]) {
      const { stdout } = await bench([...args, '--db', db], { env: { NO_COLOR: '', FORCE_COLOR: '1' } });
      const codes = [...stdout.matchAll(ESCAPE)].flatMap(([, list = '']) => list.split(';'));
      expect([args, codes.filter((code) => !BASIC.test(code))]).toEqual([args, []]);
      expect(stdout.replaceAll(ESCAPE, '')).not.toContain('\u001b');
      expect(codes.length).toBeGreaterThan(0);
    }
  });

  test.skipIf(!HAS_TERMINALS).each([
    { of: 'xterm', env: { TERM: 'xterm' }, isColoured: true },
    { of: 'TERM=dumb', env: { TERM: 'dumb' }, isColoured: false },
    { of: 'NO_COLOR', env: { TERM: 'xterm', NO_COLOR: '1' }, isColoured: false },
  ])('a terminal, $of', async ({ env, isColoured }) => {
    const program = [process.execPath, join(ROOT, 'bin', 'bench.js'), ...COMPARE_MAP, '--db', db];
    const plain = { NO_COLOR: '', FORCE_COLOR: undefined, CI: undefined };
    const { code, shown } = await typeInto(program, '', ROOT, { ...plain, ...env });
    expect([code, shown, shown.includes('\u001b[')]).toEqual([1, expect.stringContaining('slower'), isColoured]);
  });

  /** Runs bench with one of its outputs closed by its reader after the first bytes. */
  async function withoutReader(stream: 'stdout' | 'stderr', args: readonly string[]) {
    const child = spawn(process.execPath, [join(ROOT, 'bin', 'bench.js'), ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child[stream].once('data', () => child[stream].destroy());
    return finished(child);
  }

  test('a reader that goes away is no fault', async () => {
    const parse = ['parse', join(ROOT, 'test/fixtures/trtexec'), '--json'];
    expect(await withoutReader('stdout', parse)).toMatchObject({ code: 0, stderr: '' });
    expect(await withoutReader('stdout', ['--help'])).toMatchObject({ code: 0, stderr: '' });
  });
});
