import type { KeyedCell } from '../../records/cell.ts';
import type { PlannedBuild, PlannedRun } from '../../records/plan.ts';
import type { KernelsReport } from '../layers/index.ts';
import type { ProfileOutput } from './output.ts';

/** Harnesses that are no trtexec, with what their own documentation captures of them. */
export const CAPTURE_PRESETS = ['trtllm'] as const;

/** A cell with what builds its engine, and what a timed run of it is called with. */
export interface CapturedCell {
  readonly cell: KeyedCell;
  readonly build: PlannedBuild;
  readonly run: PlannedRun;
  readonly tensorrt: string;
}

/** A step of a capture as it is shown: what is set, and the command line. */
export type CaptureStep = ProfileOutput['steps'][number];

/** What is captured, or would be. */
export interface Capture extends Pick<ProfileOutput, 'nsysVersion' | 'engine' | 'steps' | 'notes'> {
  /** Null for a command that is no cell. */
  readonly cell: { readonly key: string; readonly label: string; readonly tensorrt: string } | null;
  /** Null when nothing was run. */
  readonly done: (Pick<ProfileOutput, 'files' | 'runId'> & { readonly kernels: KernelsReport | null }) | null;
}
