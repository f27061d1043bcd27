import * as z from 'zod';

import { orAxis } from '../driver.ts';
import { processSettings } from '../started-program.ts';

export const polygraphySettings = z
  .strictObject({
    kind: z.literal('polygraphy'),
    run: z
      .array(z.union([z.string(), z.number()]))
      .min(1)
      .describe(
        'polygraphy run and its arguments with --iterations N and --save-outputs {runFolder}/results.json; no shell reads them',
      ),
    warmUpRuns: z
      .number()
      .int()
      .min(0)
      .describe('Runs before the timed ones: what --warm-up was told')
      .optional(),
    ...processSettings,
    estimateS: orAxis(z.number().min(0))
      .describe('What one run takes, about. Default: 60')
      .optional(),
  })
  .describe('polygraphy run, which times one runner on the clock of the host');

export type PolygraphySettings = z.infer<typeof polygraphySettings>;
