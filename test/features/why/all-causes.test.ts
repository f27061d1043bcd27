import { describe, expect, test } from 'vitest';

import { changeRows, diffLayers } from '../../../src/layers/diff-layers.ts';
import type { LayerFacts } from '../../../src/layers/layer-facts.ts';
import { shareText } from '../../../src/terminal/numbers.ts';
import { explainChange } from '../../../src/features/why/explain-change.ts';
import type { ExplainedRun } from '../../../src/store/runs/layer-runs.ts';
import { UNKNOWN_ENVIRONMENT } from '../../../src/records/environment.ts';
import type { RunTelemetry } from '../../../src/records/telemetry.ts';
import { recordedLayers } from '../../support/recorded-layers.ts';
import { NO_TELEMETRY } from '../../support/fitness-facts.ts';
import { sumMs } from '../../../src/layers/real-precision.ts';

const BASE = recordedLayers('pairs/vit_small.fp16/normal/profile');
const OPT32 = recordedLayers('pairs/vit_small.fp16/opt32/profile');

/** With the GELU of one block taken out of its product: it takes half as long again. Made up of the recording. */
function withLostFusion(layers: readonly LayerFacts[]): LayerFacts[] {
  const fused = layers.find(({ nodes }) => nodes.some((node) => node.startsWith('blocks.3.mlp.fc1')));
  if (fused === undefined) throw new Error('the recording has this block');
  const product = fused.nodes.filter((node) => node.includes('fc1'));
  const rest = fused.nodes.filter((node) => !node.includes('fc1'));
  const stableName = '__myl_DivCasErfCasAddMulMul';
  const gelu = { ...fused, name: `${stableName}_myl0_9`, stableName, nodes: rest, origins: rest, averageMs: 0.005 };
  return layers.flatMap((layer) =>
    layer === fused ? [{ ...fused, nodes: product, origins: product }, gelu] : [layer],
  );
}

const faster = (layer: LayerFacts): LayerFacts => ({ ...layer, averageMs: 0.6 * layer.averageMs });

function runs(gpuComputeMs: number, sha256: string, changes: Partial<ExplainedRun> = {}): ExplainedRun[] {
  return [0, 1, 2].map((nth) => ({
    runId: `${sha256}${nth}`,
    sweepId: sha256,
    outcome: { kind: 'measured', evidence: [] },
    gpuComputeMs: gpuComputeMs * (1 + nth * 1e-4),
    gpuComputeMeanMs: gpuComputeMs,
    latencyMs: gpuComputeMs,
    throughputQps: 1000 / gpuComputeMs,
    enqueueMs: 0.001,
    h2dMs: null,
    d2hMs: null,
    cvPercent: 0.1,
    gpuBusy: 0.99,
    boundBy: 'compute',
    hints: [],
    flags: [],
    telemetry: null,
    environment: UNKNOWN_ENVIRONMENT,
    engine: { buildId: null, sha256, path: null, modelSha256: null, flags: null },
    runFlags: [],
    inputs: { kind: 'random' },
    importNotes: [],
    variables: [],
    ...changes,
  }));
}

const NAMED = { isSameCell: true, cellDifference: '', notes: [], names: { cell: 'vit', base: 'a', head: 'b' } };

function explain(head: readonly LayerFacts[], grewMs = sumMs(head) - sumMs(BASE), isTimed = true) {
  const diff = diffLayers(BASE, head);
  const rows = changeRows(diff);
  const layers = { diff, rows, isTimed, otherCell: null };
  const sides = { base: runs(0.412, 'a'), head: runs(0.412 + grewMs, 'b') };
  const explanation = explainChange({ ...NAMED, ...sides, cudaGraph: true, layers }, null);
  if (explanation === null) throw new Error('both sides have runs');
  return { rows: rows.rows, ...explanation };
}

test('a lost fusion is named beside other tactics that cost ten times as much', () => {
  const { causes } = explain(withLostFusion(OPT32));
  expect(causes.map(({ kind, certainty }) => `${kind} ${certainty}`)).toEqual(['tactics shown', 'fusion shown']);
  expect(causes[1]?.explainsPercent).toBeLessThan(12);
  expect(causes[1]?.evidence.join()).toContain('blocks.3.mlp.fc1');
  expect(causes[1]?.title).not.toContain('*');
});

test('what costs more than the change is counted in full, with what others gained', () => {
  const head = OPT32.map((layer) => (layer.nodes.some((node) => node.includes('attn.proj')) ? faster(layer) : layer));
  const { causes, rows } = explain(head);
  const grewMs = sumMs(head) - sumMs(BASE);
  const costs = rows.filter(({ deltaMs, isCause }) => isCause && deltaMs > 0);
  const gains = rows.filter(({ deltaMs }) => deltaMs < 0);
  const percentOf = (some: typeof rows) => (100 * some.reduce((sum, { deltaMs }) => sum + deltaMs, 0)) / grewMs;
  expect(percentOf(costs)).toBeGreaterThan(120);
  expect(causes[0]?.explainsPercent).toBeCloseTo(percentOf(costs), 0);
  expect(causes[0]?.gainedPercent).toBeCloseTo(-percentOf(gains), 0);
  expect(causes[0]?.rank).toBeLessThanOrEqual(100);
  if (causes[0] === undefined) throw new Error('a cause');
  const pattern = /^, accounts for 1\d\d % of it, others gained \d\d\.\d %$/;
  expect(shareText(causes[0], ', accounts for', 'of it')).toMatch(pattern);
});

test('a layer that takes longer in the same kernel is a cause of its own', () => {
  const isSlower = ({ nodes }: LayerFacts): boolean => nodes.some((node) => node.startsWith('blocks.3.mlp.fc1'));
  const head = BASE.map((layer) => ({ ...layer, averageMs: (isSlower(layer) ? 1.54 : 1) * layer.averageMs }));
  const { causes, layers } = explain(head);
  expect([causes.map(({ kind, title }) => [kind, title]), layers]).toEqual([
    [
      ['engineBuild', 'the engine is different'],
      ['sameKernel', '+54.0 % with the same kernel in 1 layer: blocks.3.mlp.fc1'],
    ],
    [],
  ]);
});

describe('every changed layer is named, by cost', () => {
  const faint = BASE.map((layer) => ({ ...layer, tactic: layer.tactic?.replace('64x64x64', '256x64x32') ?? null }));

  test.each([
    ['some of them causes', OPT32, undefined, true],
    ['none beyond noise', faint, 0.02, true],
    ['without times', OPT32, 0.02, false],
  ])('%s', (_, head, grewMs, isTimed) => {
    const { causes, layers, rows } = explain(head, grewMs, isTimed);
    const lines = [...causes.flatMap(({ evidence }) => evidence), ...layers];
    expect(rows.length).toBeGreaterThan(1);
    const named = rows.filter(({ change }) => isTimed || change !== 'otherHash');
    for (const { label } of named) expect(lines.filter((line) => line.includes(label))).not.toEqual([]);
    expect(lines.some((line) => line.includes(' ms '))).toBe(isTimed);
    const costs = layers.map((line) => Number(/^[+-][\d.]+/.exec(line)?.[0] ?? 0));
    expect(costs).toEqual(costs.toSorted((a, b) => b - a));
    expect(causes.some(({ explainsPercent }) => explainsPercent !== null)).toBe(isTimed && head === OPT32);
  });

  test('or that none changed', () => {
    const { causes, layers } = explain(BASE, 0.02);
    expect([causes.map(({ kind }) => kind), layers]).toEqual([['engineBuild'], []]);
  });
});

const FAST = { smClockMhz: 1980, smClockMinMhz: 1980, memoryClockMhz: 3201, clockReasons: {} };
const COOL = { powerW: 320, powerMaxW: 330, powerLimitW: 700, temperatureMaxC: 45, gpuUtilisationPercent: 98 };
const QUIET: RunTelemetry = { ...NO_TELEMETRY, ...FAST, ...COOL, otherProcesses: [], hostLoad: 0.1 };

const watched = (changes: Partial<RunTelemetry>): Partial<ExplainedRun> => ({ telemetry: { ...QUIET, ...changes } });
const slowClock = { smClockMhz: 1650 };
const driver = (version: string) => ({ environment: { ...UNKNOWN_ENVIRONMENT, driver: version } });
const engine = (sha256: string, modelSha256: string) => ({
  engine: { buildId: null, path: null, flags: ['--stronglyTyped'], sha256, modelSha256 },
});
const crowded = watched({ otherProcesses: [{ pid: 1, name: 'python', memoryMib: null }] });

/** The causes of a change of 20 % of GPU time, unless a side says otherwise, with the share that each explains. */
function explained(head: Partial<ExplainedRun>, base: Partial<ExplainedRun> = {}, gpuComputeMs = 0.6) {
  const sides = {
    base: runs(0.5, 'a', { ...watched({}), ...base }),
    head: runs(gpuComputeMs, 'a', { ...watched({}), ...head }),
  };
  return explainChange({ ...NAMED, ...sides, cudaGraph: false, layers: null }, null)?.causes ?? [];
}

function causesOf(...sides: Parameters<typeof explained>): string[] {
  return explained(...sides).map(({ certainty, explainsPercent, kind }) =>
    [kind, certainty, ...(explainsPercent === null ? [] : [Math.round(explainsPercent)])].join(' '),
  );
}

// ln(1980 / 1650) / ln(0.6 / 0.5) is 1; 0.5 of the 0.6 ms are launches; 0.2 of 0.2 ms are copies.
test.each<[string, Partial<ExplainedRun>, Partial<ExplainedRun>, string[]]>([
  ['a lower clock', watched(slowClock), {}, ['clocks shown 100']],
  ['a power cap', watched({ ...slowClock, clockReasons: { swPowerCap: 1 } }), {}, ['powerLimit shown 100']],
  ['a lower power limit', watched({ ...slowClock, powerLimitW: 500 }), {}, ['powerLimit shown 100']],
  ['heat', watched({ ...slowClock, clockReasons: { hwThermalSlowdown: 0.5 } }), {}, ['thermal shown 100']],
  ['a driver', driver('2'), {}, []],
  ['another driver', driver('2'), driver('1'), ['environment possible']],
  ['slower launches', { enqueueMs: 0.55 }, { enqueueMs: 0.45 }, ['enqueueBound shown 100']],
  ['launches that may be slow', { enqueueMs: 0.35 }, { enqueueMs: 0.3 }, ['enqueueBound likely 50']],
  ['no graph', { hints: ['graph_fail'] }, {}, ['graphNotCaptured shown 100']],
  ['another process', crowded, {}, ['contention likely']],
  ['another model', engine('b', 'new'), engine('a', 'old'), ['model possible']],
  ['another build', engine('b', 'old'), engine('a', 'old'), ['engineBuild possible']],
  ['other options', { runFlags: ['--useSpinWait'] }, {}, ['options possible']],
  ['other variables', { variables: ['NVIDIA_TF32_OVERRIDE=0'] }, {}, ['options possible']],
  ['nothing known', {}, {}, []],
])('%s', (_, head, base, causes) => {
  expect(causesOf(head, base)).toEqual(causes);
});

test('what a clock explains is told in its cycles, too', () => {
  const inCycles = (head: Partial<ExplainedRun>, gpuComputeMs?: number): string[] =>
    explained(head, {}, gpuComputeMs).flatMap(({ evidence }) => evidence.filter((line) => line.includes('cycles')));
  expect(inCycles(watched(slowClock))).toEqual([
    expect.stringMatching(/^GPU time in SM cycles [+-]?0\.0+ % \(95 % interval -\S+ … \+\S+ %\)$/),
  ]);
  expect(inCycles(watched(slowClock), 0.66)).toEqual([expect.stringContaining('GPU time in SM cycles +10.0 % (95 %')]);
  expect(inCycles(driver('2'))).toEqual([]);
});

test('copies explain a latency, a host that lets the GPU wait explains a throughput', () => {
  const copies = { latencyMs: 0.7, h2dMs: 0.2, throughputQps: 2000 };
  expect(causesOf(copies, { latencyMs: 0.5, h2dMs: 0.001, throughputQps: 2000 }, 0.5)).toEqual(['transfers shown 100']);
  const idle = { gpuBusy: 0.5, throughputQps: 1000 };
  const waits = causesOf(idle, { throughputQps: 2000 }, 0.5);
  expect(waits).toEqual(['hostBound shown 100']);
  expect(causesOf({ ...idle, boundBy: 'paced' }, { throughputQps: 2000 }, 0.5)).toEqual([]);
  expect(explained({ throughputQps: 2000 }, idle, 0.5)[0]?.evidence[0]).toContain('the time between them shrank');
});
