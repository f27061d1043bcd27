import * as z from 'zod';

import { type CellRun, isMeasured } from '../records/run.ts';
import { accuracySchema } from '../records/accuracy.ts';
import { type Immutable, numberOrNull } from '../records/scalars.ts';
import { canonicalJson, compareTexts } from '../text/canonical-json.ts';
import { batchOf, itemsPerS, type KeyedCell, PRECISIONS } from '../records/cell.ts';
import type { MetricId } from '../records/metric.ts';
import * as part from '../records/output-parts.ts';
import { throughputsOf, valuesOf } from './value-rule.ts';
import { engineEfficiencySchema } from '../layers/work/efficiency.ts';
import { median } from '../statistics/order-statistics.ts';
import { momentsOf, tQuantile } from '../statistics/special-functions.ts';
import { FLAG_LABELS, isIneligible, ineligibleFlags } from '../records/outcome.ts';

type ChoiceRun = Pick<CellRun, 'cellKey' | 'centres' | 'derivedQps' | 'flags' | 'outcome' | 'role' | 'values'>;

const costsSchema = z.strictObject({
  buildS: numberOrNull,
  loadS: numberOrNull,
  refitMs: numberOrNull,
  memoryMib: numberOrNull.describe('Sampled memory use of the whole GPU'),
});

const energySchema = z.strictObject({
  perQueryMj: z.number().describe('Mean over the runs'),
  perItemMj: numberOrNull.describe('Null where no batch is known'),
  runs: z.number().int().describe('Number of runs with telemetry'),
  intervalPercent: numberOrNull.describe('Half the 95 % interval, relative to the mean; null with a single run'),
});

export const deploymentSchema = z.strictObject({
  throughputQps: z.number(),
  throughputFrom: part.throughputFrom,
  itemsPerS: numberOrNull.describe('Null where no batch is known'),
  latencyMs: numberOrNull.describe('Median'),
  p99Ms: numberOrNull,
  engineMib: numberOrNull,
  contextMib: numberOrNull,
  tunedBatch: numberOrNull.describe('Batch in opt of its optimization profile'),
  costs: costsSchema.describe('Build, load, refit and memory costs'),
  energy: energySchema.nullable().describe('Energy of the GPU; null without telemetry'),
  efficiency: engineEfficiencySchema.nullable().describe('Share of the peaks of the GPU; null without the ONNX model'),
  accuracy: accuracySchema.nullable(),
  realPrecisionShare: z
    .record(z.string(), z.number().min(0).max(1))
    .nullable()
    .describe('Actual precision: share of the layer time by precision'),
});

export interface Deployment extends Immutable<z.infer<typeof deploymentSchema>> {
  readonly cell: KeyedCell;
  readonly runsQps: readonly number[];
  readonly runsLatencyMs: readonly number[];
}

type Fact = 'accuracy' | 'efficiency' | 'realPrecisionShare' | 'tunedBatch';

/** By cell key. */
export type DeploymentFacts = { readonly [Name in Fact]: ReadonlyMap<string, NonNullable<Deployment[Name]>> };

export function deploymentsOf(cells: readonly KeyedCell[], runs: readonly ChoiceRun[], facts: DeploymentFacts) {
  const byCell = Map.groupBy(runs.filter(isMeasured), ({ cellKey }) => cellKey);
  const measured: Deployment[] = [];
  const unmeasured: KeyedCell[] = [];
  const ineligible: { readonly cell: KeyedCell; readonly because: string }[] = [];
  for (const cell of cells) {
    const all = byCell.get(cell.key) ?? [];
    const own = all.filter(({ flags }) => !isIneligible(flags));
    if (own.length === 0 && all.length > 0) {
      const labels = ineligibleFlags(all.flatMap(({ flags }) => flags)).map(({ id }) => FLAG_LABELS[id]);
      ineligible.push({ cell, because: [...new Set(labels)].join(', ') });
      continue;
    }
    const of = (metric: MetricId): number | null => median(valuesOf(own, metric));
    const { runsQps, throughputFrom } = throughputsOf(own);
    const throughputQps = median(runsQps);
    if (throughputQps === null) unmeasured.push(cell);
    else
      measured.push({
        cell,
        runsQps,
        runsLatencyMs: valuesOf(own, 'latencyMs'),
        throughputQps,
        throughputFrom,
        itemsPerS: itemsPerS(cell.shapes, throughputQps),
        latencyMs: of('latencyMs'),
        p99Ms: of('p99Ms'),
        engineMib: of('engineMib'),
        contextMib: of('contextMib'),
        tunedBatch: facts.tunedBatch.get(cell.key) ?? null,
        costs: { buildS: of('buildS'), loadS: of('loadS'), refitMs: of('refitMs'), memoryMib: of('memoryMib') },
        energy: energyOf(valuesOf(own, 'energyPerQueryMj'), batchOf(cell.shapes)),
        efficiency: facts.efficiency.get(cell.key) ?? null,
        accuracy: facts.accuracy.get(cell.key) ?? null,
        realPrecisionShare: facts.realPrecisionShare.get(cell.key) ?? null,
      });
  }
  return { measured: measured.toSorted(byChoice), unmeasured, ineligible };
}

const TAIL = 0.05;

function energyOf(values: readonly number[], batch: number | null): Deployment['energy'] {
  if (values.length === 0) return null;
  const { mean, squares } = momentsOf(values);
  const degrees = values.length - 1;
  const error = Math.sqrt(squares / degrees / values.length);
  return {
    perQueryMj: mean,
    perItemMj: batch === null ? null : mean / batch,
    runs: values.length,
    intervalPercent: degrees === 0 ? null : (100 * tQuantile(TAIL, degrees) * error) / mean,
  };
}

function byChoice({ cell: a }: Deployment, { cell: b }: Deployment): number {
  return (
    compareTexts(workloadKey(a), workloadKey(b)) ||
    (batchOf(a.shapes) ?? 0) - (batchOf(b.shapes) ?? 0) ||
    compareTexts(precisionTwinKey(a), precisionTwinKey(b)) ||
    PRECISION_ORDER.indexOf(a.precision) - PRECISION_ORDER.indexOf(b.precision) ||
    compareTexts(a.key, b.key)
  );
}

const PRECISION_ORDER: readonly string[] = [...PRECISIONS, 'unstated'];

/** Groups of comparable deployments: one model and item shape, measured by one method. */
export function workloadsOf(deployments: readonly Deployment[]): Deployment[][] {
  return [...Map.groupBy(deployments, ({ cell }) => workloadKey(cell)).values()];
}

function workloadKey(cell: KeyedCell): string {
  const { model, shapes, dataTransfers, spinWait, inputs, harness = null } = cell;
  const from = batchOf(shapes) === null ? 0 : 1;
  const sample = Object.fromEntries(Object.entries(shapes).map(([input, dims]) => [input, dims.slice(from)]));
  return canonicalJson([model, sample, dataTransfers, spinWait, inputs.kind, harness]);
}

/** Equal for cells that differ only in precision. */
export function precisionTwinKey(cell: KeyedCell): string {
  const { key: _key, precision: _precision, precisionVia: _via, ...rest } = cell;
  return canonicalJson(rest);
}
