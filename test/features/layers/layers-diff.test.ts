import { expect, test } from 'vitest';

import { changeRows } from '../../../src/layers/change-rows.ts';
import { diffLayers } from '../../../src/layers/diff-layers.ts';
import type { ProfiledEngine } from '../../../src/layers/profiled-engine.ts';
import { layersDiffOutput, withGraphNote } from '../../../src/features/layers/layers.ts';
import { layersDiffText } from '../../../src/features/layers/diff-text.ts';
import { makeLook } from '../../../src/terminal/look.ts';
import { recordedLayers } from '../../support/recorded-layers.ts';

const NORMAL = recordedLayers('pairs/vit_small.fp16/normal/profile');

const ENGINE: ProfiledEngine = {
  ref: 'latest',
  runId: '0123456789abcdef',
  sweepId: null,
  cellKey: null,
  cellLabel: null,
  provenance: 'measured',
  startedAt: null,
  layers: [],
  iterations: 100,
  gpuComputeMs: null,
  cudaGraph: null,
  notes: [],
};

function textOf(
  head: ReturnType<typeof recordedLayers>,
  smClockMhz: readonly [number | null, number | null],
  columns: number,
): string {
  const diff = diffLayers(NORMAL, head);
  const output = layersDiffOutput(ENGINE, ENGINE, diff, changeRows(diff));
  return layersDiffText(output, { opened: null, top: 20, smClockMhz }, makeLook(columns, false)).join('\n');
}

function said(factor: number, smClockMhz: readonly [number | null, number | null]): string {
  return textOf(
    NORMAL.map((layer) => ({ ...layer, averageMs: layer.averageMs * factor })),
    smClockMhz,
    200,
  );
}

test.each([
  [
    'a clock that stood still is no cause',
    0.986,
    [1980, 1980],
    'the noise of the profiler, as the SM clock did not move (1980 and 1980 MHz)',
  ],
  ['nor one that moved the other way', 0.986, [1980, 1900], 'the noise of the profiler'],
  [
    'one that fell as the layers got slower is',
    1.042,
    [1980, 1900],
    'the clock, not the engine: SM clock 1980 → 1900 MHz',
  ],
  ['without telemetry nobody knows', 0.986, [null, 1980], 'no clock was recorded during both profiles'],
] as const)('%s', (_, factor, clocks, text) => {
  expect(said(factor, clocks)).toContain(text);
});

test.each([80, 100, 140])('%d columns show the kernels', (columns) => {
  const text = textOf(recordedLayers('pairs/vit_small.fp16/level2/profile'), [null, null], columns);
  expect(text).toContain('tile 128x16x64 → 128x32');
});

test('a CUDA graph on one side alone is a note', () => {
  const [graph, launched] = [true, false].map((cudaGraph) => ({ ...ENGINE, cudaGraph }));
  expect(withGraphNote(graph ?? ENGINE, launched ?? ENGINE).notes).toEqual([
    'only the head was launched as a CUDA graph: a part of the change may be that of launches',
  ]);
  expect(withGraphNote(graph ?? ENGINE, graph ?? ENGINE).notes).toEqual([]);
  expect(withGraphNote(graph ?? ENGINE, ENGINE).notes).toEqual([]);
});
