import type { Provenance } from '../records/provenance.ts';
import type { RunRole } from '../records/run.ts';

export interface StoreFacts {
  readonly rows: {
    readonly sweeps: number;
    readonly unfinishedSweeps: number;
    readonly cells: number;
    readonly builds: number;
    readonly accuracies: number;
    readonly baselines: number;
    readonly openFindings: number;
    readonly prunedRuns: number;
  };
  readonly runs: readonly {
    readonly role: RunRole;
    readonly provenance: Provenance;
    readonly measured: number;
    readonly built: number;
    readonly unfit: number;
    readonly failed: number;
  }[];
  readonly samples: { readonly runs: number; readonly bytes: number };
  readonly layerProfiles: { readonly runs: number; readonly bytes: number };
  readonly artefactFiles: number;
  readonly firstAt: string | null;
  readonly lastAt: string | null;
  readonly machines: readonly {
    readonly host: string | null;
    readonly gpu: string | null;
    readonly environments: number;
    readonly runs: number;
  }[];
}

/** Bytes on the disk, of the store and of what lies beside it. */
export interface StoreSizes {
  readonly file: number;
  readonly wal: number;
  /** Within the file, for rows to come. */
  readonly free: number;
  readonly artefacts: number;
  readonly engines: number;
  readonly variants: number;
}
