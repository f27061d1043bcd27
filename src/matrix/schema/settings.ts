import { dirname, resolve } from 'node:path';

import type { BuildRequest, BuildShapes, EngineSource, Flags, RunMethod, TimingCacheChoice } from '../matrix.ts';
import { NO_PHASE_LIMITS, type PhaseLimits } from '../../records/time-limit.ts';
import type { Point } from '../points/axes.ts';
import { limitFlags } from '../points/build-limits.ts';
import { MATRIX_DEFAULTS } from './defaults.ts';
import { findFlag } from '../../trtexec/flags/flag-table.ts';
import { actsInBuild, actsInRun, flagText, readFlags } from '../points/flags.ts';
import type { MatrixModel } from '../models/models.ts';
import type { MistakeList } from '../yaml/mistake-list.ts';
import { readPlugins } from '../models/plugins.ts';
import { pointFlags } from '../points/point-flags.ts';
import type { BuildFile, MatrixFile } from './schema.ts';

/** The model's own settings on top of those for all; the maps in them are merged key by key. */
export function mergeBuild(all: BuildFile | undefined, own: BuildFile): BuildFile {
  const limits = (name: 'min' | 'opt' | 'max') =>
    all?.[name] === undefined && own[name] === undefined ? {} : { [name]: { ...all?.[name], ...own[name] } };
  return {
    ...all,
    ...own,
    ...limits('min'),
    ...limits('opt'),
    ...limits('max'),
    memoryPoolsMib: { ...all?.memoryPoolsMib, ...own.memoryPoolsMib },
    flags: { ...all?.flags, ...own.flags },
  };
}

export function readBuild(
  file: MatrixFile,
  model: MatrixModel,
  point: Point,
  source: EngineSource,
  shapes: BuildShapes | null,
  list: MistakeList,
): BuildRequest {
  const build = mergeBuild(file.build, model.build);
  const allowsUnknown = file.allowUnknownFlags === true;
  const ownPath = [...model.path, 'build', 'flags'];
  return {
    source,
    shapes,
    timingCache: timingCacheOf(file, model, build.timingCache, list),
    isFrozen: build.engine === 'frozen',
    isVerbose: build.verbose ?? false,
    plugins: readPlugins(file, model, list),
    flags: {
      ...limitFlags(file, model, build, list),
      ...readFlags(file.build?.flags, ['build', 'flags'], 'build', allowsUnknown, list),
      ...readFlags(model.build.flags, ownPath, 'build', allowsUnknown, list),
      ...flagsOfPoint(point, actsInBuild),
    },
    timeoutS: build.timeoutS ?? MATRIX_DEFAULTS.buildTimeoutS,
    firstOutputS: file.timeouts?.firstOutputS ?? null,
  };
}

/** A path is meant from the folder of the file that states it. */
function timingCacheOf(
  file: MatrixFile,
  model: MatrixModel,
  stated: BuildFile['timingCache'],
  list: MistakeList,
): TimingCacheChoice {
  if (typeof stated !== 'string') {
    return { kind: (stated ?? MATRIX_DEFAULTS.timingCache) ? 'shared' : 'none' };
  }
  const isOwn = model.build.timingCache !== undefined || file.build?.timingCache === undefined;
  const at = list.at(isOwn ? [...model.path, 'build', 'timingCache'] : ['build', 'timingCache']);
  return { kind: 'file', file: { value: resolve(dirname(at.file), stated), at } };
}

/** @param build of the same cell: some of its flags must be there again when the engine is loaded */
export function readMethod(file: MatrixFile, point: Point, build: BuildRequest, list: MistakeList): RunMethod {
  const run = file.run ?? {};
  const allowsUnknown = file.allowUnknownFlags === true;
  const again = Object.entries(build.flags).filter(([flag]) => findFlag(flag)?.phase === 'both');
  const onAxis = (name: string): number | undefined => {
    const value = point.get(name)?.value;
    return value?.kind === 'number' ? value.number : undefined;
  };
  return {
    warmUpMs: onAxis('warmUpMs') ?? run.warmUpMs ?? MATRIX_DEFAULTS.warmUpMs,
    durationS: onAxis('durationS') ?? run.durationS ?? MATRIX_DEFAULTS.durationS,
    iterations: onAxis('iterations') ?? run.iterations ?? MATRIX_DEFAULTS.iterations,
    percentiles: run.percentiles ?? MATRIX_DEFAULTS.percentiles,
    exportTimes: run.exportTimes ?? MATRIX_DEFAULTS.exportTimes,
    timeoutS: run.timeoutS ?? null,
    limits: { ...NO_PHASE_LIMITS, ...statedLimits(file.timeouts) },
    minQueries: run.minQueries ?? MATRIX_DEFAULTS.minQueries,
    minWarmUpQueries: run.minWarmUpQueries ?? MATRIX_DEFAULTS.minWarmUpQueries,
    flags: {
      ...Object.fromEntries(again),
      ...readFlags(run.flags, ['run', 'flags'], 'run', allowsUnknown, list),
      ...flagsOfPoint(point, actsInRun),
    },
  };
}

function statedLimits(limits: MatrixFile['timeouts']): Partial<PhaseLimits> {
  return Object.fromEntries(Object.entries(limits ?? {}).filter(([, value]) => value !== undefined));
}

/** The flags of this point's axes that act in one of the phases. */
function flagsOfPoint(point: Point, acts: (flag: string) => boolean): Flags {
  return Object.fromEntries(
    pointFlags(point)
      .filter(({ flag }) => acts(flag))
      .map(({ at, flag, value }) => [flag, { value: [flagText(flag, value, at.file)], at }]),
  );
}
