import { expect, test } from 'vitest';

import { changeRows } from '../../../src/layers/change-rows.ts';
import { diffLayers } from '../../../src/layers/diff-layers.ts';
import type { LayerFacts } from '../../../src/layers/layer-facts.ts';
import { sumMs } from '../../../src/layers/summarize-layers.ts';
import { explainChange } from '../../../src/features/why/explain-change.ts';
import type { ExplainedRun } from '../../../src/layers/explained-run.ts';
import { UNKNOWN_ENVIRONMENT } from '../../../src/records/environment.ts';
import { recordedLayers } from '../../support/recorded-layers.ts';

const BASE = recordedLayers('pairs/vit_small.fp16/normal/profile');
const OPT32 = recordedLayers('pairs/vit_small.fp16/opt32/profile');

/** With the GELU of one block taken out of its product: it takes half as long again. Made up of the recording. */
function withLostFusion(layers: readonly LayerFacts[]): LayerFacts[] {
  const fused = layers.find(({ nodes }) => nodes.some((node) => node.startsWith('blocks.3.mlp.fc1')));
  if (fused === undefined) throw new Error('the recording has this block');
  const [product, rest] = [
    fused.nodes.filter((node) => node.includes('fc1')),
    fused.nodes.filter((node) => !node.includes('fc1')),
  ];
  return layers.flatMap((layer) =>
    layer === fused
      ? [
          { ...fused, nodes: product, origins: product },
          {
            ...fused,
            name: '__myl_DivCasErfCasAddMulMul_myl0_9',
            stableName: '__myl_DivCasErfCasAddMulMul',
            nodes: rest,
            origins: rest,
            averageMs: 0.005,
          },
        ]
      : [layer],
  );
}

function runs(gpuComputeMs: number, sha256: string): ExplainedRun[] {
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
  }));
}

test('a lost fusion is named beside other tactics that cost ten times as much', () => {
  const head = withLostFusion(OPT32);
  const diff = diffLayers(BASE, head);
  const grewMs = sumMs(head) - sumMs(BASE);
  const explanation = explainChange(
    {
      base: runs(0.412, 'a'),
      head: runs(0.412 + grewMs, 'b'),
      cudaGraph: true,
      isSameCell: true,
      cellDifference: '',
      layers: { diff, rows: changeRows(diff), otherCell: null, opaqueShare: 0 },
      missingProfiles: [],
      notes: [],
      names: { cell: '', base: 'a', head: 'b' },
    },
    null,
  );
  const causes = explanation?.causes ?? [];
  expect(causes.map(({ kind, certainty }) => `${kind} ${certainty}`)).toEqual(['tactics shown', 'fusion shown']);
  expect(causes[1]?.explainsPercent).toBeLessThan(12);
  expect(causes[1]?.evidence.join()).toContain('blocks.3.mlp.fc1');
  expect(causes[1]?.title).not.toContain('*');
});
