import * as z from 'zod';

import { cell, count, instant, output, type OutputOf, provenance, sweep } from '../../records/output-parts.ts';

export const sweepsOutput = output('bench ls sweeps --json', {
  sweeps: z.array(
    sweep.extend({
      cells: count,
      runs: count.describe('Without builds'),
      measured: count,
      builds: count,
      built: count,
      flagged: count.describe('Runs that are left out or trusted less for what is flagged'),
    }),
  ),
});

export const cellsOutput = output('bench ls cells --json', {
  cells: z.array(
    cell.extend({
      label: z.string(),
      measured: count,
      sweeps: count,
      lastAt: instant.nullable(),
      provenances: z.array(provenance),
    }),
  ),
});

export type SweepsOutput = OutputOf<typeof sweepsOutput>;
export type CellsOutput = OutputOf<typeof cellsOutput>;
