import * as z from 'zod';

import { id, output, type OutputOf, provenance } from '../../records/output-parts.ts';

const argv = z.array(z.string());

/** What one tool would say of a run, and how to ask it: from the coarse tool to the fine one. */
const rung = z.strictObject({
  tool: z.enum(['trtexec', 'nsys', 'ncu']),
  state: z.enum(['done', 'next', 'later']),
  says: z.string(),
  bench: argv.nullable().describe('The command of bench'),
  commands: z.array(argv).describe("The tool's own command lines, in their order"),
});

export const explainOutput = output('bench show --next --json', {
  runId: id,
  label: z.string().nullable(),
  provenance,
  findings: z.array(z.string()),
  next: rung.nullable(),
  ladder: z.array(rung),
});

export type ExplainOutput = OutputOf<typeof explainOutput>;
export type Rung = ExplainOutput['ladder'][number];
