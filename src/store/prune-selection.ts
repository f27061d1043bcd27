/** What may go: a sweep stays when any of these keeps it. */
export interface KeepRules {
  /** Sweeps that ended at this instant or later stay; null: age keeps nothing. */
  readonly endedSince: string | null;
  /** So many of the newest sweeps of each series stay. */
  readonly sweepsOfSeries: number;
  /** Whether layer profiles go as well. */
  readonly layers: boolean;
}

/** `bench compare` needs the last two in any case. */
export const LEAST_KEPT_SWEEPS = 2;

/** What a sweep has that could go. */
export interface PrunableSweep {
  readonly sweepId: string;
  readonly startedAt: string | null;
  readonly name: string | null;
  readonly runs: number;
  readonly sampleBytes: number;
  readonly layerBytes: number;
  /** Runs whose folder of artefacts is not pruned yet. */
  readonly folders: number;
}
