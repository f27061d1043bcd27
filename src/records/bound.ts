import * as z from 'zod';

import { keysOf } from '../text/unknown-values.ts';

/** The bottleneck of a cell, as a phrase in a sentence. */
export const BOUND_WORDS = {
  compute: 'GPU compute',
  /** GPU compute with a clock that the power cap limits. */
  power: 'the power limit',
  /** Launches take longer than the work, or the GPU waits for a CPU. */
  host: 'the host',
  h2d: 'copies to the GPU (H2D)',
  d2h: 'copies from the GPU (D2H)',
  /** The run pauses between queries on request. */
  paced: 'the requested pauses',
  contended: 'other work on the GPU',
} satisfies Readonly<Record<string, string>>;

export type BoundBy = keyof typeof BOUND_WORDS;

export const BOUNDS = keysOf(BOUND_WORDS);

export const boundBySchema = z.enum(BOUNDS).nullable().describe('What limits throughput; null where it is not known');

export const cellBoundSchema = z
  .strictObject({
    by: z.enum(BOUNDS),
    evidence: z.string().describe('The numbers that show it'),
    advice: z.string().describe('Advice for this bottleneck'),
    remedies: z.array(z.string()).describe('Cells of the matrix that have what helps').exactOptional(),
  })
  .nullable()
  .describe('What limits throughput, in most of the runs; null where it is not known');

export type CellBound = NonNullable<z.infer<typeof cellBoundSchema>>;
