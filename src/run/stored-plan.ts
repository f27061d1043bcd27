import * as z from 'zod';

import { experimentSchema } from '../judge/experiment.ts';
import { moreRunsSchema } from '../judge/adaptive-repeats.ts';
import { clockRequestSchema, coolDownSchema, numaSchema } from '../machine/requests.ts';
import { planSchema } from '../records/plan.ts';
import { type Immutable, textByName, textOrNull } from '../records/scalars.ts';

/** What a sweep set out to do, as it is kept with it: `--resume` goes on with this. Defaults are what older ones meant. */
export const storedPlanSchema = z.object({
  plan: planSchema,
  program: z.object({
    trtexec: textOrNull,
    /** Of that file when the sweep began. */
    trtexecSha256: textOrNull.default(null),
    replayFolder: textOrNull,
    /** The interpreter that makes variants; null when none are needed. */
    python: textOrNull.default(null),
  }),
  /** The file that the plan was made of, and what it meant; null when nobody looks at it again. */
  matrix: z.object({ file: z.string(), identity: z.string() }).nullable().default(null),
  telemetry: z.boolean().default(true),
  /** Null when the plan is all there is to do. */
  more: moreRunsSchema.nullable().default(null),
  /** Null: clocks are left as they are. */
  lockClocks: clockRequestSchema.nullable().default(null),
  /** GPUs by their UUIDs, and which of them measures which cell; null when none were named: then it is the one that a process sees first. */
  gpus: z
    .object({ uuids: z.array(z.string()), cells: textByName })
    .nullable()
    .default(null),
  coolDown: coolDownSchema.nullable().default(null),
  numa: numaSchema.default('off'),
  /** The folder of a run that was handed to Slurm; null when this process does it all. */
  slurmRun: textOrNull.default(null),
  /** Null where nothing is tried out. */
  experiment: experimentSchema.nullable().default(null),
});

export type StoredPlan = Immutable<z.infer<typeof storedPlanSchema>>;

export function readStoredPlan(text: string | null): StoredPlan | null {
  if (text === null) return null;
  try {
    return storedPlanSchema.parse(JSON.parse(text));
  } catch {
    return null;
  }
}
