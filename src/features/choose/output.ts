import * as z from 'zod';

import { PRECISION_ROUTES, PRECISIONS } from '../../records/cell.ts';
import { deploymentSchema } from '../../judge/deployment.ts';
import { VERDICTS } from '../../records/verdict.ts';
import { count, id, output, type OutputOf, provenance } from '../../records/output-parts.ts';
import { numberOrNull } from '../../records/scalars.ts';

const deployment = z.strictObject({
  key: id,
  label: z.string(),
  model: z.string(),
  precision: z.enum([...PRECISIONS, 'unstated']),
  precisionVia: z.enum(PRECISION_ROUTES),
  streams: count,
  runs: count,
  ...deploymentSchema.shape,
  accuracyState: z.enum(['checked', 'reference', 'notChecked']),
});

export type DeploymentOutput = OutputOf<typeof deployment>;

const chosen = { sweepIds: z.array(id), provenance: provenance.nullable(), notes: z.array(z.string()) };

const judged = { verdict: z.enum(VERDICTS), reasons: z.array(z.string()) };
const pairCounts = { pairs: count, slower: count, faster: count, unclear: count };
const ratios = { leastRatio: z.number(), mostRatio: z.number() };
const tally = z.strictObject({ precision: z.string(), reference: z.string(), ...pairCounts, ...ratios });
const interval = z.tuple([z.number(), z.number()]).describe('95 % interval');
const batches = { fromKey: id, toKey: id, fromBatch: count, toBatch: count };
const step = z.strictObject({ ...batches, itemsPerSChangePercent: z.number(), ...judged });

export const pareto = output('bench choose --json', {
  ...chosen,
  workloads: z
    .array(
      z.array(
        deployment.extend({
          dominatedBy: id.nullable().describe('A deployment that is better on one axis or more and worse on none'),
          speedUp: z
            .strictObject({
              referenceKey: id,
              ratio: z.number().describe('Ratio of the throughputs'),
              interval: interval.nullable(),
              latencyRatio: numberOrNull.describe('Ratio of the medians. Above 1: lower latency than the reference'),
              latencyInterval: interval.nullable(),
              latencyVerdict: judged.verdict.nullable(),
              ...judged,
            })
            .nullable(),
        }),
      ),
    )
    .describe('Deployments of one model, measured in the same way'),
  precisions: z.array(tally),
  scaling: z.array(step).describe('Pairs of cells that differ only in batch, from each batch to the next'),
  unmeasured: z.array(z.strictObject({ key: id, label: z.string() })),
});

export type ParetoOutput = OutputOf<typeof pareto>;

const candidate = deployment
  .extend({
    limitedMs: z.number().describe('The limited latency: p99 or the median'),
    headRoomPercent: z.number().describe('Distance below the limit; negative above it'),
    accuracyLimit: z.enum(['kept', 'missed', 'notChecked']),
  })
  .nullable();

export const slo = output('bench choose --json', {
  ...chosen,
  limits: z.strictObject({ maxLatencyMs: z.number(), metric: z.enum(['median', 'p99']), minSqnrDb: numberOrNull }),
  models: z.array(
    z.strictObject({
      model: z.string(),
      candidates: count,
      fitting: count,
      fittingKeys: z.array(id).describe('The fastest first'),
      winner: candidate,
      runnerUp: candidate,
      nearest: candidate.describe('If nothing fits: the deployment that is nearest to the limit'),
    }),
  ),
});

export type SloOutput = OutputOf<typeof slo>;
