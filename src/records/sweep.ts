import * as z from 'zod';

import { flagOrNull, idSchema, type Immutable, numberOrNull, textOrNull } from './scalars.ts';

/**
 * Where a result comes from. Results of different provenance are never compared or charted together
 * unless that is asked for by name.
 */
export const PROVENANCES = ['measured', 'recorded', 'simulated', 'imported'] as const;

export type Provenance = (typeof PROVENANCES)[number];

export const SWEEP_STATES = ['running', 'finished', 'interrupted'] as const;

export type SweepState = (typeof SWEEP_STATES)[number];

/** The commit that was measured. All null outside a repository. */
const gitSchema = z.object({ commit: textOrNull, branch: textOrNull, dirty: flagOrNull });

export type GitState = Immutable<z.infer<typeof gitSchema>>;

export const NO_GIT: GitState = { commit: null, branch: null, dirty: null };

/** Where the date of an imported run is from. */
export const DATE_SOURCES = ['runJson', 'logStamps', 'option'] as const;

export type DateSource = (typeof DATE_SOURCES)[number];

/** What a bisection measures is on no branch: a gate must not take it for a night. No git branch can have this name. */
export const BISECT_BRANCH = '(no branch, bisect)';

/** An A/B experiment is no night either: what it tries out is not how the branch is used. */
export const AB_BRANCH = '(no branch, A/B)';

/** One `bench run`, or one folder that was imported. */
export const sweepSchema = z.object({
  sweepId: idSchema,
  source: z.enum(['run', 'import']),
  name: textOrNull,
  /** `name` of the matrix; sweeps of the same name belong to one series. */
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

/** A sweep that has just begun; what is not stated is not known. */
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
