import { UsageError } from '../../errors.ts';
import type { CaptureStep } from './capture.ts';
import { exportArgs } from '../../tools/nsys/nsys-args.ts';
import { readWindow, trtllmArgs, trtllmVariables } from '../../harnesses/trtllm-bench/capture.ts';

export interface PresetOptions {
  readonly window?: string;
  readonly output?: string;
}

/** @throws UsageError without a window, which is what keeps a capture of a whole server small */
export function presetSteps(
  command: readonly string[],
  { window: stated, output = 'trace' }: PresetOptions,
): CaptureStep[] {
  if (command.length === 0) {
    throw new UsageError('of what? bench profile --nsys --preset trtllm --window 100-150 -- trtllm-bench ...');
  }
  const window = stated === undefined ? null : readWindow(stated);
  if (window === null) {
    throw new UsageError(
      `--window ${stated ?? ''}: write the first and the last iteration to capture, such as 100-150`,
    );
  }
  return [
    { kind: 'capture', variables: trtllmVariables(window), argv: ['nsys', ...trtllmArgs(output, command)] },
    { kind: 'export', variables: {}, argv: ['nsys', ...exportArgs(output)] },
  ];
}
