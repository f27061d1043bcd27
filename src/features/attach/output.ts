import * as z from 'zod';

import { attachment } from '../../artefacts/attachment.ts';
import { id, output, type OutputOf } from '../../records/output-parts.ts';

export const attachOutput = output('bench show RUN --attach FILE --json', {
  runId: id,
  attached: z.array(attachment.omit({ runId: true, prunedAt: true })),
});

export type AttachOutput = OutputOf<typeof attachOutput>;
