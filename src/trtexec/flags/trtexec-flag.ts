import type { TensorrtVersion } from '../../text/version.ts';

/** In which step of a cell a flag acts. */
export type FlagPhase = 'build' | 'inference' | 'both' | 'report';

/** One flag of trtexec over its versions. */
export interface TrtexecFlag {
  readonly flag: string;
  readonly value: 'none' | 'needed' | 'optional';
  readonly since: TensorrtVersion;
  readonly removed: TensorrtVersion | null;
  readonly phase: FlagPhase;
  /** Its value is a path: taken from the matrix file's folder. */
  readonly isPath: boolean;
  readonly isRepeatable: boolean;
  readonly note: string;
}
