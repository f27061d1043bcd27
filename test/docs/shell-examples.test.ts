import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { bench, ROOT, temporaryFolder } from '../support/bench.ts';
import { blocksOf, type Block } from './markdown.ts';

/** What the documents show without running it: lines for a shell, scripts, units of systemd. */
const BLOCKS = [
  'README.md',
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' }).map((name) => join('docs', name)),
]
  .filter((name) => name.endsWith('.md'))
  .flatMap((name) => blocksOf(readFileSync(join(ROOT, name), 'utf8')).map((block) => ({ ...block, name })));

const UNITS = BLOCKS.filter(({ language }) => language === 'ini');
const SCRIPTS = BLOCKS.filter(({ lines }) => /^# [\w.-]+\.sh$/.test(lines[0] ?? ''));
const HAS_SYSTEMD = spawnSync('systemd-analyze', ['--version']).status === 0;
const SUBCOMMANDS = ['baseline', 'db', 'engines', 'help', 'completion', 'ls', 'model', 'slurm'];

function nameOf({ lines }: Block): string {
  return (lines[0] ?? '').replace('# ', '');
}

/** The command lines of bench in a block: command with its subcommand, and the long options. */
function usesOf({ lines }: Block): { command: string; options: string[] }[] {
  return lines.flatMap((line) =>
    line
      .replace(/\s#.*$/, '')
      .split(/&&|\|\||;|\$\(|\|/)
      .flatMap((part) => {
        const words = part
          .trim()
          .replace(/^ExecStart=-?|^- run: /, '')
          .split(/\s+/);
        const start = words.findIndex((word) => /(?:^|\/)bench$/.test(word));
        const before = words.slice(0, Math.max(0, start));
        if (start < 0 || before.some((word) => word !== 'sudo' && word !== '-')) return [];
        const [command = '', second = ''] = words.slice(start + 1);
        const ours = words.slice(start + 1, words.includes('--') ? words.indexOf('--') : undefined);
        return [
          {
            command: SUBCOMMANDS.includes(command) ? `${command} ${second}` : command,
            options: ours.flatMap((word) => /^--[\w-]+/.exec(word)?.[0] ?? []),
          },
        ];
      }),
  );
}

test('options of bench that the documents show are those that it has', async () => {
  const uses = BLOCKS.filter(({ language }) => ['sh', 'ini', 'text'].includes(language)).flatMap((block) =>
    usesOf(block).map((use) => ({ ...use, name: block.name })),
  );
  expect(uses.length).toBeGreaterThan(50);
  const commands = [...new Set(uses.map(({ command }) => command))].filter((command) =>
    /^[a-z]+(?: [a-z]+)?$/.test(command),
  );
  const helps = new Map<string, string>();
  for (const command of commands) {
    const { code, stdout } = await bench([...command.split(' '), '--help', ...(command === 'run' ? ['--all'] : [])]);
    if (code === 0) helps.set(command, stdout);
  }
  const unknown = uses.flatMap(({ name, command, options }) =>
    options
      .filter((option) => !new RegExp(`${option}(?![\\w-])`).test(helps.get(command) ?? option))
      .map((option) => `${name}: bench ${command} ${option}`),
  );
  expect(unknown).toEqual([]);
  expect(commands.filter((command) => !helps.has(command))).toEqual([]);
});

test.each(SCRIPTS.map((block) => [nameOf(block), block] as const))(
  '%s is a script that a shell reads',
  (_, { lines }) => {
    expect(execFileSync('sh', ['-n'], { input: lines.join('\n'), encoding: 'utf8' })).toBe('');
  },
);

describe('units of systemd', () => {
  test.each(UNITS.map((block) => [nameOf(block), block] as const))(
    '%s has sections with settings, and nothing else',
    (_, { lines }) => {
      expect(lines.filter((line) => !/^(?:#.*|\[\w+\]|[A-Z]\w+=.+|)$/.test(line))).toEqual([]);
      expect(lines.find((line) => line.startsWith('['))).toBe('[Unit]');
    },
  );

  test.skipIf(!HAS_SYSTEMD)('systemd has nothing to say against them', () => {
    const folder = temporaryFolder();
    const program = join(folder, 'bench');
    writeFileSync(program, '#!/bin/sh\n');
    chmodSync(program, 0o755);
    const paths = UNITS.map((unit) => {
      const path = join(folder, nameOf(unit));
      writeFileSync(path, unit.lines.join('\n').replaceAll('/usr/local/bin/bench', program));
      return path;
    });
    expect(paths).toHaveLength(2);
    const { status, stderr } = spawnSync('systemd-analyze', ['verify', ...paths], { encoding: 'utf8' });
    const ours = stderr.split('\n').filter((line) => line.includes('bench-nightly'));
    expect({ status, ours }).toEqual({ status: 0, ours: [] });
  });
});
