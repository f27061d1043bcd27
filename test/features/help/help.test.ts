import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';

import { beforeAll, describe, expect, test } from 'vitest';

import { EXIT_CODES, FAIL_ON_WORDS } from '../../../src/errors.ts';
import { judgedCellSchema } from '../../../src/judge/gate/evidence.ts';
import { FINDING_STATES } from '../../../src/records/finding.ts';
import { VERDICTS } from '../../../src/records/verdict.ts';
import { METRIC_IDS } from '../../../src/records/metric.ts';
import { matrixSchema } from '../../../src/matrix/schema/schema.ts';
import { verdictText } from '../../../src/features/check/index.ts';
import { metricText, wordRow } from '../../../src/features/help/help.ts';
import { makeLook } from '../../../src/terminal/look.ts';
import { bench, refusal, ROOT } from '../../support/bench.ts';
import { FIXTURES } from '../../support/recordings.ts';

/** The help of every command, by its words. */
const helps = new Map<string, string>();

async function collect(words: readonly string[]): Promise<void> {
  // The first screen has nine commands; `bench help` has all.
  const { code, stdout } = await bench(words.length === 0 ? ['help'] : [...words, '--help', '--all']);
  expect([words, code]).toEqual([words, 0]);
  helps.set(words.join(' '), stdout);
  // Options and examples begin with other characters, and what is wrapped stands further in.
  const listed = stdout.replace(/\nArguments:\n(?: .*\n)*/, '\n').replace(/\nEach command: [^]*/, '\n');
  const names = [...listed.matchAll(/^ {2}([a-z]\S*)/gm)].map(([, name = '']) => name);
  for (const name of names) {
    if (words.length === 0 || name !== 'help') await collect([...words, name]);
  }
}

function examplesIn(help: string): string[] {
  const [, examples = ''] = help.split('\nExamples:\n');
  return [...examples.matchAll(/^ {2}\$ (.*)$/gm)].map(([, line = '']) => line);
}

async function helpOn(...topic: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await bench(['help', ...topic]);
  expect([topic, code, stderr]).toEqual([topic, 0, '']);
  return stdout;
}

describe('--help', () => {
  beforeAll(() => collect([]), 120_000);

  test('every command has examples of itself', () => {
    const names = [...helps.keys()].filter((words) => words !== '');
    expect(names.length).toBeGreaterThan(25);
    for (const words of names) {
      const own = examplesIn(helps.get(words) ?? '').filter((line) => line.includes(`bench ${words}`));
      expect([words, own.length > 0]).toEqual([words, true]);
    }
  });

  test('an option in an example is one of its command', () => {
    let looked = 0;
    for (const help of helps.values()) {
      for (const line of examplesIn(help)) {
        const calls = line.replace(/\s+#.*$/, '').split(/\s(?:\||&&)\s/);
        for (const call of calls) {
          const [, words = ''] = /\bbench ([a-z-]+(?: [a-z-]+)?)/.exec(call) ?? [];
          const own = helps.get(words) ?? helps.get(words.split(' ')[0] ?? '');
          if (own === undefined || !/^(?:eval "\$\()?bench /.test(call)) continue;
          const [before = ''] = call.split(' -- ');
          const flags = [...before.matchAll(/\s(--[a-z-]+)/g)].map(([, flag = '']) => flag);
          for (const flag of flags) {
            expect([call, flag, own.includes(`${flag} `) || own.includes(`${flag}\n`)]).toEqual([call, flag, true]);
            looked += 1;
          }
        }
      }
    }
    expect(looked).toBeGreaterThan(30);
  });

  test('the first screen fits 80 columns, with each exit code whole', async () => {
    const { stdout } = await bench(['--help'], { env: { COLUMNS: '80' } });
    expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([]);
    expect(stdout).toContain('\nExit codes: 0 fine · 1 regression · 2 wrong use or bad input\n');
    expect(stdout).toContain('\n            3 the environment lacks something · 4 some runs failed\n');
  });

  test('bench help COMMAND says the same', async () => {
    expect(await helpOn('compare')).toBe(helps.get('compare'));
    expect(await helpOn('baseline', 'set')).toBe(helps.get('baseline set'));
    expect(await helpOn('help')).toBe(helps.get('help'));
  });

  test('the overview names every command, exit code and topic', async () => {
    const text = await helpOn();
    const commands = [...helps.keys()].filter((words) => /^\S+$/.test(words));
    expect(text).toMatch(/\nExit codes: 0 fine · 1 regression · .*\n.* · 130 interrupted\n/);
    for (const word of [...commands, ...METRIC_IDS.map((id) => metricText(id).word), 'words', 'matrix']) {
      expect([word, text.includes(word)]).toEqual([word, true]);
    }
  });
});

describe('numbers', () => {
  const logs = filesIn(FIXTURES).filter((path) => path.endsWith('.log.br'));
  const lines = logs.flatMap((path) => brotliDecompressSync(readFileSync(path)).toString().split('\n'));

  test.each(METRIC_IDS)('%s: unit, source, what makes it lie', async (id) => {
    const { label, caveats, says, source, unit, word } = metricText(id);
    const text = (await helpOn(id)).replaceAll(/\s+/g, ' ');
    // Once, where the word is the label.
    const name = word.replaceAll('-', ' ') === label ? `${word}, ${unit}` : `${word}: ${label}, ${unit}`;
    for (const part of [name, id, says, `From: ${source}`, caveats]) {
      expect(text).toContain(part.replaceAll(/\s+/g, ' '));
    }
    expect(await helpOn(word)).toBe(await helpOn(id));
    expect(says.length).toBeGreaterThan(60);
    expect(caveats.length).toBeGreaterThan(60);
  });

  test('the lines that they name stand in real logs', () => {
    const quoted = METRIC_IDS.map((id) => metricText(id).source).filter((source) => source.includes('…'));
    expect(quoted.length).toBeGreaterThan(10);
    // No run was recorded with --timeRefit: its line is that of trtexec's source.
    for (const source of quoted.filter((each) => each !== metricText('refitMs').source)) {
      const line = source.replace(/^.*; else the warning: /, '');
      const parts = line.split('…').map((part) => part.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`));
      const pattern = new RegExp(parts.join('.+?'));
      expect([source, lines.some((each) => pattern.test(each))]).toEqual([source, true]);
    }
  });

  test.each([
    ['p99', 'p99Ms'],
    ['qps', 'throughputQps'],
    ['GPU Compute Time', 'gpuComputeMs'],
    ['latency', 'latencyMs'],
    ['H2D Latency', 'h2dMs'],
    ['throughput', 'throughputQps'],
    ['items/s', 'itemsPerS'],
  ])('%s is %s', async (requested, id) => expect(await helpOn(...requested.split(' '))).toContain(`(in JSON: ${id})`));

  test('of the gate alone are listed, too', async () => {
    expect(await helpOn('metrics')).toContain('\nsqnr             SQNR, dB (of a sweep: only for limits)\n');
    expect(await helpOn('sqnr')).toContain('sqnr  SQNR, dB');
    expect(await bench(['help', 'gpu', '--json'])).toEqual(refusal('bench help prints text only: leave --json out'));
  });
});

describe('topics', () => {
  test('every exit code', async () => {
    const text = await helpOn('exit-codes');
    for (const code of Object.values(EXIT_CODES)) expect(text).toContain(`- \`${code}\`: `);
  });

  test('every key of a matrix', async () => {
    const text = await helpOn('matrix-keys');
    for (const key of Object.keys(matrixSchema.shape)) expect(text).toContain(`\`${key}\``);
    expect(await helpOn('matrix')).toMatch(/^# /);
  });

  test('words', async () => expect(await helpOn('words')).toContain('- **cell**: One point of a matrix'));

  const { reason, verdict: ofCell } = judgedCellSchema.shape;
  const verdicts = ofCell.options.map((verdict) => verdictText({ reason: null, verdict }));
  const states = [...FINDING_STATES, 'new', 'acknowledged'];
  const words = [...verdicts, ...reason.unwrap().options, ...VERDICTS, ...states, ...FAIL_ON_WORDS];

  test.each(['reference level', ...new Set(words)])('%s, which is printed or can be typed, is a word', async (word) => {
    expect(await helpOn(word)).toMatch(new RegExp(`^(?:.*, )?${word}(?:, .*)?\n\n`));
  });
});

function filesIn(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? filesIn(path) : [path];
  });
}

test('every word of docs/reference/words.md has help, in the singular and the plural, whatever its case', async () => {
  const text = readFileSync(join(ROOT, 'docs', 'reference', 'words.md'), 'utf8');
  const rows = [...text.matchAll(/^- \*\*(.+?)\*\*: /gm)].map(([, words = '']) => words.split(', '));
  expect(rows.length).toBeGreaterThan(40);
  for (const [word = ''] of rows) {
    for (const form of [word, word.toUpperCase(), word.endsWith('y') ? word.replace(/y$/, 'ies') : `${word}s`]) {
      expect(wordRow(form, makeLook(80, false))?.[0]).toContain(word);
    }
  }
  expect(await helpOn('verdict')).toContain('The result of comparing a cell with its reference level');
});
