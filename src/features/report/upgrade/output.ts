import * as z from 'zod';

import { count, metric, output, type OutputOf } from '../../../records/output-parts.ts';
import { geometricMeanSchema } from '../../../records/verdict.ts';
import { comparison } from '../../compare/index.ts';

const { across, base, baseRef, cells, geometricMeans, head, headRef, provenance, shift } = comparison.shape;

/** Base and head. */
const pair = z.tuple([z.number().nullable(), z.number().nullable()]);

const upgradeCell = cells.element.extend({
  model: z.string(),
  precision: z.string(),
  problem: z
    .strictObject({
      side: z.enum(['base', 'head', 'both']),
      kind: z.enum(['build', 'run', 'notMeasured']),
      reason: z.string(),
    })
    .nullable()
    .describe('Why a cell has no result'),
  accuracy: z
    .strictObject({ sqnrDb: pair, moved: z.enum(['worse', 'better']).nullable() })
    .nullable()
    .describe('Of the files that the engines were built from, on the same inputs; null where it is not known of both'),
  layers: z
    .strictObject({ changed: count, of: count })
    .nullable()
    .describe('Layers of head with another fusion, tactic or precision; null where one side has none stored'),
  engineMib: pair,
  contextMib: pair,
  memoryMib: pair.describe('Of the whole GPU, by telemetry'),
});

const tallies = {
  cells: count,
  faster: count,
  slower: count,
  same: count,
  unclear: count,
  incomparable: count,
  missing: count.describe('On one side only'),
  buildFailed: count.describe('Head does not build, base did'),
  runFailed: count.describe('Head builds and has no result, base had one'),
  recovered: count.describe('Only head has a result, both were planned'),
  failedOnBoth: count,
  accuracyMoved: count,
  accuracyFell: count.describe('Those of the moved ones that are worse'),
  accuracyUnknown: count,
  modelChanged: count.describe('Their model file is another one: the move is not all that changed'),
  layersChanged: count.describe('Cells in which at least one layer changed'),
  layersUnknown: count,
};

export const upgrade = output('bench report --upgrade OLD NEW --json', {
  headline: z.string(),
  against: z.array(z.string()).describe('What speaks against moving; empty where nothing does'),
  unknown: z.array(z.string()).describe('What the store does not say'),
  changed: z.array(z.string()).describe('What differs between the two machines: TensorRT 10.6.0 → 10.16.0'),
  baseRef,
  headRef,
  base,
  head,
  provenance,
  across,
  shift,
  counts: z.strictObject(tallies),
  geometricMeans,
  groups: z
    .array(
      z.strictObject({
        model: z.string(),
        precision: z.string(),
        metric,
        ...tallies,
        geometricMean: z.strictObject(geometricMeanSchema.shape).nullable(),
        engineMib: pair.describe('Of the largest engine of the cells that both sides have'),
        contextMib: pair.describe('Of the largest'),
        memoryMib: pair.describe('Of the largest'),
      }),
    )
    .describe('By model and precision'),
  cells: z.array(upgradeCell).describe('The worst first'),
});

export type UpgradeOutput = OutputOf<typeof upgrade>;
export type UpgradeCell = UpgradeOutput['cells'][number];
export type UpgradeGroup = UpgradeOutput['groups'][number];
export type Tallies = UpgradeOutput['counts'];
export type Pair = UpgradeCell['engineMib'];
