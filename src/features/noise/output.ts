import * as z from 'zod';

import { aboutCell, count, id, outputOfVersion, type OutputOf, provenance } from '../../records/output-parts.ts';

/** Numbers of runs per sweep for which the table shows the detectable change. */
export const SHOWN_RUNS = [1, 3, 5, 10] as const;

const percent = z.number().min(0).nullable();

export const noise = outputOfVersion(3, 'bench noise --json', {
  sweepId: id.describe('The newest of the series'),
  firstSweepId: id.describe('The oldest that was looked at'),
  branch: z.string().nullable(),
  matrix: z.string().nullable(),
  provenance,
  sweeps: count,
  cells: z.array(
    z.strictObject({
      ...aboutCell,
      runs: count,
      sweeps: count,
      runPercent: percent.describe('Standard deviation of a run within its sweep'),
      sweepPercent: percent.describe('Standard deviation between sweeps beyond their runs; null with fewer than 8'),
      visible: z
        .array(z.strictObject({ runs: count, percent }))
        .describe('The smallest change that two sweeps with this many runs of the cell show nine times in ten'),
    }),
  ),
  notes: z.array(z.string()),
});

export type NoiseOutput = OutputOf<typeof noise>;

export type NoisyCell = NoiseOutput['cells'][number];
