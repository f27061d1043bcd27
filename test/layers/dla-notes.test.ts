import { cpSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { dlaNotes } from '../../src/selection/profiled-engine.ts';
import { bench, temporaryFolder } from '../support/bench.ts';
import { FIXTURES } from '../support/recordings.ts';

const RECORDED = join(FIXTURES, 'level0/profile/vit_small.fp16.level0');
const ON_DLA = { axisFlags: { '--useDLACore': '0', '--allowGPUFallback': '' } };

const layer = (name: string, averageMs: number | null, type: string | null = null) => ({
  index: 0,
  name,
  type,
  tactic: null,
  precisionIn: null,
  precisionOut: null,
  channels: null,
  origins: [],
  timeMs: averageMs,
  averageMs,
  medianMs: null,
  percentage: null,
});

test('regions of the DLA, and the part of the time in them', () => {
  const layers = [
    layer('{ForeignNode[/conv1/Conv.../layer1/Relu]}', 3),
    layer('Reformatting CopyNode for Output Tensor 0 to {ForeignNode[/conv1/Conv.../layer1/Relu]}', 0.5),
    layer('{ForeignNode[/attn/MatMul.../attn/Add]}', 0.25, 'Myelin'),
    layer('/pool/MaxPool', 0.25),
  ];
  expect(dlaNotes(ON_DLA, layers)).toEqual(['on the DLA: 1 of 4 layers, 75 % of the time; the GPU ran the other 3']);
  expect([dlaNotes({ axisFlags: {} }, layers), dlaNotes(null, layers)]).toEqual([[], []]);
  expect(dlaNotes(ON_DLA, [layer('{ForeignNode[a...b]}', null)])).toEqual([
    'on the DLA: 1 of 1 layers; nothing ran on the GPU',
  ]);
});

test('bench layers says it of a cell that asked for the DLA, from files and from a store', async () => {
  const folder = temporaryFolder();
  const run = join(folder, 'run');
  cpSync(RECORDED, run, { recursive: true });
  // Recorded on a GPU without DLA: the names of its regions are made up.
  rmSync(join(run, 'layers.json.br'));
  rmSync(join(run, 'profile.json.br'));
  const time = { timeMs: 10, medianMs: 0.1, percentage: 50 };
  const layers = [
    { name: '{ForeignNode[/a/Conv.../b/Relu]}', averageMs: 0.3, ...time },
    { name: '/pool/MaxPool', averageMs: 0.1, ...time },
  ];
  writeFileSync(join(run, 'profile.json'), JSON.stringify([{ count: 100 }, ...layers]));
  const argv = ['trtexec', '--loadEngine=a.plan', '--useDLACore=0', '--exportProfile=profile.json'];
  writeFileSync(join(run, 'run.json'), JSON.stringify({ argv, exit_code: 0 }));
  const said = 'on the DLA: 1 of 2 layers, 75 % of the time; the GPU ran the other 1';
  const db = join(folder, 'bench.sqlite');
  expect(JSON.parse((await bench(['layers', run, '--json'])).stdout).notes).toContain(said);
  await bench(['import', run, '--model', 'm', '--db', db]);
  const stored = await bench(['layers', 'model=m', '--json', '--db', db]);
  expect([stored.stderr, JSON.parse(stored.stdout).notes]).toEqual(['', expect.arrayContaining([said])]);
});
