import * as z from 'zod';

import { RUN_MARKS } from '../records/run-flag.ts';
import { type Immutable, textByName, textOrNull } from '../records/scalars.ts';

/** What two sides of every cell are measured for: A as it is, B with variables of the environment set. */
export const experimentSchema = z.object({
  name: z.string(),
  /** Set in B. */
  variables: textByName,
  /** What each of them is in A: null where it is not set. */
  before: z.record(z.string(), z.array(textOrNull)),
  /** B has to be better by more than this for a bottleneck. */
  significantPercent: z.number(),
  /** As it was named, which only the store understands; null: what each cell is judged by. */
  metric: textOrNull,
  /** Of the runs of B. */
  marks: z.array(z.enum(RUN_MARKS)),
  /** Keys of the cells. */
  pairs: z.array(z.object({ a: z.string(), b: z.string() })),
  /** What a person should know when reading it. */
  notes: z.array(z.string()),
});

export type AbExperiment = Immutable<z.infer<typeof experimentSchema>>;
