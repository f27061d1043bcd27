import * as z from 'zod';

import { orNull } from '../errors.ts';
import { experimentSchema } from '../judge/experiment.ts';
import { latencySearchSchema } from '../judge/latency-search.ts';
import { moreRunsSchema } from '../judge/adaptive-repeats.ts';
import { MATRIX_DEFAULTS } from '../records/matrix-defaults.ts';
import { clockRequestSchema, coolDownSchema, numaSchema } from '../machine/requests.ts';
import { gateSettingsSchema, plannedPairsSchema } from '../records/gated-metric.ts';
import { type NamedShapes, planSchema } from '../records/plan.ts';
import { type Immutable, textByName, textOrNull } from '../records/scalars.ts';

/** The plan of a sweep as stored with it, for `--resume`. Defaults apply to plans of older versions. */
export const storedPlanSchema = z.object({
  plan: planSchema,
  program: z.object({
    trtexec: textOrNull,
    /** Hash of that file at the start of the sweep. */
    trtexecSha256: textOrNull.default(null),
    replayFolder: textOrNull,
    /** The interpreter that makes variants; null if there are none. */
    python: textOrNull.default(null),
  }),
  /** The matrix file and its meaning at that time; null if it is not checked again. */
  matrix: z.object({ file: z.string(), identity: z.string() }).nullable().default(null),
  telemetry: z.boolean().default(true),
  /** Null if there are no runs beyond the plan. */
  more: moreRunsSchema.nullable().default(null),
  /** Request of `bench choose --search`, which needs only some of the runs of the plan. */
  search: latencySearchSchema.nullable().default(null),
  /** Null to leave the clocks unchanged. */
  lockClocks: clockRequestSchema.nullable().default(null),
  /** GPUs by UUID, and the cells of each; null if none were named, so that the first visible one is used. */
  gpus: z
    .object({ uuids: z.array(z.string()), cells: textByName })
    .nullable()
    .default(null),
  coolDown: coolDownSchema.nullable().default(null),
  numa: numaSchema.default('off'),
  /** The folder of a run submitted to Slurm; null if this process does all the work. */
  slurmRun: textOrNull.default(null),
  experiment: experimentSchema.nullable().default(null),
  gate: gateSettingsSchema.prefault({}),
  /** Suspects to measure in pairs, chosen after the other runs; null before. */
  pairs: z.array(plannedPairsSchema).nullable().default(null),
  /** Keys of cells of the matrix that the plan lacks because of `--filter` or `--budget`; null: unknown. */
  leftOut: z.array(z.string()).nullable().default(null),
  /** Space for the last good engines in bytes. */
  keptLastGoodBytes: z.number().default(MATRIX_DEFAULTS.keptLastGoodBytes),
  /** Operators of models that the host evaluates, such as `Loop (1)`, by the name of the model. */
  controlFlow: textByName.default({}),
});

export type StoredPlan = Immutable<z.infer<typeof storedPlanSchema>>;

/** The shapes of cells in the words of their matrices, by key. */
export function namedShapesIn(plans: readonly (string | null)[]): Map<string, NamedShapes> {
  const cells = plans.flatMap((text) => readStoredPlan(text)?.plan.cells ?? []);
  return new Map(cells.map(({ cell, namedShapes }) => [cell.key, namedShapes]));
}

export function readStoredPlan(text: string | null): StoredPlan | null {
  return text === null ? null : orNull(() => storedPlanSchema.parse(JSON.parse(text)));
}
