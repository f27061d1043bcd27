import { randomBytes } from 'node:crypto';
import { copyFile, rename, rm } from 'node:fs/promises';

import { sha256OfFile } from '../artefacts/files.ts';
import { variantNotes, type VariantRecord } from '../domain/conversion.ts';
import type { RunManifest } from '../artefacts/run-manifest.ts';
import { UsageError } from '../domain/errors.ts';
import { findFlag } from '../domain/flag-table.ts';
import type { Outcome } from '../domain/outcome.ts';
import { type PlannedBuild, PLACEHOLDERS } from '../domain/plan.ts';
import { printable } from '../domain/printable.ts';
import { hashOf } from '../domain/cell-key.ts';
import { fileBytes, TIMING } from '../artefacts/engine-cache.ts';
import { hashModel } from '../artefacts/model-hash.ts';
import { engineKeysOf, findOutcome } from '../store/runs.ts';
import { attemptRun } from './attempt.ts';
import { storeFailedVariant } from './failed-variant.ts';
import type { SweepContext } from './sweep-context.ts';
import type { Variants } from './sweep-variants.ts';
import type { VariantState } from './variants.ts';

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
}

type ReadyVariant = Extract<VariantState, { kind: 'ready' }>;

/** Finds or builds the engine of a planned build. A failed build is a result: its cells have no runs, others go on. */
export async function provideEngine(
  context: SweepContext,
  build: PlannedBuild,
  variants: Variants,
): Promise<EngineState> {
  if (build.enginePath !== null) return givenEngine(context, build, build.enginePath);
  const earlier = earlierBuild(context, build);
  // What failed is not tried again by the same sweep, neither the conversion nor the build.
  if (build.variantRef !== null && earlier.failed !== null) {
    return { kind: 'failed', outcome: earlier.failed };
  }
  const variant = build.variantRef === null ? null : await variants.provide(build.variantRef);
  if (variant?.kind === 'failed') {
    const outcome = await storeFailedVariant(context, build, earlier.runId, variant);
    return { kind: 'failed', outcome };
  }
  const modelSha256 = variant?.record.sha256 ?? (await modelIdentity(context, build));
  const engineKey = engineKeyOf(context, build, modelSha256, await fileIdentities(build));
  const cached = await context.cache.find(engineKey);
  const record = variant?.record ?? null;
  if (cached !== null) {
    context.onEvent({
      kind: 'buildReady',
      build,
      how: 'cached',
      buildS: null,
      engineBytes: cached.bytes,
    });
    return { kind: 'ready', engine: { ...cached, variant: record } };
  }
  refuseOtherEngine(context, build, engineKey);
  if (earlier.failed !== null) return { kind: 'failed', outcome: earlier.failed };
  return buildEngine(context, build, { runId: earlier.runId, engineKey, modelSha256, variant });
}

async function givenEngine(
  { onEvent }: SweepContext,
  build: PlannedBuild,
  path: string,
): Promise<EngineState> {
  const { sha256, bytes } = await sha256OfFile(path).catch(() => {
    throw new UsageError(`${printable(path)}: no such engine, or it cannot be read`);
  });
  onEvent({ kind: 'buildReady', build, how: 'given', buildS: null, engineBytes: bytes });
  const buildId = sha256.slice(0, 32);
  return { kind: 'ready', engine: { path, sha256, engineKey: null, buildId, variant: null } };
}

/** A resumed sweep must not mix runs of two engines: what the model was when it began is what it measures. */
function refuseOtherEngine(
  { db, mayChangeEngines, plan, sweep }: SweepContext,
  build: PlannedBuild,
  engineKey: string,
): void {
  if (mayChangeEngines) return;
  const keys = plan.cells
    .filter(({ buildRef }) => buildRef === build.buildRef)
    .map(({ cell }) => cell.key);
  const before = engineKeysOf(db, sweep.sweepId, keys).find((key) => key !== engineKey);
  if (before === undefined) return;
  throw new UsageError(
    `${printable(build.label)}: its model, a file of its build or the machine is another than when sweep ${sweep.sweepId.slice(0, 8)} began: start a new sweep, or add --anyway`,
  );
}

/** The content of the model; for recordings, what their manifest says stands for it. */
async function modelIdentity({ program }: SweepContext, build: PlannedBuild): Promise<string> {
  const path = build.onnxPath ?? '';
  if (program.recordings !== null) return `recorded ${build.label}`;
  return hashModel(path).catch(() => {
    throw new UsageError(`${printable(path)}: no such model, or it cannot be read`);
  });
}

/** The content of plugins and other files that flags of a build name. */
async function fileIdentities(build: PlannedBuild): Promise<Record<string, string>> {
  const identities: Record<string, string> = {};
  for (const flag of build.flags) {
    const equals = flag.indexOf('=');
    const path = flag.slice(equals + 1);
    if (equals === -1 || findFlag(flag.slice(0, equals))?.isPath !== true) continue;
    const hashed = await sha256OfFile(path).catch(() => null);
    if (hashed !== null) identities[path] = hashed.sha256;
  }
  return identities;
}

/** Everything that decides an engine, apart from the luck of the build. */
function engineKeyOf(
  context: SweepContext,
  build: PlannedBuild,
  modelSha256: string,
  files: Readonly<Record<string, string>>,
): string {
  const { environment, plan, program } = context;
  return hashOf({
    modelSha256,
    flags: build.flags,
    files,
    tensorrt: plan.tensorrt,
    gpu: environment.gpuName ?? null,
    driverMajor: environment.driver?.split('.')[0] ?? null,
    // A machine that does not tell its GPU shares engines with nobody.
    host: environment.gpuName ? null : (environment.host ?? null),
    recordings: program.recordings?.enginePool ?? null,
  });
}

/** Why each cell of a sweep has no engine, by its key; only those whose build failed. */
export function cellsWithoutEngine(
  db: SweepContext['db'],
  sweep: SweepContext['sweep'],
  { builds, cells }: SweepContext['plan'],
): Map<string, Outcome> {
  const failed = new Map(
    builds.flatMap((build): [string, Outcome][] => {
      const { failed: outcome } = earlierBuild({ db, otherModel: null, sweep }, build);
      return outcome === null ? [] : [[build.buildRef, outcome]];
    }),
  );
  return new Map(
    cells.flatMap(({ cell, buildRef }): [string, Outcome][] => {
      const outcome = failed.get(buildRef);
      return outcome === undefined ? [] : [[cell.key, outcome]];
    }),
  );
}

/** The id that the build's run gets; when the sweep was interrupted, what became of the build before. */
function earlierBuild(
  { db, otherModel, sweep }: Pick<SweepContext, 'db' | 'otherModel' | 'sweep'>,
  build: PlannedBuild,
): { readonly runId: string; readonly failed: Outcome | null } {
  for (let number = 1; ; number += 1) {
    const runId = hashOf({
      sweepId: sweep.sweepId,
      buildRef: build.buildRef,
      number,
      ...(otherModel === null ? {} : { otherModel }),
    });
    const outcome = findOutcome(db, runId);
    if (outcome === null) return { runId, failed: null };
    // It was built, but its engine is not there any more: it is built again under the next number.
    if (outcome.kind !== 'measured') return { runId, failed: outcome };
  }
}

interface EngineToBuild {
  readonly runId: string;
  readonly engineKey: string;
  readonly modelSha256: string;
  readonly variant: ReadyVariant | null;
}

async function buildEngine(
  context: SweepContext,
  build: PlannedBuild,
  { engineKey, modelSha256, runId, variant }: EngineToBuild,
): Promise<EngineState> {
  const { cache, onEvent } = context;
  const record = variant?.record ?? null;
  onEvent({ kind: 'buildStarted', build });
  const temporary = await cache.temporaryPath(engineKey);
  const timingCache = temporary + TIMING;
  const sharedCache = cache.timingCachePath(timingCacheName(context));
  await copyFile(sharedCache, timingCache).catch(() => {});
  try {
    const { outcome, log, exports, artefactFolder } = await attemptRun(context, {
      runId,
      label: build.label,
      args: fillBuildArgs(build.args, temporary, timingCache, variant?.path ?? null),
      timeoutS: build.timeoutS,
      limits: { ...build.limits, wholeS: build.timeoutS },
      index: 0,
      manifest: {
        role: 'build',
        engineKey,
        build: {
          model: build.model,
          modelSha256: context.program.recordings === null ? modelSha256 : null,
          flags: [...build.flags],
        },
        variant: record,
        notes: record === null ? [] : variantNotes(record),
      },
      inspect: async (): Promise<Partial<RunManifest>> => {
        const engineBytes = (await fileBytes(temporary)) ?? 0;
        const engineSha256 = engineBytes > 0 ? (await sha256OfFile(temporary)).sha256 : null;
        return { engineBytes, engineSha256, buildId: randomBytes(16).toString('hex') };
      },
    });
    const engine = await cache.find(engineKey);
    if (outcome.kind !== 'measured' || engine === null) {
      onEvent({ kind: 'buildFailed', build, outcome, folder: artefactFolder });
      return { kind: 'failed', outcome };
    }
    await rename(timingCache, sharedCache).catch(() => {});
    onEvent({
      kind: 'buildReady',
      build,
      how: 'built',
      buildS: log.build.engineBuiltS,
      engineBytes: exports.engineBytes,
    });
    return { kind: 'ready', engine: { ...engine, variant: record } };
  } finally {
    await rm(temporary, { force: true });
    await rm(timingCache, { force: true });
  }
}

/** A timing cache is worth something only for the same TensorRT and GPU. */
function timingCacheName({ environment, plan }: SweepContext): string {
  return hashOf({ tensorrt: plan.tensorrt, gpu: environment.gpuName ?? null });
}

function fillBuildArgs(
  args: readonly string[],
  engine: string,
  timingCache: string,
  variant: string | null,
): string[] {
  return args.map((arg) => {
    if (variant !== null && arg === `--onnx=${PLACEHOLDERS.variant}`) return `--onnx=${variant}`;
    if (arg === `--saveEngine=${PLACEHOLDERS.engine}`) return `--saveEngine=${engine}`;
    if (arg === `--timingCacheFile=${PLACEHOLDERS.timingCache}`) {
      return `--timingCacheFile=${timingCache}`;
    }
    return arg;
  });
}

export function fillRunArgs(args: readonly string[], engine: string): string[] {
  return args.map((arg) =>
    arg === `--loadEngine=${PLACEHOLDERS.engine}` ? `--loadEngine=${engine}` : arg,
  );
}
