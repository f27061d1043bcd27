import { sha256OfFile } from '../artefacts/files.ts';
import { hashModel } from '../artefacts/hashes.ts';
import type { TimedOn } from './timing-caches.ts';
import { hashOf } from '../text/canonical-json.ts';
import { lockOf } from '../machine/requests.ts';
import type { Environment } from '../records/environment.ts';
import { UsageError } from '../errors.ts';
import { fileOfFlag, flagWithHash } from '../trtexec/flags/flag-table.ts';
import type { PlannedBuild } from '../records/plan.ts';
import { printable } from '../text/printable.ts';
import type { SweepContext } from '../run/sweep-context.ts';

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
    flags: await flagsWith(build, ({ name }, sha256) => `${name}=sha256:${sha256}`),
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

export function timedOn({ environment, library, plan }: SweepContext): TimedOn {
  return {
    gpuName: environment.gpuName ?? null,
    computeCapability: environment.computeCapability ?? null,
    tensorrt: plan.tensorrt,
    tensorrtLibrary: library?.version ?? null,
    driverMajor: majorOf(environment.driver),
    cudaMajor: majorOf(environment.cuda),
    lockedClocks: lockOf(environment.clockPolicy ?? null),
  };
}

/** The content of the model; for recordings, the stand-in that their manifest names. */
export async function modelIdentity({ program }: SweepContext, build: PlannedBuild): Promise<string> {
  const path = build.onnxPath ?? '';
  if (program.recordings !== null) return `recorded ${build.model} ${build.precision}`;
  return hashModel(path).catch((error: unknown) => {
    throw new UsageError(`${printable(path)}: no such model, or it cannot be read`, { cause: error });
  });
}

/** Build flags for the store, with hashes of the files they name. */
export function storedFlags(build: PlannedBuild): Promise<string[]> {
  return flagsWith(build, ({ name, path }, sha256) => flagWithHash(name, path, sha256));
}

function flagsWith(
  { flags }: PlannedBuild,
  shown: (file: { readonly name: string; readonly path: string }, sha256: string) => string,
): Promise<string[]> {
  return Promise.all(
    flags.map(async (flag) => {
      const file = fileOfFlag(flag);
      const hashed = file === null ? null : await sha256OfFile(file.path).catch(() => null);
      return file === null || hashed === null ? flag : shown(file, hashed.sha256);
    }),
  );
}

function majorOf(version: Environment['driver'] | undefined): string | null {
  return version?.split('.')[0] ?? null;
}
