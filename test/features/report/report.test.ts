import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { beforeAll, describe, expect, test } from 'vitest';

import { OUTPUTS } from '../../support/outputs.ts';
import { bench, ROOT, sharedFolder, temporaryFolder } from '../../support/bench.ts';
import { compareBenchmarks, describeWithConsumers, readBy } from '../../support/consumers.ts';
import { nightDate, normals, simulatedCells, simulateNights } from '../../support/simulated-store.ts';
import { queryStore } from '../../support/store-dump.ts';
import { STUB, stubMatrix } from '../../support/stub.ts';

const MATRIX = join(ROOT, 'matrices', 'quickstart-pair.yaml');
/** In formats without an escape for control bytes. */
const SHOWN = '<b>"x" & \'y\'</b> \\u001b[31m {a="b"} \\ 😀';
const HOSTILE = '<b>"x" & \'y\'</b> \u001b[31m {a="b"} \\ 😀';

describe('bench report', () => {
  let cwd: string;
  const inStore = (...args: string[]) => bench(['report', ...args], { cwd });

  beforeAll(async () => {
    cwd = sharedFolder();
    await bench(['run', MATRIX, '--repeats', '2'], { cwd });
  });

  test('every format ends with the same exit code, which --fail-on selects', async () => {
    const slow = temporaryFolder();
    for (const name of ['quickstart-pair', 'quickstart-pair-opt32']) {
      await bench(['run', join(ROOT, 'matrices', `${name}.yaml`), '-q'], { cwd: slow });
    }
    const codes = async (...args: string[]) => {
      const formats = ['--html', '--md', '--junit', '--csv', '--openmetrics', '--bmf', '--github'];
      const all = await Promise.all(formats.map((format) => bench(['report', format, ...args], { cwd: slow })));
      return [...new Set(all.map(({ code }) => code))];
    };
    expect(await codes()).toEqual([1]);
    expect(await codes('--night')).toEqual([1]);
    expect(await codes('--fail-on', 'failed')).toEqual([0]);
  });

  test('of the only sweep there is: its values, compared with nothing', async () => {
    const { code, stdout, stderr } = await inStore('--md');
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^### 2 cells\n\n\*\*recorded\*\* \(pair\) · quickstart-pair · latest/);
    expect(stdout).toContain('GPU compute time');
  });

  test('several files at once, and what became of them as JSON', async () => {
    const { code, stdout } = await inStore('--junit', 'j.xml', '--csv', 'c.csv', '--openmetrics', 'o.prom', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      cells: 2,
      counts: { measured: 2 },
      files: [
        { format: 'junit', file: 'j.xml' },
        { format: 'csv', file: 'c.csv' },
        { format: 'openmetrics', file: 'o.prom' },
      ],
    });
    expect(readFileSync(join(cwd, 'c.csv'), 'utf8').trimEnd().split('\r\n')).toHaveLength(5);
  });

  test.each([
    [[], 'which format? --html'],
    [['--md', '--csv'], 'only one thing can go to standard output'],
    [['a', '--night', '--md'], '--night takes no sides'],
    [['--as-of', '2026-01-01', '--md'], '--as-of is for'],
    [['nope', '--md'], 'nope'],
  ])('%j is one clear line', async (args, line) => {
    const { code, stderr } = await inStore(...args);
    expect(code).toBe(2);
    expect(stderr).toMatch(/^bench: [^\n]*\n$/);
    expect(stderr).toContain(line);
  });

  test('a file that cannot be written is one clear line', async () => {
    const { code, stderr } = await inStore('--csv', 'not/there.csv');
    expect([code, stderr]).toEqual([3, 'bench: not/there.csv: cannot be written: there is no such folder\n']);
  });

  test('without a store it says so', async () => {
    const empty = temporaryFolder();
    const { code, stderr } = await bench(['report', '--md'], { cwd: empty });
    expect(code).not.toBe(0);
    expect(stderr).toMatch(/^bench: [^\n]*\n$/);
    expect(existsSync(join(empty, 'bench.sqlite'))).toBe(false);
  });

  test('--github: the step has a summary, and the log an annotation for what has no result', async () => {
    const folder = temporaryFolder();
    const summary = join(folder, 'summary.md');
    writeFileSync(summary, 'before\n');
    const matrix = stubMatrix(folder, ['repeats: 1']);
    const rules = JSON.stringify([{ when: '--shapes=input:8x3', does: 'fails' }]);
    const env = { STUB_RULES: rules, GITHUB_STEP_SUMMARY: summary };
    await bench(['run', matrix, '--trtexec', STUB], { cwd: folder, env });
    const { code, stdout } = await bench(['report', '--github'], { cwd: folder, env });
    expect(code).toBe(4);
    expect(stdout).toMatch(/^::warning title=small fp16 8x3 graph::no result[^\n]*\n$/);
    expect(readFileSync(summary, 'utf8')).toMatch(/^before\n### 2 cells \(1 without a result\)\n/);
  });
});

test('--night says what bench check says of that night, and stores nothing', async () => {
  const db = join(temporaryFolder(), 'bench.sqlite');
  const normal = normals(7);
  simulateNights(db, {
    cells: simulatedCells(2),
    nights: 44,
    repeats: 2,
    value: (cell, night) => (cell === 0 && night >= 40 ? 1.1 : 1) * (1 + 1e-3 * normal()),
  });
  const messages: string[] = [];
  for (const night of [41, 42, 43]) {
    const date = nightDate(night);
    const reported = await bench(['report', '--night', '--as-of', date, '--junit', '--db', db]);
    const checked = await bench(['check', '--as-of', date, '--json', '--db', db]);
    expect(reported.code).toBe(checked.code);
    const { findings } = OUTPUTS.check.parse(JSON.parse(checked.stdout));
    const cells = findings.filter(({ state }) => state === 'confirmed').flatMap((finding) => finding.cells);
    expect(reported.stdout).toContain(`tests="2" failures="${cells.length}" errors="0"`);
    messages.push(...(reported.stdout.match(/message="slower: [^"]*"/g) ?? []));
  }
  expect(messages.length).toBeGreaterThan(0);
  for (const message of messages) expect(message).toMatch(/^message="slower: GPU compute time \+(9|10)\.\d %/);
  expect(queryStore(db, 'SELECT count(*) AS findings FROM findings')).toEqual([{ findings: 0 }]);
});

describeWithConsumers('the programs that read them', () => {
  let cwd: string;
  const file = (name: string): string => join(cwd, name);

  beforeAll(async () => {
    cwd = sharedFolder();
    for (const name of ['quickstart-pair', 'quickstart-pair-opt32']) {
      await bench(['run', join(ROOT, 'matrices', `${name}.yaml`)], { cwd });
      await bench(['report', '--google-benchmark', `${name}.json`], { cwd });
    }
    const hostile = join(cwd, 'hostile');
    mkdirSync(hostile);
    writeFileSync(join(hostile, 'm.onnx'), 'a model');
    const matrix = {
      name: HOSTILE,
      models: { [HOSTILE]: { shapes: { input: ['batch', 3] }, precisions: { fp16: { onnx: 'm.onnx' } } } },
      axes: { precision: 'fp16', batch: [1, 8] },
      build: { opt: { batch: 8 } },
    };
    writeFileSync(join(hostile, 'm.yaml'), JSON.stringify(matrix));
    const env = { STUB_RULES: JSON.stringify([{ when: '--shapes=input:8x3', does: 'fails' }]) };
    await bench(['run', 'm.yaml', '--trtexec', STUB], { cwd: hostile, env });
    const files = ['--junit', file('j.xml'), '--openmetrics', file('o.prom'), '--bmf', file('b.json')];
    await bench(['report', ...files], { cwd: hostile });
  }, 60_000);

  test('junitparser', () => {
    expect(readBy('junit', file('j.xml'))).toMatchObject({
      tests: 2,
      failures: 0,
      errors: 1,
      names: [
        expect.stringContaining('<b>"x" & \'y\'</b> \ufffd[31m {a="b"} \\ 😀 fp16 1x3'),
        expect.stringContaining('8x3'),
      ],
      results: [[], ['Error']],
    });
  });

  test("prometheus_client's parser of OpenMetrics", () => {
    const families = readBy('openmetrics', file('o.prom'));
    expect(families).toMatchObject({
      trtbench_gpu_compute_seconds: {
        type: 'gauge',
        unit: 'seconds',
        samples: [[{ model: SHOWN, batch: '1', matrix: SHOWN }, expect.any(Number)]],
      },
      trtbench_sweep: { type: 'info' },
    });
  });

  test("the JSON Schema of Bencher's reference", () => {
    const document = readBy('bmf', file('b.json'));
    expect(Object.keys(Object(document))).toEqual([`${HOSTILE} fp16 1x3 graph`]);
  });

  test("google-benchmark's compare.py", () => {
    const text = compareBenchmarks(file('quickstart-pair.json'), file('quickstart-pair-opt32.json'));
    expect(text).toMatch(/vit_small fp16 8x3x224x224 graph\S* .*[+-]0\.0\d\d\d/);
  });
});
