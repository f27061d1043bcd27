import { randomBytes } from 'node:crypto';
import { copyFile, rm } from 'node:fs/promises';

import { sha256OfFile } from '../files/files.ts';
import { sizeOf } from '../files/folders.ts';
import { hashModel } from '../files/hashes.ts';
import type { RunManifest } from '../artefacts/run-manifest.ts';
import { UsageError } from '../errors.ts';
import type { Environment } from '../records/environment.ts';
import { isFine } from '../records/outcome.ts';
import type { PlannedBuild } from '../records/plan.ts';
import type { RunId } from '../records/scalars.ts';
import { startAttempt } from '../run/attempt.ts';
import type { SweepContext } from '../run/sweep-context.ts';
import { hashOf } from '../text/canonical-json.ts';
import { printable } from '../text/printable.ts';
import { fileOfFlag, flagWithHash } from '../trtexec/flags/flag-table.ts';
import { variantNotes } from '../records/conversion.ts';
import { hashed, type VariantState } from '../variants/variants.ts';
import { TIMING } from './engine-cache.ts';
import { engineName } from './engine-index.ts';
import { type EngineState, filledArgs, loadableEngine } from './engine-state.ts';
import { type TimedOn, timingNoteOf } from './timing-caches.ts';

interface EngineToBuild {
  readonly runId: RunId;
  readonly engineKey: string;
  readonly modelSha256: string;
  readonly variant: Extract<VariantState, { kind: 'ready' }> | null;
}

/** Builds an engine and adds it to the cache. The caller must hold the lock on its name. */
export async function buildEngine(
  context: SweepContext,
  build: PlannedBuild,
  { engineKey, modelSha256, runId, variant }: EngineToBuild,
): Promise<EngineState> {
  const { cache, onEvent } = context;
  const record = variant?.record ?? null;
  const name = engineName({ engineKey, number: build.number });
  const buildId = randomBytes(16).toString('hex');
  onEvent({ kind: 'buildStarted', build });
  const temporary = await cache.temporaryPath(name);
  const timingPath = temporary + TIMING;
  try {
    const timing = await timingFor(context, build, timingPath);
    const ended = await startAttempt(context, {
      runId,
      label: build.label,
      args: filledArgs(build.args, { engine: temporary, timingCache: timingPath, variant: variant?.path ?? null }),
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
          flags: await flagsWith(build, flagWithHash),
          precision: build.precision,
          number: build.number,
        },
        timingCacheSha256: timing.sha256,
        variant: record,
        notes: [...build.notes, ...timing.notes, ...(record === null ? [] : variantNotes(record))],
      },
      inspect: async (): Promise<Partial<RunManifest>> => {
        const engineBytes = sizeOf(temporary);
        const engineSha256 = engineBytes > 0 ? (await sha256OfFile(temporary)).sha256 : null;
        return { engineBytes, engineSha256, buildId };
      },
    });
    const { outcome, log } = await ended.store();
    const engine = isFine(outcome) ? await cache.findBuild(buildId) : null;
    if (engine === null) {
      onEvent({ kind: 'buildFailed', build, outcome, runId });
      return { kind: 'failed', outcome };
    }
    await cache.timing.keep(engine.note.sha256, timingPath, timedOn(context));
    if (isTimingShared(build)) await cache.timing.takeIn(timedOn(context), timingPath);
    const { engineBuiltS: buildS } = log.build;
    onEvent({ kind: 'buildReady', build, how: 'built', buildS });
    return { kind: 'ready', engine: loadableEngine(engine, { variant: record, variantPath: variant?.path ?? null }) };
  } finally {
    await rm(temporary, { force: true });
    await rm(timingPath, { force: true });
    // TensorRT locks the file with another file next to it, and leaves that one behind.
    await rm(`${timingPath}.lock`, { force: true });
  }
}

/**
 * The timing cache that a build writes into. It is a copy, so that no two builds write the same file and a given file
 * stays unchanged. Several builds of one engine begin with empty caches: with a common cache they would all choose the
 * same tactics. bench cannot read a given file itself; its note says on which GPU it was made.
 * @returns the hash of the cache that it was copied from; null if it begins empty
 */
async function timingFor(context: SweepContext, build: PlannedBuild, to: string) {
  const { cache, program } = context;
  const from = build.timingCachePath;
  if (from === null) {
    await rm(to, { force: true });
    return { sha256: isTimingShared(build) ? await cache.timing.copyFor(timedOn(context), to) : null, notes: [] };
  }
  const { sha256 } = await hashed(from, 'timing cache', sha256OfFile);
  await copyFile(from, to);
  return { sha256, notes: program.recordings === null ? notesOnGiven(context, build, from, sha256) : [] };
}

/** Whether other builds can use the timings of this build. */
function isTimingShared({ of, timingCachePath }: PlannedBuild): boolean {
  return timingCachePath === null && of === 1;
}

/** @throws UsageError for a cache of another machine, unless the user wants it */
function notesOnGiven(context: SweepContext, build: PlannedBuild, from: string, sha256: string): string[] {
  const { onNote } = context;
  const known = timingNoteOf(from, sha256);
  if (known === null) {
    onNote(`nothing says on which GPU the timing cache ${from} was made: TensorRT may reject it`);
    return ['timing cache of unknown origin'];
  }
  const here = timedOn(context);
  // Fields known on both sides. A newer driver alone does not prevent use.
  const differing = NAMES.flatMap(([field, name]) => {
    const [there, now] = [known.timedOn[field], here[field]];
    return there === null || now === null || there === now ? [] : [`${name} ${there}, here ${now}`];
  });
  const { gpuName } = known.timedOn;
  if (differing.length === 0 && gpuName !== null && here.gpuName === null) {
    onNote(`the GPU here is unknown, and the timing cache ${from} was made on ${gpuName}: TensorRT may reject it`);
    return [`timing cache made on ${gpuName}, used on an unknown GPU`];
  }
  if (differing.length === 0) return [];
  const what = `timing cache made on another machine: ${differing.join(', ')}`;
  if (build.forcesTimingCache) {
    onNote(`${build.label}: ${what}; used anyway`);
    return [`forced ${what}`];
  }
  throw new UsageError(`${printable(from)} is a ${printable(what)}: leave it out, or use it anyway with --force-cache`);
}

const NAMES = [
  ['gpuName', 'GPU'],
  ['computeCapability', 'compute capability'],
  ['tensorrt', 'TensorRT'],
  ['tensorrtLibrary', 'TensorRT library'],
  ['cudaMajor', 'CUDA'],
  ['lockedClocks', 'clocks'],
] as const satisfies readonly (readonly [keyof TimedOn, string])[];

/** Facts of a sweep that decide an engine, in addition to its build and its model. */
interface EngineConditions {
  readonly environment: Partial<Environment>;
  readonly plan: Pick<SweepContext['plan'], 'tensorrt'>;
  readonly program: Pick<SweepContext['program'], 'env' | 'recordings'>;
}

/**
 * Everything that decides an engine, except chance in the build. The library that trtexec loads is known only after a
 * run: the note of the engine holds it, and bench compares it before use. The content of the timing cache counts as
 * chance, too.
 */
export async function engineKeyOf(
  context: EngineConditions,
  build: PlannedBuild,
  modelSha256: string,
): Promise<string> {
  const { environment, plan } = context;
  return hashOf({
    modelSha256,
    // Files named by options, such as plugins, count by content, because the path may differ.
    flags: await flagsWith(build, (name, _path, sha256) => `${name}=sha256:${sha256}`),
    tensorrt: plan.tensorrt,
    driverMajor: majorOf(environment.driver),
    ...gpuIdentity(context),
  });
}

/**
 * Hash of the facts that a frozen engine represents. It stays the same when the content of the model, the driver or
 * TensorRT changes.
 */
export function definitionOf(context: SweepContext, build: PlannedBuild): string {
  const { flags, model, precision } = build;
  return hashOf({ model, precision, flags, ...gpuIdentity(context) });
}

/** An engine is specific to a GPU model; a MIG partition counts as its own. */
function gpuIdentity({ environment, program }: EngineConditions) {
  const { computeCapability, gpuMemoryMib, gpuName, host, mig } = environment;
  const isWhole = gpuName !== undefined && gpuName !== null && mig !== 'on';
  return {
    gpu: gpuName ?? null,
    computeCapability: computeCapability ?? null,
    // Without a known GPU, or on a part of one, machines do not share engines.
    part: isWhole
      ? null
      : { host: host ?? null, memoryMib: gpuMemoryMib ?? null, visible: program.env['CUDA_VISIBLE_DEVICES'] ?? null },
    recordings: program.recordings?.enginePool ?? null,
  };
}

function timedOn({ environment, plan, processFacts }: SweepContext): TimedOn {
  return {
    gpuName: environment.gpuName ?? null,
    computeCapability: environment.computeCapability ?? null,
    tensorrt: plan.tensorrt,
    tensorrtLibrary: processFacts?.libraryVersion ?? null,
    driverMajor: majorOf(environment.driver),
    cudaMajor: majorOf(environment.cuda),
    lockedClocks: environment.clockPolicy ?? null,
  };
}

/** The content of the model; for recordings, the stand-in that their manifest names. */
export async function modelIdentity({ program }: SweepContext, build: PlannedBuild): Promise<string> {
  const path = build.onnxPath ?? '';
  if (program.recordings !== null) return `recorded ${build.model} ${build.precision}`;
  return hashed(path, 'model', hashModel);
}

/** Build flags with hashes of the files they name. */
function flagsWith(
  { flags }: PlannedBuild,
  shown: (name: string, path: string, sha256: string) => string,
): Promise<string[]> {
  return Promise.all(
    flags.map(async (flag) => {
      const file = fileOfFlag(flag);
      const digest = file === null ? null : await sha256OfFile(file.path).catch(() => null);
      return file === null || digest === null ? flag : shown(file.name, file.path, digest.sha256);
    }),
  );
}

function majorOf(version: Environment['driver'] | undefined): string | null {
  return version?.split('.')[0] ?? null;
}
