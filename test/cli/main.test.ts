import { expect, test } from 'vitest';

import { main } from '../../src/cli.ts';
import { bench, temporaryFolder } from '../support/bench.ts';
import { testIo } from '../support/io.ts';
import { STORE_COMMANDS, withNamedStore } from '../../src/cli/io.ts';

/** One command line in this process. */
async function typed(argv: readonly string[], cwd: string) {
  let out = '';
  let err = '';
  const io = { ...testIo(), cwd, out: (text: string) => void (out += text), err: (text: string) => void (err += text) };
  return { code: await main(argv, io), out, err };
}

test('one process runs many command lines, and none leaves anything behind', async () => {
  const folder = temporaryFolder();
  const before = { exitCode: process.exitCode, listeners: process.listenerCount('SIGINT') };
  for (let round = 0; round < 10; round += 1) {
    expect(await typed(['--version'], folder)).toMatchObject({ code: 0, err: '' });
    const err = expect.stringMatching(/store not found/);
    expect(await typed(['compare'], folder)).toMatchObject({ code: 2, out: '', err });
    const wrong = await typed(['trend', '--lst', '3'], folder);
    expect(wrong).toMatchObject({ code: 2, out: '', err: expect.stringMatching(/did you mean --last\?/) });
    expect(await typed(['help', 'exit-codes'], folder)).toMatchObject({ code: 0, out: expect.stringMatching(/130/) });
  }
  expect({ exitCode: process.exitCode, listeners: process.listenerCount('SIGINT') }).toEqual(before);
});

test.each<readonly [text: string, named: string]>([
  ['no cell x (see `bench ls cells`)', 'no cell x (see `bench ls cells --db "a b"`)'],
  ['go on with `bench run\n  --resume 12`', 'go on with `bench run --db "a b"\n  --resume 12`'],
  ['  \u001b[2m    → bench show 12ab\u001b[22m', '  \u001b[2m    → bench show 12ab --db "a b"\u001b[22m'],
  [
    '  next: bench why ab · bench compare 1 2 ·\n        bench ack ab --reason "a, b"',
    '  next: bench why ab --db "a b" · bench compare 1 2 --db "a b" ·\n        bench ack ab --reason "a, b" --db "a b"',
  ],
  ['is complete: bench show 12, bench check', 'is complete: bench show 12 --db "a b", bench check --db "a b"'],
  ['try: bench ls machines   # and look', 'try: bench ls machines --db "a b"   # and look'],
  // These name a store, need none, or are no commands.
  ...[
    '`bench import a --db b.sqlite`',
    'see `bench help metrics`',
    'note: bench builds into its cache',
    '`bench parse x`',
  ].map((text): [string, string] => [text, text]),
])('%j', (text, named) => expect(withNamedStore(text, 'a b')).toBe(named.replaceAll('"a b"', "'a b'")));

test.each(STORE_COMMANDS.split('|'))('bench %s is a command', async (name) => {
  const { code, stdout } = await bench([...name.split(' '), '--help']);
  expect([code, stdout.startsWith(`Usage: bench ${name} `)]).toEqual([0, true]);
});
