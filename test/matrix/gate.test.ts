import { describe, expect, test } from 'vitest';

import { NO_GATE, metricNames } from '../../src/records/gated-metric.ts';
import { readLimit } from '../../src/matrix/gate.ts';
import { matrixFrom, oneModel } from '../support/matrices.ts';

const AXES = 'axes: {batch: [1, 8], precision: [fp16, fp8]}\nbuild: {opt: {batch: 8}}';

/** A matrix of four cells with this under `gate:`. */
const gated = (...lines: readonly string[]): string => oneModel(AXES, 'gate:', ...lines.map((line) => `  ${line}`));

function keysOf(model: string, holds: (cell: { precision: string; batch: number }) => boolean): string[] {
  return matrixFrom(oneModel(AXES)).cells.flatMap(({ cell, dimensions }) =>
    cell.model === model && holds({ precision: cell.precision, batch: dimensions['batch'] ?? 0 }) ? [cell.key] : [],
  );
}

describe('gate: in a matrix', () => {
  test('nothing stated is nothing set', () => {
    const { gate, notify, keptLastGoodBytes } = matrixFrom(oneModel(AXES));
    expect({ gate, notify, keptLastGoodBytes }).toEqual({ gate: NO_GATE, notify: null, keptLastGoodBytes: 10e9 });
  });

  test('filters become the keys of the cells that they match, named dimensions too', () => {
    const { gate } = matrixFrom(
      gated(
        'confirm: true',
        'confirmBudget: 20m',
        'minChange: [{percent: 2%}, {metric: p99, filter: precision=fp8, percent: 5}]',
        "limits: ['p99 <= 2 ms', {limit: engineMib <= 0.5 GiB, filter: batch>=8 & precision=fp16}]",
        'warn: [buildS, {filter: batch=1}]',
        'owners: [{filter: model=vit, owner: team-vision}, {filter: precision=fp8, owner: quantization}]',
      ),
    );
    const fp8 = keysOf('vit', ({ precision }) => precision === 'fp8');
    expect(fp8).toHaveLength(2);
    expect(gate).toEqual({
      confirm: true,
      confirmBudget: { kind: 'time', seconds: 1200 },
      against: null,
      renamedFrom: null,
      minChange: [
        { metric: null, cells: null, percent: 2 },
        { metric: 'p99Ms', cells: fp8, percent: 5 },
      ],
      limits: [
        { text: 'p99 <= 2 ms', filter: null, metric: 'p99Ms', comparison: '<=', value: 2, cells: null },
        {
          text: 'engineMib <= 0.5 GiB',
          filter: 'batch>=8 & precision=fp16',
          metric: 'engineMib',
          comparison: '<=',
          value: 512,
          cells: keysOf('vit', ({ precision, batch }) => precision === 'fp16' && batch === 8),
        },
      ],
      warn: [
        { metric: 'buildS', cells: null },
        { metric: null, cells: keysOf('vit', ({ batch }) => batch === 1) },
      ],
      owners: [
        { owner: 'team-vision', cells: keysOf('vit', () => true) },
        { owner: 'quantization', cells: fp8 },
      ],
    });
  });

  test('one percentage is that of every cell, and a budget may be a share of the sweep', () => {
    const { gate } = matrixFrom(gated('minChange: 1.5%', 'confirmBudget: 10%'));
    expect(gate.minChange).toEqual([{ metric: null, cells: null, percent: 1.5 }]);
    for (const percent of ['0%', '150%']) {
      expect(() => matrixFrom(gated(`minChange: ${percent}`))).toThrow(`"${percent}"`);
    }
    expect(gate.confirmBudget).toEqual({ kind: 'share', percent: 10 });
  });

  test('numbers of another harness have their own names', () => {
    const text = `models:
  llm:
    harness: {kind: command, run: [measure], metrics: {ttft: {better: lower, unit: ms}, tokens: {better: higher, unit: tok/s}}}
gate: {limits: ['ttft <= 0.1 s', 'tokens >= 40']}`;
    expect(matrixFrom(text).gate.limits.map(({ metric, value }) => [metric, value])).toEqual([
      ['ttft:lower:ms', 100],
      ['tokens:higher:tok/s', 40],
    ]);
  });

  test('the program of notify lies next to the file that names it, or on the path', () => {
    expect(matrixFrom({ 'm.yaml': gated('notify: [./tell.sh, --now]') }).notify?.value).toEqual([
      `${process.cwd()}/tell.sh`,
      '--now',
    ]);
    const expected = { value: ['mail', 'ops@example.org'], at: { file: 'm.yaml', line: 9, column: 12 } };
    expect(matrixFrom(gated('notify: [mail, ops@example.org]')).notify).toEqual(expected);
  });
});

test.each([
  ['p99<=2', 'p99Ms', 2],
  ['p99Ms <= 1500 us', 'p99Ms', 1.5],
  ['build <= 2 s', 'buildS', 2],
  ['engine <= 1GB', 'engineMib', 1e9 / 1024 ** 2],
  ['throughput >= 1e3 queries/s', 'throughputQps', 1000],
  ['sqnr >= 25 dB', 'sqnrDb', 25],
  ['hostBound <= 0', 'hostBoundPercent', 0],
])('%s', (text, metric, value) => {
  expect(readLimit(text, metricNames())).toMatchObject({ metric, value });
});
