import { Command } from '@commander-js/extra-typings';
import { expect, test } from 'vitest';

import { defineCommand, type PlainCommand } from '../../src/cli/define-command.ts';
import { execute } from '../../src/cli/execute.ts';
import { positiveInteger } from '../../src/cli/options.ts';
import { testIo } from '../support/io.ts';

const define = (command: PlainCommand) =>
  command
    .arguments('<first> [more...]')
    .option('--last <n>', 'the newest', positiveInteger, 20)
    .option('--map', 'as a map')
    .option('--no-chart', 'no chart');

// `npm run check` compiles this file: without an error on the marked lines, it fails.
const typed = defineCommand({
  name: 'typed',
  summary: 'a command for this test',
  examples: [],
  define,
  run: ([first, more], options, io) => {
    const last: number = options.last;
    const map: true | undefined = options.map;
    const chart: boolean = options.chart;
    // @ts-expect-error: a misspelt option
    const misspelt: unknown = options.lst;
    // @ts-expect-error: it is a number
    const text: string = options.last;
    // @ts-expect-error: <first> is one word
    const words: string[] = first;
    io.out(JSON.stringify({ first, more, last, map, chart, misspelt, text, words, json: options.json }));
    return Promise.resolve(0);
  },
});

test('arguments and options come with the types that their declarations say', async () => {
  let out = '';
  const io = { ...testIo(), out: (text: string) => void (out += text) };
  const program = new Command('bench');
  typed(program, async (options, start) => void (await execute(options, io, start)));
  await program.parseAsync(['typed', 'a', 'b', 'c', '--last', '3', '--map', '--json'], { from: 'user' });
  expect(JSON.parse(out)).toEqual({
    first: 'a',
    more: ['b', 'c'],
    last: 3,
    map: true,
    chart: true,
    text: 3,
    words: 'a',
    json: true,
  });
});
