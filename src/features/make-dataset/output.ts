import * as z from 'zod';

import { count, output, type OutputOf } from '../../records/output-parts.ts';

const lengths = z.strictObject({ mean: z.number(), stdev: z.number() });

export const makeDatasetOutput = output('bench model make-dataset --json', {
  file: z.string().describe('As it was named'),
  sha256: z.string(),
  bytes: count,
  requests: count,
  inputTokens: lengths.describe('As they were asked for'),
  outputTokens: lengths,
  vocabSize: count,
  seed: count,
});

export type MakeDatasetOutput = OutputOf<typeof makeDatasetOutput>;
