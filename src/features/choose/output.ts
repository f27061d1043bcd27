import * as z from 'zod';

import { INPUT_DISTRIBUTIONS } from '../../records/accuracy.ts';
import { PRECISION_ROUTES, PRECISIONS } from '../../records/precision.ts';
import { VERDICTS } from '../../records/verdict.ts';
import { count, id, instant, output, type OutputOf, provenance } from '../../records/output-parts.ts';

const share = z.number().min(0).max(1);

const accuracy = z.strictObject({
  sqnrDb: z.number().nullable().describe('Of the worst output; null when no value differs'),
  relativeError: z.number().describe('Power of the noise over that of the signal, its root'),
  cosineMin: z.number().describe('Of the worst sample'),
  cosineMean: z.number(),
  maxAbsError: z.number(),
  top1: z.strictObject({ same: count, of: count }).nullable().describe('Samples with the same largest value'),
  samples: count,
  custom: z
    .strictObject({ name: z.string(), variant: z.number(), reference: z.number() })
    .nullable()
    .describe("The user's own number"),
});

const deployment = z.strictObject({
  key: id,
  label: z.string(),
  model: z.string(),
  precision: z.enum([...PRECISIONS, 'unstated']),
  precisionVia: z.enum(PRECISION_ROUTES),
  runs: count,
  throughputQps: z.number(),
  throughputFrom: z
    .enum(['counted', 'medianLatency'])
    .describe('medianLatency: one query at a time, of a harness that counts no throughput'),
  itemsPerS: z.number().nullable().describe('Null where no batch is known'),
  latencyMs: z.number().nullable().describe('Median'),
  p99Ms: z.number().nullable(),
  engineMib: z.number().nullable(),
  contextMib: z.number().nullable(),
  costs: z
    .strictObject({
      buildS: z.number().nullable(),
      loadS: z.number().nullable(),
      refitMs: z.number().nullable(),
      memoryMib: z.number().nullable().describe('Of the whole GPU, sampled'),
    })
    .describe('What it takes beside running'),
  accuracy: accuracy.nullable(),
  accuracyState: z.enum(['checked', 'reference', 'notChecked']),
  realPrecisionShare: z
    .record(z.string(), share)
    .nullable()
    .describe('Share of the time of all layers by the precision they really have'),
});

export type DeploymentOutput = OutputOf<typeof deployment>;

const chosen = { sweepIds: z.array(id), provenance: provenance.nullable(), notes: z.array(z.string()) };

export const pareto = output('bench pareto --json', {
  ...chosen,
  workloads: z
    .array(
      z.array(
        deployment.extend({
          dominatedBy: id.nullable().describe('A deployment that is better in something and worse in nothing'),
          speedUp: z
            .strictObject({
              referenceKey: id,
              ratio: z.number().describe('Of the throughput'),
              interval: z.tuple([z.number(), z.number()]).nullable().describe('95 %'),
              latencyRatio: z.number().nullable().describe('Above 1 it answers sooner'),
              verdict: z.enum(VERDICTS),
              reasons: z.array(z.string()),
            })
            .nullable(),
        }),
      ),
    )
    .describe('Deployments of one model, measured in the same way'),
  precisions: z.array(
    z.strictObject({
      precision: z.string(),
      reference: z.string(),
      pairs: count,
      slower: count,
      faster: count,
      unclear: count,
      leastRatio: z.number(),
      mostRatio: z.number(),
    }),
  ),
  scaling: z
    .array(
      z.strictObject({
        fromKey: id,
        toKey: id,
        fromBatch: count,
        toBatch: count,
        itemsPerSChangePercent: z.number(),
        verdict: z.enum(VERDICTS),
        reasons: z.array(z.string()),
      }),
    )
    .describe('Cells that differ in nothing but their batch, from each batch to the next'),
  unmeasured: z.array(z.strictObject({ key: id, label: z.string() })),
});

export type ParetoOutput = OutputOf<typeof pareto>;

const candidate = deployment
  .extend({
    limitedMs: z.number().describe('The latency that the limit is about'),
    headRoomPercent: z.number().describe('Below the limit; negative by how much it is missed'),
    accuracyLimit: z.enum(['kept', 'missed', 'notChecked']),
  })
  .nullable();

export const slo = output('bench slo --json', {
  ...chosen,
  limits: z.strictObject({
    maxLatencyMs: z.number(),
    metric: z.enum(['median', 'p99']),
    minSqnrDb: z.number().nullable(),
  }),
  models: z.array(
    z.strictObject({
      model: z.string(),
      candidates: count,
      fitting: count,
      winner: candidate,
      runnerUp: candidate,
      nearest: candidate.describe('Where nothing fits: what misses least'),
    }),
  ),
});

export type SloOutput = OutputOf<typeof slo>;

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);

export const accuracyOutput = output('bench accuracy --json', {
  maxDropDb: z.number(),
  comparisons: z.array(
    z.discriminatedUnion('kind', [
      z.strictObject({
        kind: z.literal('compared'),
        model: z.string(),
        precision: z.string().nullable(),
        referencePrecision: z.string().nullable(),
        reference: z.string(),
        variant: z.string(),
        referenceSha256: sha256,
        variantSha256: sha256,
        inputs: z.discriminatedUnion('kind', [
          z.strictObject({
            kind: z.literal('random'),
            seed: count,
            distribution: z.enum(INPUT_DISTRIBUTIONS),
            shapes: z.record(z.string(), z.array(z.number())),
          }),
          z.strictObject({ kind: z.literal('file'), sha256 }),
          z.strictObject({ kind: z.literal('exported') }),
        ]),
        versions: z.record(z.string(), z.string()),
        accuracy,
        stored: z.boolean(),
        before: z
          .strictObject({
            measuredAt: instant,
            sqnrDb: z.number().nullable(),
            dropDb: z.number().nullable().describe('Null where one of the two had no error at all'),
            isRegression: z.boolean(),
          })
          .nullable()
          .describe('The newest stored accuracy on the same inputs'),
      }),
      z.strictObject({
        kind: z.literal('failed'),
        model: z.string(),
        precision: z.string().nullable(),
        reference: z.string(),
        variant: z.string(),
        problem: z.string(),
      }),
    ]),
  ),
  notes: z.array(z.string()),
});
