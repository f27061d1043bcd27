import type { KeyedCell } from '../../records/cell.ts';
import type { PlannedBuild, PlannedRun } from '../../records/plan.ts';

/** Harnesses that are no trtexec, with what their own documentation captures of them. */
export const CAPTURE_PRESETS = ['trtllm'] as const;

export type CapturePreset = (typeof CAPTURE_PRESETS)[number];

/** A cell with what builds its engine, and what a timed run of it is called with. */
export interface CapturedCell {
  readonly cell: KeyedCell;
  readonly build: PlannedBuild;
  readonly run: PlannedRun;
  readonly tensorrt: string;
}

/** A step of a capture as it is shown: what is set, and the command line. */
export interface CaptureStep {
  readonly kind: 'build' | 'capture' | 'export';
  /** Null takes one away. */
  readonly variables: Readonly<Record<string, string | null>>;
  readonly argv: readonly string[];
}
