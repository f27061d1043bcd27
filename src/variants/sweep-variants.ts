import { copyFile, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

import { writeAtomically } from '../files/files.ts';
import { manifestText } from '../artefacts/keep.ts';
import { RUN_MANIFEST } from '../files/layout.ts';
import { emptyManifest, type RunManifest } from '../artefacts/run-manifest.ts';
import type { Outcome } from '../records/outcome.ts';
import type { PlannedBuild } from '../records/plan.ts';
import { attemptFolder, finishRun } from '../run/attempt.ts';
import type { SweepContext } from '../run/sweep-context.ts';
import { recordAttempt } from '../store/runs/runs.ts';
import { problemOf } from '../records/conversion.ts';
import { provideVariant, type VariantState } from './variants.ts';
import type { RunId } from '../records/scalars.ts';

/** Provides the variants of one sweep. Each is made at most once, however many engines and workers ask for it. */
export function variantsOf({ onEvent, plan, variants }: Pick<SweepContext, 'onEvent' | 'plan' | 'variants'>) {
  const make = async (variantRef: string): Promise<VariantState> => {
    const variant = plan.variants.find((planned) => planned.variantRef === variantRef);
    if (variant === undefined || variants === null) throw new Error(`no worker makes the variant ${variantRef}`);
    const state = await provideVariant(variants, variant);
    if (state.kind === 'ready') {
      const { how, record, wallS } = state;
      onEvent({ kind: 'variantReady', variant, how, wallS, converted: record.converted });
    } else onEvent({ kind: 'variantFailed', variant, problem: problemOf(state.failure), folder: state.folder });
    return state;
  };
  const states = new Map<string, Promise<VariantState>>();
  return (variantRef: string): Promise<VariantState> => {
    const known = states.get(variantRef) ?? make(variantRef);
    // Every caller gets the error. Without this line an unhandled rejection would end the program.
    known.catch(() => {});
    states.set(variantRef, known);
    return known;
  };
}

export type Variants = ReturnType<typeof variantsOf>;

/** Stores a failed build with the conversion log, so that the cells show why they have no engine. */
export async function storeFailedVariant(
  context: SweepContext,
  build: PlannedBuild,
  runId: RunId,
  state: Extract<VariantState, { kind: 'failed' }>,
): Promise<Outcome> {
  const { onEvent, plan, program, sweep, variants } = context;
  const folder = attemptFolder(context, runId);
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  recordAttempt(context.db, sweep.sweepId, runId, context.now().toISOString());
  if (state.folder !== null) {
    for (const log of ['stdout.log', 'stderr.log']) {
      await copyFile(join(state.folder, log), join(folder, log)).catch(() => {});
    }
  }
  const planned = plan.variants.find(({ variantRef }) => variantRef === build.variantRef);
  const { failure, process } = state;
  const manifest: RunManifest = {
    ...emptyManifest(),
    sweepId: sweep.sweepId,
    runId,
    role: 'build',
    build: { model: build.model, modelSha256: null, flags: [...build.flags] },
    conversionFailure: failure,
    argv: [variants?.python.interpreter ?? 'python3', ...(planned?.args ?? [])],
    environment: context.environment,
    provenance: program.provenance,
    exitCode: process?.exitCode ?? null,
    signal: process?.signal ?? null,
    timedOut: process?.timedOut ?? false,
    startedAt: (process?.startedAt ?? context.now()).toISOString(),
    wallS: process === null ? 0 : Number(process.wallS.toFixed(3)),
  };
  await writeAtomically(join(folder, RUN_MANIFEST), manifestText(manifest));
  const { outcome } = await finishRun(context, folder, runId);
  onEvent({ kind: 'buildFailed', build, outcome, runId });
  return outcome;
}
