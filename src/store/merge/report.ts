/** Rows that two stores have under the same id with other content; this store's were kept. */
export interface MergeConflict {
  readonly table: string;
  /** The columns that differ; empty when this store lacks the row though it has the run that it belongs to. */
  readonly columns: readonly string[];
  readonly rows: number;
  /** Some of their ids. */
  readonly examples: readonly string[];
}

/** How many rows came of each table worth telling. */
export interface MergedRows {
  readonly sweeps: number;
  readonly runs: number;
  readonly cells: number;
  readonly environments: number;
  readonly builds: number;
  readonly accuracy: number;
  readonly baselines: number;
  readonly findings: number;
  readonly acknowledgements: number;
}

/** What the merge of one other store did to the rows of this one. */
export interface StoreMerge {
  readonly added: MergedRows;
  readonly alreadyThere: { readonly sweeps: number; readonly runs: number };
  /** Every sweep of the other store that is here now. */
  readonly sweepIds: readonly string[];
  /** Sweeps that had come further in the other store. */
  readonly updatedSweepIds: readonly string[];
  readonly conflicts: readonly MergeConflict[];
}

/** What the merge of one other store did to the artefacts beside this one. */
export interface ArtefactMerge {
  /** Folders of runs that were copied. */
  readonly folders: number;
  readonly bytes: number;
  /** Runs whose folder the other store lacks as well. */
  readonly missing: number;
}
