import * as z from 'zod';

import { argumentList, limitSettings, processSettings } from '../started-program.ts';

export const DEFAULT_ESTIMATE_S = 60;

export const polygraphySettings = z
  .strictObject({
    kind: z.literal('polygraphy'),
    run: argumentList
      .min(1)
      .describe(
        'polygraphy run and its arguments with --iterations N and --save-outputs {runFolder}/results.json; no shell reads them',
      ),
    warmUpRuns: z.number().int().min(0).describe('Runs before the timed ones: what --warm-up was told').optional(),
    ...processSettings,
    ...limitSettings(DEFAULT_ESTIMATE_S),
  })
  .describe('polygraphy run, which times one runner on the clock of the host');

export type PolygraphySettings = z.infer<typeof polygraphySettings>;
