import { stat } from 'node:fs/promises';

import type { Io } from '../../cli/io.ts';
import { EnvironmentLackingError, UsageError } from '../../errors.ts';
import { readWindow, trtllmArgs, trtllmVariables } from '../../harnesses/trtllm-bench/capture.ts';
import { overlay } from '../../run/start.ts';
import { exportArgs } from '../../tools/nsys/nsys-args.ts';
import { askNsys } from '../../tools/nsys/nsys-dialect.ts';
import { capturedFiles, refuseOverwrite, runNsys } from '../../tools/nsys/run-nsys.ts';
import { capturedOutput, kernelsIfAny } from '../layers/index.ts';
import { CaptureError } from './capture-cell.ts';
import { NO_NSYS, TOP } from './capture-of-cell.ts';
import type { ProfileOptions } from './command.ts';
import { type Capture, type CaptureStep, NOT_CAPTURED } from './output.ts';

/** Captures a window of another harness, or prints the steps. */
export async function captureOfCommand(words: readonly string[], options: ProfileOptions, io: Io): Promise<Capture> {
  const steps = presetSteps(words, options);
  const found = await askNsys(io.env);
  const about = { cell: null, label: null, tensorrt: null, nsysVersion: found?.version ?? null, engine: null };
  const base = { ...NOT_CAPTURED, ...about, steps, notes: [] };
  if (options.dryRun === true) return { output: base, kernels: null };
  if (found === null) throw new EnvironmentLackingError(NO_NSYS);
  const output = options.output ?? 'trace';
  refuseOverwrite(io.cwd, output, options.force === true);
  const { report, sqlite } = capturedFiles(io.cwd, output);
  for (const { argv, kind, variables } of steps) {
    const context = { spawn: io.spawn, env: { ...io.env, ...overlay(variables) }, cwd: io.cwd, signal: io.signal };
    const failure = await runNsys(context, argv.slice(1), kind === 'export' ? sqlite : report);
    if (failure !== null) {
      throw new CaptureError(`nsys ${kind} gave nothing: ${failure.exit}`, failure.lastWords);
    }
  }
  const { kernels, notes } = kernelsIfAny(sqlite, { engine: null, label: null, top: TOP });
  const files = await Promise.all(
    [report, sqlite].map(async (path) => ({ path, bytes: (await stat(path)).size, attached: false })),
  );
  return { output: { ...base, dryRun: false, notes, files, kernels: kernels && capturedOutput(kernels) }, kernels };
}

/** @throws UsageError without a window: it bounds the capture of a server */
function presetSteps(command: readonly string[], { window: stated, output = 'trace' }: ProfileOptions): CaptureStep[] {
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
