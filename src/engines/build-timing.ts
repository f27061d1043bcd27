import { copyFile, rm } from 'node:fs/promises';

import { sha256OfFile } from '../artefacts/files.ts';
import type { TimedOn, TimingCopy } from './timing-caches.ts';
import { UsageError } from '../errors.ts';
import type { PlannedBuild } from '../records/plan.ts';
import { printable } from '../text/printable.ts';
import { timedOn } from './engine-identity.ts';
import type { SweepContext } from '../run/sweep-context.ts';

export interface BuildTiming extends TimingCopy {
  /** Whether what the build learns is of use to other builds. */
  readonly isShared: boolean;
  readonly notes: readonly string[];
}

/**
 * The timing cache that a build writes into: a copy, so that no two write the same file and a given one stays as it
 * is. Several builds of one engine begin empty, each for itself: with a common cache they would all choose alike.
 */
export async function timingFor(context: SweepContext, build: PlannedBuild, to: string): Promise<BuildTiming> {
  if (build.timingCachePath !== null) return givenTiming(context, build, build.timingCachePath, to);
  if (build.of > 1) {
    await rm(to, { force: true });
    return { path: to, sha256: null, isShared: false, notes: [] };
  }
  const copy = await context.cache.timing.copyFor(timedOn(context), to);
  return { ...copy, isShared: true, notes: [] };
}

/** The file itself tells nothing that bench could read: what is known of it stands in the note beside it. */
async function givenTiming(context: SweepContext, build: PlannedBuild, from: string, to: string): Promise<BuildTiming> {
  const shown = printable(from);
  const { cache, onEvent, program } = context;
  const { sha256 } = await sha256OfFile(from).catch((error: unknown) => {
    throw new UsageError(`${shown}: no such timing cache, or it cannot be read`, { cause: error });
  });
  await copyFile(from, to);
  const given = { path: to, sha256, isShared: false };
  if (program.recordings !== null) return { ...given, notes: [] };
  const known = await cache.timing.noteOf(from, sha256);
  if (known === null) {
    const text = `nothing says on which GPU the timing cache ${from} was made: TensorRT takes it or not`;
    onEvent({ kind: 'note', text });
    return { ...given, notes: ['timing cache of unknown origin'] };
  }
  const differing = differences(known.timedOn, timedOn(context));
  if (differing.length === 0) return { ...given, notes: [] };
  const what = `timing cache made on another machine: ${differing.join(', ')}`;
  if (build.forcesTimingCache) {
    onEvent({ kind: 'note', text: `${build.label}: ${what}; used all the same` });
    return { ...given, notes: [`forced ${what}`] };
  }
  throw new UsageError(`${shown} is a ${printable(what)}: leave it out, or use it all the same with --force-cache`);
}

const NAMES = {
  gpuName: 'GPU',
  computeCapability: 'compute capability',
  tensorrt: 'TensorRT',
  tensorrtLibrary: 'TensorRT library',
  driverMajor: 'driver',
  cudaMajor: 'CUDA',
  lockedClocks: 'clocks',
} as const satisfies Record<keyof TimedOn, string>;

const FIELDS = ['gpuName', 'computeCapability', 'tensorrt', 'tensorrtLibrary', 'cudaMajor', 'lockedClocks'] as const;

/** What is known on both sides and differs; a newer driver alone keeps nothing from being used. */
function differences(a: TimedOn, b: TimedOn): string[] {
  return FIELDS.flatMap((field) =>
    a[field] !== null && b[field] !== null && a[field] !== b[field]
      ? [`${NAMES[field]} ${a[field]}, here ${b[field]}`]
      : [],
  );
}
