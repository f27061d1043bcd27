import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { beforeAll, describe, expect, test } from 'vitest';

import { bench, ROOT, sharedFolder, temporaryFolder, refusal } from '../../support/bench.ts';
import { OUTPUTS, jsonOf } from '../../support/outputs.ts';
import { sectionOf } from '../../support/page-data.ts';
import { normals, simulatedCells, simulateNights } from '../../support/simulated-store.ts';
import { simulatedStore } from '../../support/made-stores.ts';
import { queryStore } from '../../support/store-dump.ts';
import { STUB, stubMatrix } from '../../support/stub.ts';

const PYTHON = join(ROOT, '.cache', 'consumers', 'bin', 'python');
const IS_THERE = existsSync(PYTHON);

/** Tests that hand files to the programs that read them. */
const describeWithConsumers = IS_THERE ? describe : describe.skip;

if (!IS_THERE) {
  process.stderr.write(
    'tests with the readers of reports are skipped; what they need: test/consumers/install .cache/consumers\n',
  );
}

/** What the reader of a format sees in a file. */
function readBy(format: 'junit' | 'openmetrics' | 'bmf', file: string): unknown {
  const script = join(ROOT, 'test', 'consumers', 'read.py');
  return JSON.parse(execFileSync(PYTHON, [script, format, file], { encoding: 'utf8' }));
}

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

  test('several files at once, and what became of them as JSON', async () => {
    const { code, stdout } = await inStore('--junit', 'j.xml', '--csv', 'c.csv', '--openmetrics', 'o.prom', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      cells: 2,
      headline: 'first sweep: nothing to compare with',
      findings: [],
      counts: { new: 2 },
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
    [['a', '--night', '--md'], '--night judges one sweep'],
    [['a', '--as-of', '2026-01-01', '--md'], '--as-of judges one sweep'],
    [['nope', '--md'], 'nope'],
  ])('%j is one clear line', async (args, line) => expect(await inStore(...args)).toEqual(refusal(line)));

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
    const pattern = /^before\n### first sweep: nothing to compare with; 1 cell without a result\n/;
    expect(readFileSync(summary, 'utf8')).toMatch(pattern);
  });
});

describe('without sides every format says what bench check says', () => {
  const db = join(sharedFolder(), 'mornings.sqlite');
  const cells = simulatedCells(6);
  let checked: ReturnType<typeof OUTPUTS.check.parse>;
  const of = async (...args: string[]) => bench(['report', ...args, '--db', db]);

  beforeAll(async () => {
    const normal = normals(7);
    const steps = [
      { cell: 1, from: 25, size: 1.05 },
      { cell: 3, from: 29, size: 1.08 },
    ];
    const value = (cell: number, night: number): number | null => {
      if (cell === 0 && night === 29) return null;
      const step = steps.find((one) => one.cell === cell && night >= one.from)?.size ?? 1;
      return (1 + cell) * step * (1 + 2e-3 * normal());
    };
    const add = (nights: number, after: number): void =>
      simulateNights(db, { cells, nights, after, repeats: 3, value });
    add(26, 0);
    await bench(['check', '--db', db]);
    add(3, 26);
    await bench(['check', '--db', db]);
    add(1, 29);
    checked = await jsonOf(OUTPUTS.check, ['check', '--as-of', 'latest', '--db', db]);
  }, 60_000);

  /** Verdicts of `bench check` by the key of the cell. */
  const verdicts = () => new Map(checked.series[0]?.cells.map((cell) => [cell.key, cell.reason ?? cell.verdict]));
  const told = () =>
    checked.findings
      .filter(({ direction, state }) => direction === 'slower' && (state === 'new' || state === 'open'))
      .toSorted((a, b) => a.state.localeCompare(b.state));

  test('the exit code is that of bench check in every format, with --night or without', async () => {
    const formats = ['--html', '--md', '--junit', '--csv', '--openmetrics', '--bmf', '--github'];
    const all = await Promise.all(formats.flatMap((format) => [of(format), of('--night', format)]));
    expect([checked.exitCode, new Set(all.map(({ code }) => code))]).toEqual([1, new Set([1])]);
    expect(new Set(all.map(({ stdout }) => stdout)).size).toBe(formats.length);
    expect((await of('--md', '--fail-on', 'failed')).code).toBe(4);
    expect((await of('--md', '--fail-on', 'unclear')).code).toBe(0);
  }, 60_000);

  test('the page: verdicts of the cells, the new finding first, the headline', async () => {
    const { stdout } = await of('--html');
    const [own = ''] = sectionOf(stdout, 'cells').split('<template');
    const rows = [...own.matchAll(/data-key="(\w+)" data-verdict="([^"]+)"/g)].map(([, key = '', verdict]) => [
      key,
      verdict === 'no result' ? 'failed' : verdict,
    ]);
    expect(new Map(rows.map(([key = '', verdict]) => [key, verdict]))).toEqual(verdicts());
    const findings = sectionOf(stdout, 'findings');
    expect(findings).toContain(`<p class="none">${checked.series[0]?.headline}.</p>`);
    expect([...findings.matchAll(/id="finding-(\w+)"/g)].map(([, id]) => id)).toEqual(
      told().map(({ id }) => id.slice(0, 8)),
    );
    expect(sectionOf(stdout, 'overview')).toMatch(/<span class="slower">1 cell slower<\/span> by [^<]*%</);
    expect(sectionOf(stdout, 'overview')).toContain('<a href="#findings">All: ');
    expect(sectionOf(stdout, 'overview')).toContain('<b class="slower">2</b> <span>slower</span>');
    expect(queryStore(db, 'SELECT count(*) AS n FROM judged_sweeps')).toEqual([{ n: 4 }]);
  });
});

describeWithConsumers('the programs that read them', () => {
  let cwd: string;
  const file = (name: string): string => join(cwd, name);

  beforeAll(async () => {
    cwd = sharedFolder();
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
    expect(readBy('openmetrics', file('o.prom'))).toMatchObject({
      trtbench_gpu_compute_seconds: {
        type: 'gauge',
        unit: 'seconds',
        samples: [[{ model: SHOWN, batch: '1', matrix: SHOWN }, expect.any(Number)]],
      },
      trtbench_sweep: { type: 'info' },
    });
  });

  test("the JSON Schema of Bencher's reference", () => {
    expect(Object.keys(Object(readBy('bmf', file('b.json'))))).toEqual([`${HOSTILE} fp16 1x3 graph`]);
  });
});

test('no output file replaces a store', async () => {
  const db = simulatedStore({ cells: simulatedCells(1), nights: 2, repeats: 2, value: () => 1 });
  const before = readFileSync(db);
  for (const format of ['--html', '--junit', '--csv']) {
    expect(await bench(['report', format, db, '--db', db])).toEqual(
      refusal('is a SQLite database, such as a store: name another file'),
    );
  }
  expect(readFileSync(db).equals(before)).toBe(true);
});
