import type { CachedEngine } from './engine-cache.ts';
import type { VariantRecord } from '../variants/conversion.ts';
import type { FailureReason, Outcome } from '../records/outcome.ts';
import { type PlannedBuild, PLACEHOLDERS } from '../records/plan.ts';
import type { LockWait } from '../process/lock.ts';
import { holderText } from '../process/lock-holder.ts';
import type { SweepContext } from '../run/sweep-context.ts';

/** An engine that the runs of a sweep may load, or why there is none. */
export type EngineState =
  | { readonly kind: 'ready'; readonly engine: LoadableEngine }
  | { readonly kind: 'failed'; readonly outcome: Outcome };

export interface LoadableEngine {
  readonly path: string;
  readonly sha256: string;
  readonly engineKey: string | null;
  readonly buildId: string | null;
  /** What it was made from, when that was converted. */
  readonly variant: VariantRecord | null;
  /** The file of that variant, where it is at hand. */
  readonly variantPath: string | null;
  /** What each of its runs should say of it. */
  readonly notes: readonly string[];
}

export function readyEngine(
  { path, note }: CachedEngine,
  variant: VariantRecord | null,
  notes: readonly string[],
  variantPath: string | null = null,
): EngineState {
  const { buildId, engineKey, sha256 } = note;
  return { kind: 'ready', engine: { path, sha256, engineKey, buildId, variant, variantPath, notes } };
}

/** Refused before anything was run: the runs of its cells are skipped, others go on. */
export function refusedEngine(
  { onEvent }: SweepContext,
  build: PlannedBuild,
  reason: FailureReason,
  text: string,
): EngineState {
  const outcome: Outcome = { kind: 'failed', reason, evidence: [{ stream: 'stderr', line: 0, text }] };
  onEvent({ kind: 'note', text: `${build.label}: ${text}` });
  onEvent({ kind: 'buildFailed', build, outcome, folder: null, runId: null });
  return { kind: 'failed', outcome };
}

/** The command line of a run, with the engine that it loads. */
export function fillRunArgs(
  args: readonly string[],
  { path, variantPath }: Pick<LoadableEngine, 'path' | 'variantPath'>,
): string[] {
  return args.map((arg) => {
    if (arg === `--loadEngine=${PLACEHOLDERS.engine}`) return `--loadEngine=${path}`;
    return arg === `--refitFromOnnx=${PLACEHOLDERS.variant}` && variantPath !== null
      ? `--refitFromOnnx=${variantPath}`
      : arg;
  });
}

/** Waits for another process that is at work with the same engine, and says so. */
export function lockWait({ onEvent, signal }: Pick<SweepContext, 'onEvent' | 'signal'>, build: PlannedBuild): LockWait {
  return {
    signal,
    onWait: (holder) => {
      const text = `${build.label}: waiting for ${holderText(holder)}, which builds the same engine`;
      onEvent({ kind: 'note', text });
    },
  };
}
