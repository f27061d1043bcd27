import * as z from 'zod';

import { engineFolder, keptEngine } from '../../records/engine.ts';
import { count, output, type OutputOf } from '../../records/output-parts.ts';

export const enginesOutput = output('bench ls engines|verify|pin|unpin|rm --json', engineFolder.shape);

export const enginesGcOutput = output('bench engines gc --json', {
  folder: z.string(),
  maxBytes: count,
  isDryRun: z.boolean(),
  bytesBefore: count,
  bytesAfter: count,
  removed: z.array(keptEngine),
  removedFiles: engineFolder.shape.loose.unwrap().array(),
  kept: z.array(z.strictObject({ engine: keptEngine, because: z.string() })),
});

export type EnginesOutput = OutputOf<typeof enginesOutput>;
export type EnginesGcOutput = OutputOf<typeof enginesGcOutput>;
