import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';

import { fileBytes, TIMING } from './engine-cache.ts';
import { engineName } from './engine-note.ts';
import { sha256OfFile } from '../artefacts/files.ts';
import type { RunManifest } from '../artefacts/run-manifest.ts';
import { variantNotes } from '../variants/conversion.ts';
import { isFine } from '../records/outcome.ts';
import { type PlannedBuild, PLACEHOLDERS } from '../records/plan.ts';
import { attemptRun } from '../run/attempt.ts';
import { timingFor } from './build-timing.ts';
import { storedFlags, timedOn } from './engine-identity.ts';
import { type EngineState, readyEngine } from './engine-state.ts';
import type { SweepContext } from '../run/sweep-context.ts';
import type { VariantState } from '../variants/variants.ts';

export interface EngineToBuild {
  readonly runId: string;
  readonly engineKey: string;
  readonly modelSha256: string;
  readonly variant: Extract<VariantState, { kind: 'ready' }> | null;
}

/** Builds an engine and takes it into the cache. To be called only by whoever holds its name there. */
export async function buildEngine(
  context: SweepContext,
  build: PlannedBuild,
  { engineKey, modelSha256, runId, variant }: EngineToBuild,
): Promise<EngineState> {
  const { cache, onEvent } = context;
  const record = variant?.record ?? null;
  const name = engineName(engineKey, build.number);
  onEvent({ kind: 'buildStarted', build });
  const temporary = await cache.temporaryPath(name);
  const timingPath = temporary + TIMING;
  try {
    const timing = await timingFor(context, build, timingPath);
    const { outcome, log, exports, artefactFolder } = await attemptRun(context, {
      runId,
      label: build.label,
      args: fillBuildArgs(build.args, temporary, timingPath, variant?.path ?? null),
      harness: null,
      env: {},
      timeoutS: build.timeoutS,
      limits: { ...build.limits, wholeS: build.timeoutS },
      index: build.number - 1,
      manifest: {
        role: 'build',
        engineKey,
        build: {
          model: build.model,
          modelSha256: context.program.recordings === null ? modelSha256 : null,
          flags: await storedFlags(build),
          precision: build.precision,
          number: build.number,
        },
        timingCacheSha256: timing.sha256,
        variant: record,
        notes: [...build.notes, ...timing.notes, ...(record === null ? [] : variantNotes(record))],
      },
      inspect: async (): Promise<Partial<RunManifest>> => {
        const engineBytes = (await fileBytes(temporary)) ?? 0;
        const engineSha256 = engineBytes > 0 ? (await sha256OfFile(temporary)).sha256 : null;
        return { engineBytes, engineSha256, buildId: randomBytes(16).toString('hex') };
      },
    });
    const found = isFine(outcome) ? await cache.find(name) : null;
    if (found?.kind !== 'ready') {
      onEvent({ kind: 'buildFailed', build, outcome, folder: artefactFolder, runId });
      return { kind: 'failed', outcome };
    }
    if (timing.isShared) await cache.timing.takeIn(timedOn(context), timing);
    onEvent({
      kind: 'buildReady',
      build,
      how: 'built',
      buildS: log.build.engineBuiltS,
      engineBytes: exports.engineBytes,
    });
    return readyEngine(found.engine, record, [], variant?.path ?? null);
  } finally {
    await rm(temporary, { force: true });
    await rm(timingPath, { force: true });
    // TensorRT locks the file by one beside it, and leaves that.
    await rm(`${timingPath}.lock`, { force: true });
  }
}

function fillBuildArgs(args: readonly string[], engine: string, timingCache: string, variant: string | null): string[] {
  return args.map((arg) => {
    if (variant !== null && arg === `--onnx=${PLACEHOLDERS.variant}`) return `--onnx=${variant}`;
    if (arg === `--saveEngine=${PLACEHOLDERS.engine}`) return `--saveEngine=${engine}`;
    if (arg === `--timingCacheFile=${PLACEHOLDERS.timingCache}`) {
      return `--timingCacheFile=${timingCache}`;
    }
    return arg;
  });
}
