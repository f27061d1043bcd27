import { NO_PHASE_LIMITS } from '../../records/time-limit.ts';
import { printable } from '../../text/printable.ts';
import { defined } from '../../text/unknown-values.ts';
import { findFlag } from '../../trtexec/flags/flag-table.ts';
import type {
  BuildRequest,
  BuildShapes,
  EngineSource,
  Flags,
  Placed,
  Plugins,
  RunMethod,
  TimingCacheChoice,
} from '../matrix.ts';
import type { MatrixModel } from '../models/models.ts';
import type { Point } from '../points/axes.ts';
import { actsInBuild, actsInRun, flagText, readFlags, pointFlags } from '../points/flags.ts';
import type { MistakeList, SourcePath } from '../yaml/source-node.ts';
import { MATRIX_DEFAULTS } from './defaults.ts';
import type { BuildFile, MatrixFile, PluginsFile } from './schema.ts';

/** The model's settings override the common ones; maps are merged by key. */
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
      ...flagsOfPoint(point, actsInBuild, list),
    },
    timeoutS: build.timeoutS ?? MATRIX_DEFAULTS.buildTimeoutS,
    firstOutputS: file.timeouts?.firstOutputS ?? null,
  };
}

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
  return { kind: 'file', file: { value: list.pathFrom(at, stated), at } };
}

/** @param build of the same cell: some of its flags are needed again when the engine is loaded */
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
    limits: { ...NO_PHASE_LIMITS, ...defined(file.timeouts ?? {}) },
    minQueries: run.minQueries ?? MATRIX_DEFAULTS.minQueries,
    minWarmUpQueries: run.minWarmUpQueries ?? MATRIX_DEFAULTS.minWarmUpQueries,
    flags: {
      ...Object.fromEntries(again),
      ...readFlags(run.flags, ['run', 'flags'], 'run', allowsUnknown, list),
      ...flagsOfPoint(point, actsInRun, list),
    },
  };
}

function flagsOfPoint(point: Point, acts: (flag: string) => boolean, list: MistakeList): Flags {
  return Object.fromEntries(
    pointFlags(point)
      .filter(({ flag }) => acts(flag))
      .map(({ at, flag, value }) => [flag, { value: [flagText(flag, value, at, list)], at }]),
  );
}

function readPlugins(file: MatrixFile, model: MatrixModel, list: MistakeList): Plugins {
  return model.plugins === undefined
    ? placedPlugins(file.plugins, ['plugins'], list)
    : placedPlugins(model.plugins, [...model.path, 'plugins'], list);
}

function placedPlugins(stated: PluginsFile | undefined, path: SourcePath, list: MistakeList): Plugins {
  const placed = (kind: keyof PluginsFile): Placed<string>[] => {
    const each = stated?.[kind] ?? [];
    const libraries = [each].flat().map((library, index) => {
      const at = list.at(Array.isArray(each) ? [...path, kind, index] : [...path, kind]);
      return { value: list.pathFrom(at, library), at };
    });
    for (const [index, library] of libraries.entries()) {
      if (libraries.findIndex(({ value }) => value === library.value) < index) {
        list.addAt(library.at, `plugins.${kind}: ${printable(library.value)} is listed twice`);
      }
    }
    return libraries;
  };
  const plugins = { static: placed('static'), dynamic: placed('dynamic'), serialize: placed('serialize') };
  for (const { at, value } of plugins.serialize) {
    if (plugins.dynamic.some((library) => library.value === value)) continue;
    list.addAt(
      at,
      `plugins.serialize: ${printable(value)} is not among plugins.dynamic: the builder must load what the engine is to carry`,
    );
  }
  return plugins;
}

/** Settings of `build:` with their flags. */
const FLAG_OF = { optimizationLevel: '--builderOptimizationLevel', memoryPoolsMib: '--memPoolSize' } as const;

/**
 * Builder limits as flags with their positions.
 * @param build merged over the common one
 */
function limitFlags(file: MatrixFile, model: MatrixModel, build: BuildFile, list: MistakeList): Flags {
  const { optimizationLevel } = build;
  // Plain integers are MiB in every version; suffixes are read differently.
  const pools = Object.entries(build.memoryPoolsMib ?? {}).map(([pool, mib]) => `${pool}:${mib}`);
  const at = (setting: keyof typeof FLAG_OF) => list.keyAt(placeOf(setting, model));
  refuseTwice(file.build, ['build'], list);
  refuseTwice(model.build, [...model.path, 'build'], list);
  return {
    ...(optimizationLevel === undefined
      ? {}
      : { [FLAG_OF.optimizationLevel]: { value: [String(optimizationLevel)], at: at('optimizationLevel') } }),
    ...(pools.length === 0 ? {} : { [FLAG_OF.memoryPoolsMib]: { value: [pools.join(',')], at: at('memoryPoolsMib') } }),
  };
}

function placeOf(setting: keyof typeof FLAG_OF, model: MatrixModel): SourcePath {
  return model.build[setting] === undefined ? ['build', setting] : [...model.path, 'build', setting];
}

/** trtexec rejects a repeated flag as unknown. */
function refuseTwice(build: BuildFile | undefined, path: SourcePath, list: MistakeList): void {
  for (const [setting, flag] of Object.entries(FLAG_OF)) {
    const isStated = setting in (build ?? {}) && flag in (build?.flags ?? {});
    if (isStated) {
      list.addAtKey([...path, 'flags', flag], `${flag} is build.${setting} already: state one of the two`);
    }
  }
}
