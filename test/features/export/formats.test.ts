import { parse } from 'csv-parse/sync';
import { XMLParser } from 'fast-xml-parser';
import { describe, expect, test } from 'vitest';

import { csvText, openMetricsText } from '../../../src/features/export/metric-tables.ts';
import { junitXml } from '../../../src/features/export/junit.ts';
import { githubAnnotations, markdownText } from '../../../src/features/export/github.ts';
import type { ReportedSweep } from '../../../src/features/export/reported-sweep.ts';
import type { QueryTimes } from '../../../src/trtexec/run-facts.ts';
import { queryTracks } from '../../../src/features/export/trace.ts';
import { compared, judged, reportedCell, reportedSweep } from '../../support/reported-sweep.ts';

const SLOWER = 'slower: GPU compute time +5.0 % (2.000 → 2.100 ms)';
const REPORT = reportedSweep([
  reportedCell('bert', [2, 2.2, 2.1], compared('slower', 2, 2.1)),
  reportedCell('gpt', [null]),
  reportedCell('resnet', [1, 1], compared('same', 1, 1)),
]);

const rowsOf = (report: ReportedSweep): Record<string, string>[] => parse(csvText(report), { columns: true });

function suitesOf(report: ReportedSweep, htmlEntities = false) {
  const parser = new XMLParser({ ignoreAttributes: false, attributeNamePrefix: '', htmlEntities });
  return parser.parse(junitXml(report)).testsuites;
}

const SHIFT = 'Common shift of +1.5 %, which fits 11 of 12 cells: a regression by itself';

test('a slow-down that the cells share is a finding of its own, also where no cell is slower', () => {
  const shift = { percent: 1.5, cells: 12, sharing: 11, verdict: 'slower', recorded: [] } as const;
  const report = { ...reportedSweep([reportedCell('a', [1], compared('unclear', 1, 1.01))]), shift };
  const suites = suitesOf(report);
  const expected = ['2', '1', '2', '1'];
  expect([suites.tests, suites.failures, suites.testsuite.tests, suites.testsuite.failures]).toEqual(expected);
  const failure = { type: 'regression', message: SHIFT };
  expect(suites.testsuite.testcase[0]).toMatchObject({ name: 'common shift', failure });
  expect(githubAnnotations(report)).toEqual([
    `::error title=common shift::${SHIFT.replace('%', '%25')}; clocks, driver or another common cause; none is recorded`,
  ]);
  expect(markdownText(report).split('\n')[0]).toBe(`### ▲ ${SHIFT} (1 unclear)`);
  const faster = { ...report, shift: { ...shift, verdict: 'faster' as const } };
  expect([junitXml(faster).includes('common shift'), githubAnnotations(faster)]).toEqual([false, []]);
  expect(markdownText(faster)).toContain('### No verdict in 1 cell (1 unclear)');
});

describe('CSV', () => {
  test('has a line for each run, its values in columns with units', () => {
    const rows = rowsOf(REPORT);
    expect(rows).toHaveLength(6);
    expect(rows[0]).toMatchObject({
      matrix: 'nightly',
      provenance: 'simulated',
      model: 'bert',
      precision: 'fp8',
      shapes: 'input:8x3',
      batch: '8',
      cudaGraph: 'true',
      repeat: '0',
      outcome: 'measured',
      reason: '',
      gpuComputeMs: '2',
      throughputQps: '500',
      itemsPerS: '4000',
      queries: '1000',
      gpu: 'NVIDIA H200',
    });
    expect(rows[3]).toMatchObject({ outcome: 'failed', reason: 'outOfMemory', gpuComputeMs: '' });
  });

  test.each([
    ...['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', ' =1'].map((name): [string, string] => [name, `'${name}`]),
    ['a "b", c\r\nd', 'a "b", c\r\nd'],
  ])('%j is no formula, and stays in its cell', (name, model) => {
    expect(rowsOf(reportedSweep([reportedCell(name, [1])]))[0]?.['model']).toBe(model);
  });
});

test('slower fails, no result is an error, the same passes', () => {
  const suites = suitesOf(REPORT);
  expect(suites).toMatchObject({ tests: '3', failures: '1', errors: '1', skipped: '0' });
  const [bert, gpt, resnet] = suites.testsuite.testcase;
  const name = 'bert fp8 8x3 graph';
  expect(bert).toMatchObject({ classname: 'bert', name, time: '13.500', failure: { message: SLOWER } });
  expect(gpt.error.message).toBe('no result: outOfMemory');
  expect(Object.keys(resnet)).not.toContain('failure');
  expect(resnet['system-out']).toContain('same: GPU compute time 0.00 %');
});

test('GitHub: a line for what got slower and for what has no result', () => {
  expect(githubAnnotations(REPORT)).toEqual([
    `::error title=bert fp8 8x3 graph::${SLOWER.replace('%', '%25')}`,
    '::warning title=gpt fp8 8x3 graph::no result: outOfMemory',
  ]);
});

describe('Markdown', () => {
  test('says what changed first, and folds the rest', () => {
    expect(markdownText(REPORT).split('\n')).toEqual([
      '### ▲ 1 of 3 cells slower by 5.0 % (1 without a result)',
      '',
      '**simulated** · nightly · main `11111111` → HEAD `abcdef01` · NVIDIA H200 · TensorRT 10.6.0 · inference only: no pre- or post-processing',
      '',
      '|  | cell | base | head | change | 95 % interval | last sweeps, ±7 % |',
      '| --- | --- | --: | --: | --: | --: | --- |',
      '| ▲ slower | bert fp8 8x3 graph | 2.000 ms | 2.100 ms | +5.0 % | +4.8 to +5.2 % | ▄▄! |',
      '',
      '|  | cell | value | last sweeps, ±2 % |',
      '| --- | --- | --- | --- |',
      '| ✗ no result | gpt fp8 8x3 graph | no result: outOfMemory | ▄▄! |',
      '',
      '<details><summary>1 cell the same</summary>',
      '',
      '|  | cell | base | head | change | 95 % interval | last sweeps, ±2 % |',
      '| --- | --- | --: | --: | --: | --: | --- |',
      '| = same | resnet fp8 8x3 graph | 1.000 ms | 1.000 ms | 0.00 % | -0.20 to +0.20 % | ▄▄! |',
      '',
      '</details>',
      '',
    ]);
  });

  test('fits a comment however many cells there are and however long their names', () => {
    const cells = Array.from({ length: 2000 }, (_, n) =>
      reportedCell(`${n}${'x'.repeat(10_000)}`, [1, 1], compared('slower', 1, 2)),
    );
    const text = markdownText(reportedSweep(cells));
    expect(text.length).toBeLessThan(65_536);
    expect(text).toMatch(/2000 of 2000 cells slower[^]*and 1\d\d\d more cells/);
  });

  test('the title counts only cells that were compared, and names the others', () => {
    const title = (...verdicts: readonly ('same' | 'missing' | 'incomparable' | 'failed')[]) => {
      const cells = verdicts.map((verdict, n) => reportedCell(`${n}`, [1, 1], { ...compared('same', 1, 1), verdict }));
      return markdownText(reportedSweep(cells)).split('\n')[0];
    };
    const line = '### No slower cell among 1 (1 without a result, 1 that cannot be compared, 2 on one side only)';
    expect(title('same', 'missing', 'missing', 'incomparable', 'failed')).toBe(line);
    expect(title('missing', 'missing')).toBe('### No verdict in 2 cells (2 on one side only)');
  });
});

const HOSTILE =
  '<script>alert(1)</script>|`x` *b* [a](http://e.com) @team #1 \\ "q" \'q\' & ]]> \u001b[31m\u0000\n::error::no';

test('hostile names stay text', () => {
  const slower = reportedCell(HOSTILE, [2, 2], compared('slower', 1, 2));
  const report = reportedSweep([slower, reportedCell(`${HOSTILE}2`, [null])]);
  const text = markdownText(report);
  expect(text).not.toMatch(/<script|@team|\[a\]\(|http:\/\/|`x`|\*b\*|[^&]#1/);
  expect(text).not.toContain('\u001b');
  expect(
    text
      .split('\n')
      .find((line) => line.startsWith('| ▲ slower'))
      ?.split('|'),
  ).toHaveLength(9);
  const [first] = suitesOf(report, true).testsuite.testcase;
  expect(first.classname.replaceAll('&#10;', '\n')).toBe(
    HOSTILE.replaceAll('\u001b', '\ufffd').replaceAll('\0', '\ufffd'),
  );
  for (const raw of ['<script', '\u001b', '\u0000']) expect(junitXml(report)).not.toContain(raw);
  const annotations = githubAnnotations(report);
  expect(annotations).toHaveLength(2);
  for (const line of annotations) expect(line).toMatch(/^::(error|warning) title=[^:,\n]*::[^\n]*$/);
  const metric = openMetricsText(report)
    .split('\n')
    .find((line) => line.startsWith('trtbench_gpu_compute_seconds{'));
  expect(metric).toMatch(/\\n::error.* 0\.002$/);
});

test('whoever looks after a cell: a property of its test case, a column where somebody is needed, in its annotation', () => {
  const owned = { ...reportedCell('bert', [2.1, 2.1, 2.1], compared('slower', 2, 2.1)), owner: 'team <nlp>' };
  const report = reportedSweep([owned, reportedCell('resnet', [1, 1, 1], compared('same', 1, 1))]);
  const xml = junitXml(report);
  expect(xml.match(/<property name="owner" .*>/g)).toEqual(['<property name="owner" value="team &lt;nlp&gt;"/>']);
  const [heading, , row, ...rest] = markdownText(report).split('\n').slice(4);
  expect([heading, row]).toEqual([
    '|  | cell | base | head | change | 95 % interval | last sweeps, ±7 % | owner |',
    '| ▲ slower | bert fp8 8x3 graph | 2.000 ms | 2.100 ms | +5.0 % | +4.8 to +5.2 % | ▄▄! | team &#60;nlp&#62; |',
  ]);
  expect(rest.join('\n')).not.toContain('owner');
  expect(githubAnnotations(report)).toEqual([
    `::error title=bert fp8 8x3 graph::${SLOWER.replace('%', '%25')} (owner: team <nlp>)`,
  ]);
});

describe('as the gate says it', () => {
  const open = { id: '1a2b3c4d5e6f', state: 'open', isWarning: false } as const;
  const about = { ...open, text: 'open: bert fp8 slower by 5.0 %, since 2026-11-18' };
  const isNew = { reason: 'new', base: null, changePercent: null, mdePercent: null } as const;
  const report = {
    ...reportedSweep([
      reportedCell('bert', [2.1], judged('slower', 2, 2.1, [open])),
      reportedCell('gpt', [2.1], judged('slower', 2, 2.1, [{ ...open, isWarning: true }])),
      reportedCell('t5', [null], { ...judged('same', 1, 1), verdict: 'noResult', reason: 'failed', base: null }),
      reportedCell('vit', [1], { ...judged('unclear', 1, 1), ...isNew }),
    ]),
    baseRef: null,
    gate: { headline: '1 cell slower: 1 open; 1 cell without a result', findings: [about] },
  };

  test('Markdown: its headline, its findings, and the reference', () => {
    const lines = markdownText(report).split('\n');
    expect(lines[0]).toBe('### ▲ 1 cell slower: 1 open; 1 cell without a result');
    expect(lines).toEqual(
      expect.arrayContaining([
        '- finding `1a2b3c4d`: open: bert fp8 slower by 5.0 %, since 2026-11-18',
        '|  | cell | reference | now | change | 95 % interval | last sweeps, ±7 % |',
        '| ▲ slower | bert fp8 8x3 graph | 2.000 ms | 2.100 ms | +5.0 % | +4.8 to +5.2 % | !!! |',
        '<details><summary>1 cell without a reference yet</summary>',
      ]),
    );
  });

  test('JUnit: what makes no exit code fails nothing', () => {
    const suites = suitesOf(report);
    expect(suites).toMatchObject({ tests: '5', failures: '1', errors: '1', skipped: '0' });
    const [finding, bert, gpt, t5, vit] = suites.testsuite.testcase;
    const old = { name: 'new', value: 'false' };
    const failure = { type: 'regression', message: about.text };
    expect(finding).toMatchObject({ name: 'finding 1a2b3c4d', properties: { property: old }, failure });
    expect(bert.properties.property).toEqual(expect.arrayContaining([{ name: 'finding', value: '1a2b3c4d' }, old]));
    expect(bert).not.toHaveProperty('failure');
    for (const cell of [bert, gpt]) expect(cell['system-out']).toContain(SLOWER);
    expect(t5.error.message).toBe('no result: outOfMemory');
    expect(vit['system-out']).toContain('GPU compute time 1.000 ms');
  });

  test('annotations and CSV', () => {
    expect(githubAnnotations(report)).toEqual([
      '::error title=finding 1a2b3c4d::open: bert fp8 slower by 5.0 %25, since 2026-11-18',
      `::error title=bert fp8 8x3 graph::${SLOWER.replace('%', '%25')}`,
      '::warning title=t5 fp8 8x3 graph::no result: outOfMemory',
    ]);
    const rows = rowsOf(report);
    expect(rows.map(({ verdict }) => verdict)).toEqual(['slower', 'slower', 'failed', 'new']);
    const change = { before: '2', now: '2.1', changePercent: '5.000000000000004' };
    expect(rows[0]).toMatchObject({ verdictMetric: 'gpuComputeMs', ...change, findings: '1a2b3c4d5e6f' });
  });
});

function times(columns: Readonly<Record<string, readonly number[]>>): QueryTimes {
  const entries = Object.entries(columns).map(([name, values]) => [name, Float64Array.from(values)]);
  return { count: Object.values(columns)[0]?.length ?? 0, columns: Object.fromEntries(entries) };
}

/** Each track as `NAME: START-END #QUERY, …`. */
function spans(of: QueryTimes): string[] {
  return queryTracks(of).map(({ name, slices }) => {
    return `${name}: ${slices.map(({ endMs, facts, startMs }) => `${startMs}-${endMs} #${facts['query']}`).join(', ')}`;
  });
}

const STAMPED = {
  startEnqMs: [1, 3],
  endEnqMs: [1.25, 3.5],
  startH2dMs: [0, 2],
  endH2dMs: [0.5, 2.5],
  startComputeMs: [1, 3],
  endComputeMs: [1.5, 3.5],
  startD2hMs: [1.5, 3.5],
  endD2hMs: [1.5, 3.5],
  h2dMs: [0.5, 0.5],
  computeMs: [0.4375, 0.5],
  d2hMs: [0, 0],
  latencyMs: [1, 1],
};
const STREAMS = { startComputeMs: [0, 5, 1, 10], endComputeMs: [10, 6, 4, 11], computeMs: [10, 1, 3, 1] };
const ROUNDED = { startComputeMs: [12_345.6, 12_346.4], endComputeMs: [12_346.4, 12_347.2], computeMs: [0.875, 0.75] };
const WITHOUT_STAMPS = { h2dMs: [1, 1], computeMs: [2, 3], d2hMs: [1, 1], latencyMs: [4, 5] };

test.each([
  [
    'each part lies where its stamp says, as long as trtexec measured it: gaps stay',
    STAMPED,
    ['enqueue (host): 1-1.25 #0, 3-3.5 #1', 'H2D copy: 0-0.5 #0, 2-2.5 #1', 'GPU compute: 1-1.4375 #0, 3-3.5 #1'],
  ],
  [
    'queries of several streams overlap: they go to further tracks, in the order in which they began',
    STREAMS,
    ['GPU compute: 0-10 #0, 10-11 #3', 'GPU compute (2): 1-4 #2, 5-6 #1'],
  ],
  [
    'what rounded stamps and exact durations disagree in is no overlap',
    ROUNDED,
    ['GPU compute: 12345.6-12346.4 #0, 12346.4-12347.15 #1'],
  ],
  ['without stamps nobody knows when a query began: no track', WITHOUT_STAMPS, []],
])('%s', (_, columns: Readonly<Record<string, readonly number[]>>, expected) => {
  expect(spans(times(columns))).toEqual(expected);
});
