import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { beforeAll, describe, expect, test } from 'vitest';

import { bench, sharedFolder, temporaryFolder } from '../../support/bench.ts';
import { imageCell } from '../../support/image-cell.ts';
import { onPath } from '../../support/on-path.ts';
import { HAS_TERMINALS, needs, PROMPT, typeInto } from '../../support/shells.ts';
import { simulateNights } from '../../support/simulated-store.ts';

/** Names that would do something if a shell read them. */
const HOSTILE_NAMES = [
  'a $(touch pwned)',
  'b`touch pwned`',
  'c; touch pwned',
  'd\'it is "so"',
  'e!! !$',
  'f > pwned',
  'g~ *?[x]{1,2}',
  'h\\back',
  'i&|#',
  'über straße',
] as const;

/** They are never offered: a line of its own, and what a terminal acts on. */
const UNSHOWN_NAMES = ['y\ntouch pwned', 'z\u001b[31m'] as const;

/** A store with two nights of a cell of each of these models. */
function completionStore(folder: string): void {
  const models = ['vit', ...HOSTILE_NAMES, ...UNSHOWN_NAMES];
  const cells = models.map((model) => imageCell({ model, precision: 'fp16', batch: 1 }));
  simulateNights(join(folder, 'bench.sqlite'), { cells, nights: 2, repeats: 1, value: () => 1, branch: 'main' });
}

/** What is typed, and the words that it becomes. */
const COMPLETED: readonly (readonly [string, readonly string[]])[] = [
  ['bench basel', ['baseline']],
  ['bench compare --across-pro', ['compare', '--across-provenance']],
  ['bench plan ni', ['plan', 'night.yaml']],
  // What no command knows is a file.
  ['bench parse completion.fi', ['parse', 'completion.fish']],
];

describe('shells', () => {
  const ENTER = '\r';
  const TAB = '\t';

  const cwd = sharedFolder();

  beforeAll(async () => {
    completionStore(cwd);
    writeFileSync(join(cwd, 'night.yaml'), 'models: {}\n');
    for (const shell of ['bash', 'zsh', 'fish']) {
      writeFileSync(join(cwd, `completion.${shell}`), (await bench(['completion', shell])).stdout);
    }
  });

  /** A `bench` that only writes down how it was called. */
  const RECORDER = `bench() { printf '%s\\0' "$@" > called; exit; }`;

  function called(): string[] {
    expect(existsSync(join(cwd, 'pwned'))).toBe(false);
    return readFileSync(join(cwd, 'called'), 'utf8').split('\0').slice(0, -1);
  }

  describe.skipIf(!HAS_TERMINALS || onPath('bash') === null)(`bash (${needs('bash', 'script')})`, () => {
    async function type(line: string): Promise<string[]> {
      const lines = [`PS1='${PROMPT}'`, 'unset HISTFILE', 'source ./completion.bash', RECORDER];
      writeFileSync(join(cwd, 'bashrc'), `${lines.join('\n')}\n`);
      await typeInto(['bash', '--noprofile', '--rcfile', './bashrc', '-i'], `${line}${TAB}${ENTER}`, cwd);
      return called();
    }

    test.each([
      ...COMPLETED,
      ['bench baseline sh', ['baseline', 'show']],
      ['bench trend vi', ['trend', 'vit']],
      ['bench help basel', ['help', 'baseline']],
    ] as const)('%s', async (line, expected) => expect(await type(line)).toEqual(expected));

    test.each(HOSTILE_NAMES)('a model named %s is a name', async (name) => {
      const [command, only = '', ...more] = await type(`bench trend ${name.slice(0, 1)}`);
      // Up to where its cell, which begins with the same, goes on.
      expect([command, name.startsWith(only) || only.startsWith(name), more]).toEqual(['trend', true, []]);
      expect(only.length).toBeGreaterThan(1);
    });

    test('in quotes nothing is offered', async () => expect(await type(`bench trend 'v'`)).toEqual(['trend', 'v']));
  });

  describe.skipIf(!HAS_TERMINALS || onPath('zsh') === null)(`zsh (${needs('zsh', 'script')})`, () => {
    async function type(line: string): Promise<string[]> {
      const lines = [
        'autoload -Uz compinit; compinit -u -D',
        'unset HISTFILE',
        'source ./completion.zsh',
        RECORDER,
        `PROMPT='${PROMPT}'`,
      ];
      writeFileSync(join(cwd, '.zshrc'), `${lines.join('\n')}\n`);
      await typeInto(['zsh', '-d', '-i'], `${line}${TAB}${ENTER}`, cwd, { ZDOTDIR: cwd });
      return called();
    }

    test('commands, options, values and files', async () => {
      for (const [line, expected] of COMPLETED) expect([line, await type(line)]).toEqual([line, expected]);
    });
  });

  describe.skipIf(onPath('fish') === null)(`fish (${needs('fish')})`, () => {
    /** What fish offers, and how it would write it. */
    function offered(line: string): string[] {
      const script = 'source ./completion.fish; complete -C $argv[1]';
      const env = { ...process.env, HOME: cwd, BENCH_DB: undefined };
      const output = execFileSync('fish', ['--no-config', '-c', script, line], { cwd, env, encoding: 'utf8' });
      return output.split('\n').flatMap((each) => each.split('\t')[0] || []);
    }

    test('commands, options, values, files, and names that are nothing but names', () => {
      for (const [line, expected] of COMPLETED) expect([line, offered(line)]).toEqual([line, expected.slice(-1)]);
      expect(offered('bench trend ')).toEqual(expect.arrayContaining([...HOSTILE_NAMES, 'vit']));
      expect(existsSync(join(cwd, 'pwned'))).toBe(false);
    });
  });

  describe('what the scripts ask', () => {
    test('names that cannot be shown as they are are not offered', async () => {
      const { stdout } = await bench(['completion', '--complete', 'fish', '--', 'bench', 'trend', ''], { cwd });
      expect(stdout.split('\n').filter((line) => /^[yz]/.test(line))).toEqual([]);
      expect(UNSHOWN_NAMES.some((name) => stdout.includes(name))).toBe(false);
      expect(stdout).toContain('vit\tall cells of the model');
    });

    test.each([
      [
        ['show', ''],
        ['vit', 'vit fp16 1x3x224x224 graph'],
      ],
      [['trend', '--filter', ''], ['vit']],

      [
        ['compare', '--'],
        ['--metric', '--json', '--help'],
      ],

      [['run', '--', ''], []],
    ])('%j', async (words, expected) => {
      const args = ['completion', '--complete', 'zsh', '--', 'bench', ...words];
      const { code, stdout, stderr } = await bench(args, { cwd });
      expect([code, stderr]).toEqual([0, '']);
      expect(stdout.split('\n').map((line) => line.split('\t')[0])).toEqual(expect.arrayContaining(expected));
      if (expected.length === 0) expect(stdout).toBe('');
    });

    test('a store that is none says nothing', async () => {
      const folder = temporaryFolder();
      writeFileSync(join(folder, 'bench.sqlite'), 'this is no store');
      const args = ['completion', '--complete', 'zsh', '--', 'bench', 'trend', ''];
      expect(await bench(args, { cwd: folder })).toMatchObject({ code: 0, stdout: '', stderr: '' });
      expect(readFileSync(join(folder, 'bench.sqlite'), 'utf8')).toBe('this is no store');
    });
  });
});
