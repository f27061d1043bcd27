import * as z from 'zod';

import { findingSchema, SAID_STATES } from '../../records/finding.ts';
import { gatedMetricSchema } from '../../records/gated-metric.ts';
import { idSchema } from '../../records/scalars.ts';
import { cell, count, instant, output, outputOfVersion, provenance, sweep } from '../../records/output-parts.ts';
import type { OutputOf } from '../../records/output-parts.ts';

export const sweepsOutput = output('bench ls sweeps --json', {
  sweeps: z.array(
    sweep.extend({
      cells: count,
      runs: count.describe('Number of runs without builds'),
      measured: count,
      builds: count,
      built: count,
      engines: count.describe('Engines that bench built for its runs, in this sweep or earlier'),
      flagged: count.describe('Runs that a flag excludes or weakens'),
    }),
  ),
});

const cellNumbers = { measured: count, sweeps: count, lastAt: instant.nullable(), provenances: z.array(provenance) };

export const cellsOutput = output('bench ls cells --json', {
  cells: z.array(cell.extend({ label: z.string(), ...cellNumbers })),
});

export const findingsOutput = outputOfVersion(2, 'bench ls findings --json', {
  findings: z.array(
    z.strictObject({
      id: idSchema,
      state: z.enum(SAID_STATES),
      kind: findingSchema.shape.kind,
      direction: findingSchema.shape.direction,
      isWarning: z.boolean(),
      acknowledged: z.boolean(),
      owner: z.string().nullable(),
      matrix: z.string().nullable(),
      branch: z.string().nullable(),
      provenance,
      group: z.array(z.string()),
      cells: z.array(idSchema),
      labels: z.array(z.string()),
      metrics: z.array(gatedMetricSchema),
      reportedSweepId: idSchema,
      reportedAt: instant.nullable().describe('Start of the sweep that reported it'),
    }),
  ),
});

export const machinesOutput = output('bench ls machines --json', {
  provenance: provenance.nullable().describe('Null for a store without sweeps'),
  machines: z.array(
    z.strictObject({
      name: z.string().describe('Host name; with the GPU if the host has several of this GPU model'),
      host: z.string().nullable(),
      gpuName: z.string(),
      gpuUuid: z.string().nullable(),
      driver: z.string().nullable(),
      tensorrt: z.string().nullable(),
      sweeps: count,
      lastAt: instant.nullable(),
      measured: count,
      others: count.describe('Runs without a measurement: failed or unfit'),
    }),
  ),
});

export type MachinesOutput = OutputOf<typeof machinesOutput>;
export type FindingsOutput = OutputOf<typeof findingsOutput>;
export type SweepsOutput = OutputOf<typeof sweepsOutput>;
export type CellsOutput = OutputOf<typeof cellsOutput>;
