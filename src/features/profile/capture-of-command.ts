import { stat } from 'node:fs/promises';

import { EnvironmentLackingError } from '../../errors.ts';
import type { Capture } from './capture.ts';
import { overlay } from '../../run/start.ts';
import { askNsys } from '../../tools/nsys/nsys.ts';
import { capturedFiles, refuseOverwrite, runNsys } from '../../tools/nsys/run-nsys.ts';
import type { Io } from '../../cli/io.ts';
import { kernelsIfAny } from '../layers/index.ts';
import { CaptureError } from './capture-cell.ts';
import { NO_NSYS } from './capture-of-cell.ts';
import { presetSteps } from './preset.ts';
import type { ProfileOptions } from './command.ts';

const TOP = 20;

/** Captures a window of a harness that is no trtexec, or shows how it would be. */
export async function captureOfCommand(words: readonly string[], options: ProfileOptions, io: Io): Promise<Capture> {
  const steps = presetSteps(words, options);
  const found = await askNsys(io.env);
  const base = { cell: null, nsysVersion: found?.version ?? null, engine: null, steps, notes: [] };
  if (options.dryRun === true) return { ...base, done: null };
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
  return { ...base, notes, done: { files, runId: null, kernels } };
}
