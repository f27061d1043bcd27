import * as z from 'zod';

import { flagOrNull, idSchema, type Immutable, numberOrNull, textOrNull } from './scalars.ts';

/** Results of different provenance are never compared or charted together unless the user names one. */
export const PROVENANCES = ['measured', 'recorded', 'simulated', 'imported'] as const;

export type Provenance = (typeof PROVENANCES)[number];

export const SWEEP_STATES = ['running', 'finished', 'interrupted'] as const;

export type SweepState = (typeof SWEEP_STATES)[number];

/** The measured commit. All fields are null outside a repository. */
const gitSchema = z.object({ commit: textOrNull, branch: textOrNull, dirty: flagOrNull });

export type GitState = Immutable<z.infer<typeof gitSchema>>;

export const NO_GIT: GitState = { commit: null, branch: null, dirty: null };

export const DATE_SOURCES = ['runJson', 'logStamps', 'option'] as const;

export type DateSource = (typeof DATE_SOURCES)[number];

/** Bisect sweeps are on no branch, so that the gate ignores them. This is not a valid name of a git branch. */
const BISECT_BRANCH = '(no branch, bisect)';

/** Like bisect sweeps, A/B experiments do not belong to the series of the branch. */
export const AB_BRANCH = '(no branch, A/B)';

/** The two sweeps of `bench compare --run`, measured in turns, have a common name. */
export const COMPARE_BRANCH = '(compare --run)';

/** Health checks of a machine: `bench doctor --measure`. */
export const DOCTOR_BRANCH = '(no branch, doctor)';

/** Sweeps that have a commit but belong to no history. */
export const OFF_BRANCHES: readonly (string | null)[] = [BISECT_BRANCH, COMPARE_BRANCH, DOCTOR_BRANCH];

/** One `bench run`, or one imported folder. */
export const sweepSchema = z.object({
  sweepId: idSchema,
  source: z.enum(['run', 'import']),
  name: textOrNull,
  /** `name` of the matrix; sweeps with the same name form one series. */
  matrix: textOrNull,
  provenance: z.enum(PROVENANCES),
  recordingSet: textOrNull,
  state: z.enum(SWEEP_STATES),
  startedAt: textOrNull,
  finishedAt: textOrNull,
  ...gitSchema.shape,
  seed: numberOrNull,
  toolVersion: z.string(),
  trtexec: textOrNull,
  tensorrt: textOrNull,
  host: textOrNull,
});

export type Sweep = Immutable<z.infer<typeof sweepSchema>>;

type StatedSweep = Pick<Sweep, 'sweepId' | 'source' | 'provenance' | 'toolVersion'> & Partial<Sweep>;

/** A sweep that has just begun. Omitted fields are unknown. */
export function newSweep(stated: StatedSweep): Sweep {
  return {
    ...NO_GIT,
    name: null,
    matrix: null,
    recordingSet: null,
    state: 'running',
    startedAt: null,
    finishedAt: null,
    seed: null,
    trtexec: null,
    tensorrt: null,
    host: null,
    ...stated,
  };
}
