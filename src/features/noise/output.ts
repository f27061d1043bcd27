import * as z from 'zod';

import { aboutCell, count, id, output, type OutputOf, provenance } from '../../records/output-parts.ts';

const percent = z.number().min(0);
const share = z.strictObject({ percent, ciPercent: z.tuple([percent, percent]).describe('95 % interval') }).nullable();
const falseAlarms = z.strictObject({
  comparisons: count.describe('Matrices that were compared with themselves'),
  alarmed: count.describe('Of these, the ones in which anything was called'),
  cells: count.describe('In the largest comparison'),
  cellComparisons: count.describe('Cells of all comparisons together'),
  calls: count.describe('Of these, the ones that were called slower or faster'),
  ofCells: share,
  ofComparisons: share,
});
const effort = z.strictObject({ runs: count, gpuMinutes: z.number().nullable() });
const sigma = z.number().nullable();

export const noise = output('bench noise --json', {
  sweepId: id.describe('The newest of the series'),
  firstSweepId: id.describe('The oldest that was looked at'),
  branch: z.string().nullable(),
  matrix: z.string().nullable(),
  provenance,
  sweeps: count,
  repeats: z.number().nullable().describe('Runs per side that a typical cell has'),
  mdePercent: z
    .strictObject({ typical: z.number(), least: z.number(), most: z.number() })
    .nullable()
    .describe('The smallest detectable change, over the cells'),
  falseAlarms: z.strictObject({
    halves: falseAlarms.describe('Each sweep: half of its repeats against the other half'),
    neighbours: falseAlarms.describe('Neighbouring sweeps of the same engines'),
    leftOut: count.describe('Cells not compared between two sweeps, because they really changed there'),
  }),
  wantPercent: z.number(),
  effort: z
    .strictObject({ cells: count, now: effort, wanted: effort })
    .describe('Of one sweep, in the cells of which repeatsWanted is known'),
  cells: z.array(
    z.strictObject({
      ...aboutCell,
      runs: count,
      sweeps: count,
      repeats: count.describe('In the newest sweep'),
      runPercent: sigma.describe('Standard deviation of a run within its sweep'),
      nightPercent: sigma.describe('Standard deviation of the value of a sweep'),
      larger: z.enum(['runs', 'nights']).nullable().describe('Where the noise of sweeps is from: nights are sweeps'),
      mdePercent: z.number().nullable().describe('The smallest detectable change'),
      repeatsWanted: count.nullable().describe('Runs per side that detect a change of wantPercent'),
      attainablePercent: z
        .number()
        .nullable()
        .describe('The smallest change that any number of runs would show, as sweeps differ'),
      wallS: z.number().nullable().describe('Of one run'),
      twoStates: z
        .strictObject({
          levels: z.tuple([z.number(), z.number()]),
          apartPercent: z.number(),
          sharePercent: z.tuple([percent, percent]).describe('Of the runs'),
          visits: z.tuple([count, count]),
        })
        .nullable(),
    }),
  ),
  builds: z
    .array(
      z.strictObject({
        ...aboutCell,
        builds: count.describe('Of the same engine, that ran side by side'),
        runs: count,
        buildPercent: percent.describe('Standard deviation of builds beyond what their runs explain'),
        runPercent: percent.describe('Standard deviation of the runs of one build'),
        pValue: z.number().describe('Chance of builds that differ this much if they were all equal'),
        differ: z.boolean().describe('Whether to believe it, over all these cells'),
        kernels: z
          .strictObject({
            kinds: count.min(1).describe('Builds of one kind have the same kernels'),
            layers: count,
            otherKernels: count.nullable().describe('At most; null when the layers are others'),
          })
          .nullable()
          .describe('Null when the kernels of a build are not known'),
      }),
    )
    .describe('Cells of which several builds were measured (`builds:` in the matrix)'),
  notes: z.array(z.string()),
});

export type NoiseOutput = OutputOf<typeof noise>;

export type NoisyCell = NoiseOutput['cells'][number];

export type BuiltCell = NoiseOutput['builds'][number];
