import type { Environment } from '../../records/environment.ts';
import type { Provenance } from '../../records/sweep.ts';
import type { EnvironmentVariables } from '../../process/environment-variables.ts';

/** What is behind the interface between plan and run: a real trtexec, or recordings of one. */
export interface TrtexecProgram {
  readonly file: string;
  readonly prefixArgs: readonly string[];
  readonly env: EnvironmentVariables;
  /** What starts it, such as `numactl` with its arguments; it is before everything else. */
  readonly wrapper?: readonly string[];
  /** Its name for users and in stored command lines. */
  readonly shownAs: string;
  readonly provenance: Provenance;
  readonly recordings: RecordedMachine | null;
}

export interface RecordedMachine {
  readonly set: string;
  readonly folder: string;
  readonly enginePool: string;
  readonly environment: Partial<Environment>;
}
