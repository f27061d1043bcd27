import type { Provenance } from './provenance.ts';

export const SWEEP_STATES = ['running', 'finished', 'interrupted'] as const;

export type SweepState = (typeof SWEEP_STATES)[number];

/** The commit that was measured. All null outside a repository. */
export interface GitState {
  readonly commit: string | null;
  readonly branch: string | null;
  readonly dirty: boolean | null;
}

export const NO_GIT: GitState = { commit: null, branch: null, dirty: null };

/** Where the date of an imported run is from. */
export const DATE_SOURCES = ['runJson', 'logStamps', 'option'] as const;

export type DateSource = (typeof DATE_SOURCES)[number];

/** What a bisection measures is on no branch: a gate must not take it for a night. No git branch can have this name. */
export const BISECT_BRANCH = '(no branch, bisect)';

/** An A/B experiment is no night either: what it tries out is not how the branch is used. */
export const AB_BRANCH = '(no branch, A/B)';

/** One `bench run`, or one folder that was imported. */
export interface Sweep extends GitState {
  readonly sweepId: string;
  readonly source: 'run' | 'import';
  readonly name: string | null;
  /** `name` of the matrix; sweeps of the same name belong to one series. */
  readonly matrix: string | null;
  readonly provenance: Provenance;
  readonly recordingSet: string | null;
  readonly state: SweepState;
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
  readonly seed: number | null;
  readonly toolVersion: string;
  readonly trtexec: string | null;
  readonly tensorrt: string | null;
  readonly host: string | null;
}
