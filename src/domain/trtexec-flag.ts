import type { TensorrtVersion } from './tensorrt-version.ts';

/** In which step of a cell a flag acts. */
export type FlagPhase = 'build' | 'inference' | 'system' | 'report';

/** One flag of trtexec over its versions. */
export interface TrtexecFlag {
  readonly flag: string;
  readonly value: 'none' | 'needed' | 'optional';
  readonly since: TensorrtVersion;
  readonly removed: TensorrtVersion | null;
  readonly phase: FlagPhase;
  readonly note: string;
}
