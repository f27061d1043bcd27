import { join } from 'node:path';

import { expect, test } from 'vitest';

import { main } from '../../src/cli.ts';
import { makeLook } from '../../src/terminal/look.ts';
import { temporaryFolder } from '../support/bench.ts';
import { testIo } from '../support/io.ts';

/** One command line in this process. */
async function typed(argv: readonly string[], cwd: string) {
  let out = '';
  let err = '';
  const io = { ...testIo(), cwd, out: (text: string) => void (out += text), err: (text: string) => void (err += text) };
  return { code: await main(argv, io), out, err };
}

test('one process runs hundreds of command lines, and none leaves anything behind', async () => {
  const folder = temporaryFolder();
  const before = { exitCode: process.exitCode, listeners: process.listenerCount('SIGINT') };
  for (let round = 0; round < 100; round += 1) {
    expect(await typed(['--version'], folder)).toMatchObject({ code: 0, err: '' });
    expect(await typed(['compare'], folder)).toMatchObject({
      code: 2,
      out: '',
      err: expect.stringMatching(/no such store/),
    });
    const wrong = await typed(['trend', '--lst', '3'], folder);
    expect(wrong).toMatchObject({ code: 2, out: '', err: expect.stringMatching(/did you mean --last\?/) });
    expect(await typed(['help', 'exit-codes'], folder)).toMatchObject({ code: 0, out: expect.stringMatching(/130/) });
  }
  expect({ exitCode: process.exitCode, listeners: process.listenerCount('SIGINT') }).toEqual(before);
});

test('--no-color takes color away, whatever the terminal is', async () => {
  const folder = temporaryFolder();
  let out = '';
  const io = { ...testIo(), cwd: folder, look: makeLook(100, true), out: (text: string) => void (out += text) };
  await main(['doctor', '--no-color', '--trtexec', '/dev/null'], io);
  expect(out).not.toContain('\u001b');
  expect(out).not.toBe('');
});

test('options of every command are taken in front of it, too', async () => {
  const folder = temporaryFolder();
  const db = join(folder, 'a b.sqlite');
  const behind = await typed(['ls', 'sweeps', '--json', '--db', db], folder);
  expect(behind.err).toBe(
    `bench: ${db}: no such store; \`bench run --db '${db}'\` or \`bench import --db '${db}'\` makes one\n`,
  );
  expect(await typed(['--no-color', '--db', db, '-q', '--json', 'ls', 'sweeps'], folder)).toEqual(behind);
  expect(await typed([`--db=${db}`, 'ls', 'sweeps'], folder)).toEqual(behind);
  expect(await typed(['--json', '--version'], folder)).toMatchObject({ code: 0 });
  expect(await typed(['--json', 'parsee'], folder)).toMatchObject({
    code: 2,
    err: expect.stringContaining("unknown command 'parsee'; did you mean parse?"),
  });
  expect(await typed(['--last', '3', 'trend'], folder)).toMatchObject({
    code: 2,
    err: expect.stringContaining("unknown option '--last'"),
  });
});
