import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';
import { referencePages } from '../../scripts/reference/pages.ts';
import { detectableErrors } from '../../src/judge/run-noise.ts';
import { tQuantile, twoSidedP } from '../../src/statistics/special-functions.ts';
import { bench, ROOT, temporaryFolder } from '../support/bench.ts';
import { type Block, blocksOf } from './markdown.ts';

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

const nameOf = ({ lines }: Block): string => (lines[0] ?? '').replace('# ', '');

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
  expect([unknown, commands.filter((command) => !helps.has(command))]).toEqual([[], []]);
});

test.each(SCRIPTS.map((block) => [nameOf(block), block] as const))(
  '%s is a script that a shell reads',
  (_, { lines }) => expect(execFileSync('sh', ['-n'], { input: lines.join('\n'), encoding: 'utf8' })).toBe(''),
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

describe.each(Object.entries(referencePages()))('docs/reference/%s', (name, text) => {
  test('is what the code says today (node scripts/reference.ts)', () => {
    const path = join(ROOT, 'docs', 'reference', name);
    if (process.env['UPDATE_DOCS'] === '1') writeFileSync(path, text);
    expect(readFileSync(path, 'utf8')).toBe(text);
  });

  test('each link leads to a heading of the page', () => {
    const anchors = [...text.matchAll(/^## (.*)$/gm)].map(([, title = '']) =>
      title.toLowerCase().replaceAll('.', '').replaceAll(' ', '-'),
    );
    const links = [...text.matchAll(/\]\(#([^)]*)\)/g)].map(([, link = '']) => link);
    expect(links.filter((link) => !anchors.includes(link))).toEqual([]);
  });
});

test('the generated pages have at most 12,000 words', () => {
  const words = Object.values(referencePages()).map((text) => text.trim().split(/\s+/).length);
  expect(words.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(12_000);
});

const VERDICTS = readFileSync(join(ROOT, 'docs', 'explanation', 'verdicts.md'), 'utf8').replaceAll(/\s+/g, ' ');

/** Medians of trtexec as `bench report --csv` has them, in the order of the table in the document. */
function mediansOf(csv: string): string {
  const [head = '', ...rows] = csv.trim().split('\n');
  const names = head.split(',');
  return rows
    .map((row) => row.split(','))
    .filter((row) => row[names.indexOf('batch')] === '8')
    .toSorted((a, b) => Number(a[names.indexOf('repeat')]) - Number(b[names.indexOf('repeat')]))
    .map((row) => Number(row[names.indexOf('gpuComputeMs')]).toFixed(4))
    .join(' ');
}

test('the arithmetic of the worked example is that of the comparison', async () => {
  const cwd = temporaryFolder();
  const printed: string[] = [];
  for (const name of ['quickstart-pair', 'quickstart-pair-opt32']) {
    expect(await bench(['run', join(ROOT, 'matrices', `${name}.yaml`)], { cwd })).toMatchObject({ code: 0 });
    printed.push(mediansOf((await bench(['report', '--csv', '-'], { cwd })).stdout));
  }
  const { cells } = JSON.parse((await bench(['compare', 'latest~1', 'latest', '--json'], { cwd })).stdout);
  const cell: unknown = cells.find(({ label }: { label: string }) => label.includes(' 8x3x'));
  expect(cell).toMatchObject({ verdict: 'slower', runs: [5, 5] });
  const { base, head, changePercent, ciPercent, mdePercent, noise } = JSON.parse(JSON.stringify(cell));

  const error = noise.runPercent * Math.sqrt(1 / 5 + 1 / 5);
  const t = tQuantile(0.05, 8);
  // Both cells are called.
  const limit = tQuantile(0.03, 8);
  const errors = detectableErrors(limit, 8);
  const distance = (Math.log1p(changePercent / 100) * 100) / error;
  const figures = [
    `| batch 8 | ${printed[0]} | ${base.toFixed(4)} ms |`,
    `| batch 32 | ${printed[1]} | ${head.toFixed(4)} ms |`,
    `is +${changePercent.toFixed(1)} %`,
    `${noise.runPercent.toFixed(3)} % × √(1/5 + 1/5) = ${error.toFixed(3)} %`,
    `within ${t.toFixed(2)} errors: ± ${(t * error).toFixed(3)} %`,
    `± ${(t * error * (head / base)).toFixed(2)} % of base: +${ciPercent[0].toFixed(1)} … +${ciPercent[1].toFixed(1)} %`,
    `from ${limit.toFixed(2)} errors on`,
    `${errors.toFixed(1)} errors`,
    `${distance.toFixed(0)} errors away`,
    `one comparison in a hundred exceeds ${tQuantile(0.01, 8).toFixed(2)} errors`,
    `${mdePercent.toFixed(2)} %`,
  ];
  expect(figures.filter((figure) => !VERDICTS.includes(figure))).toEqual([]);
  expect(twoSidedP(3.36, 8)).toBeCloseTo(0.01, 3);
});
