import type { BuildShapes } from '../../records/cell.ts';
import { NO_PHASE_LIMITS } from '../../records/time-limit.ts';
import { printable } from '../../text/printable.ts';
import { defined, keysOf } from '../../text/unknown-values.ts';
import { findFlag } from '../../trtexec/flags/flag-table.ts';
import type { EngineSource, MatrixModel } from '../models/models.ts';
import { eachStated, type Point } from '../points/axes.ts';
import { actsInBuild, actsInRun, type Flags, flagText, readFlags, pointFlags } from '../points/flags.ts';
import type { MistakeList, Placed } from '../yaml/yaml-source.ts';
import { MATRIX_DEFAULTS } from '../../records/matrix-defaults.ts';
import type { BuildFile, MatrixFile, PluginsFile } from './schema.ts';

const MERGED = ['min', 'opt', 'max', 'memoryPoolsMib', 'flags'] as const;

/** Settings of the model override the common ones; maps are merged by key. */
export function mergeBuild(all: BuildFile = {}, own: BuildFile = {}): BuildFile {
  const merged = MERGED.filter((name) => name in all && name in own).map((name) => [
    name,
    { ...all[name], ...own[name] },
  ]);
  return { ...all, ...own, ...Object.fromEntries(merged) };
}

/**
 * How the engine of a cell is built.
 * @param profiles optimization profiles; empty for static shapes
 */
export function readBuild(
  file: MatrixFile,
  model: MatrixModel,
  point: Point,
  source: EngineSource,
  profiles: readonly BuildShapes[],
  list: MistakeList,
) {
  const build = mergeBuild(file.build, model.build);
  const allowsUnknown = file.allowUnknownFlags === true;
  const ownPath = [...model.path, 'build', 'flags'];
  const onAxes = flagsOfPoint(point, actsInBuild, list);
  const flags = {
    ...readFlags(file.build?.flags, ['build', 'flags'], 'build', allowsUnknown, list),
    ...readFlags(model.build.flags, ownPath, 'build', allowsUnknown, list),
    ...onAxes,
  };
  const limits = limitFlags(model, build, flags, onAxes, list);
  return {
    source,
    profiles,
    timingCache: timingCacheOf(file, model, build.timingCache, list),
    /** The first engine is kept, even if anything else changes. */
    isFrozen: build.engine === 'frozen',
    /** Verbose log of the builder; it does not affect the identity of the engine. */
    isVerbose: build.verbose ?? false,
    plugins: readPlugins(file, model, list),
    flags: { ...limits, ...flags, ...limits },
    timeoutS: build.timeoutS ?? MATRIX_DEFAULTS.buildTimeoutS,
    firstOutputS: file.timeouts?.firstOutputS ?? null,
  };
}

export type BuildRequest = ReturnType<typeof readBuild>;

function timingCacheOf(file: MatrixFile, model: MatrixModel, stated: BuildFile['timingCache'], list: MistakeList) {
  if (typeof stated !== 'string') {
    // `shared` is a cache next to the store for each GPU model and version.
    return { kind: (stated ?? MATRIX_DEFAULTS.timingCache) ? ('shared' as const) : ('none' as const) };
  }
  const isOwn = model.build.timingCache !== undefined || file.build?.timingCache === undefined;
  const path = isOwn ? [...model.path, 'build', 'timingCache'] : ['build', 'timingCache'];
  return { kind: 'file' as const, file: list.fileAt(path, stated) };
}

/**
 * How a cell is measured; not part of its identity.
 * @param build build of the same cell; some of its options are needed again when the engine is loaded
 */
export function readMethod(file: MatrixFile, point: Point, build: BuildRequest, list: MistakeList) {
  const run = file.run ?? {};
  const allowsUnknown = file.allowUnknownFlags === true;
  const again = Object.entries(build.flags).filter(([flag]) => findFlag(flag)?.phase === 'both');
  const settingOf = (name: 'durationS' | 'iterations' | 'warmUpMs'): number => {
    const value = point.get(name)?.value;
    if (run.capture !== undefined) {
      const isStated = value !== undefined || run[name] !== undefined;
      if (isStated) list.add(['run', 'capture'], `excludes ${name}: a capture has no warm-up and no duration`);
      return name === 'iterations' ? run.capture : 0;
    }
    return typeof value === 'number' ? value : (run[name] ?? MATRIX_DEFAULTS[name]);
  };
  return {
    warmUpMs: settingOf('warmUpMs'),
    durationS: settingOf('durationS'),
    iterations: settingOf('iterations'),
    percentiles: run.percentiles ?? MATRIX_DEFAULTS.percentiles,
    exportTimes: run.exportTimes ?? MATRIX_DEFAULTS.exportTimes,
    /** Null for the sum of the limits of its parts. */
    timeoutS: run.timeoutS ?? null,
    limits: { ...NO_PHASE_LIMITS, ...defined(file.timeouts ?? {}) },
    minQueries: run.minQueries ?? Math.min(MATRIX_DEFAULTS.minQueries, run.capture ?? Infinity),
    minWarmUpQueries: run.minWarmUpQueries ?? MATRIX_DEFAULTS.minWarmUpQueries,
    flags: {
      ...Object.fromEntries(again),
      ...readFlags(run.flags, ['run', 'flags'], 'run', allowsUnknown, list),
      ...flagsOfPoint(point, actsInRun, list),
    },
  };
}

export type RunMethod = ReturnType<typeof readMethod>;

function flagsOfPoint(point: Point, acts: (flag: string) => boolean, list: MistakeList): Flags {
  return Object.fromEntries(
    pointFlags(point)
      .filter(({ flag }) => acts(flag))
      .map(({ at, flag, value }) => [flag, { value: [flagText(flag, value, at, list)], at }]),
  );
}

/** The plugins of the model, if it states any; else those of the file. */
function readPlugins(file: MatrixFile, model: MatrixModel, list: MistakeList) {
  const isOwn = model.plugins !== undefined;
  const placed = (kind: keyof PluginsFile): Placed<string>[] => {
    const path = isOwn ? [...model.path, 'plugins', kind] : ['plugins', kind];
    const stated = eachStated((isOwn ? model.plugins : file.plugins)?.[kind] ?? [], path);
    return stated.map(({ at, value }) => list.fileAt(at, String(value)));
  };
  const plugins = { static: placed('static'), dynamic: placed('dynamic'), serialize: placed('serialize') };
  for (const { at, value } of plugins.serialize) {
    if (plugins.dynamic.some((library) => library.value === value)) continue;
    const problem = `${printable(value)} is not among plugins.dynamic: the builder must load what the engine is to carry`;
    list.addAt(at, `plugins.serialize: ${problem}`);
  }
  return plugins;
}

/** Settings of `build:` with their options. */
const FLAG_OF = { optimizationLevel: '--builderOptimizationLevel', memoryPoolsMib: '--memPoolSize' } as const;

/**
 * Builder limits as options with their positions; memory pools with those of the other flags. A limit that is also on
 * an axis is a mistake, as for flags: the cell would not say which of the two was used.
 * @param build settings merged with the common ones
 */
function limitFlags(model: MatrixModel, build: BuildFile, flags: Flags, onAxes: Flags, list: MistakeList): Flags {
  // Plain integers are MiB in every version, but versions read suffixes differently.
  const pools = Object.entries(build.memoryPoolsMib ?? {}).map(([pool, mib]) => `${pool}:${mib}`);
  const texts = { optimizationLevel: String(build.optimizationLevel ?? ''), memoryPoolsMib: pools.join(',') };
  const ownPath = [...model.path, 'build'];
  const limits = keysOf(FLAG_OF).flatMap((setting) => {
    const flag = FLAG_OF[setting];
    const at = list.keyAt([...(model.build[setting] === undefined ? ['build'] : ownPath), setting]);
    const [own, stated] = [byPool([texts[setting]]), byPool(flags[flag]?.value ?? [])];
    const twice = onAxes[flag] && [...own.keys()].find((pool) => stated.has(pool));
    if (twice !== undefined)
      list.addAt(at, `${[setting, twice].filter(Boolean).join('.')} is on an axis already: state one of the two`);
    return texts[setting] === ''
      ? []
      : [[flag, { value: [[...new Map([...own, ...stated]).values()].join(',')], at }] as const];
  });
  return Object.fromEntries(limits);
}

/** The parts of a value by pool; by '' a value that is not of pools. */
function byPool(value: readonly string[]): Map<string, string> {
  const parts = value.flatMap((text) => text.split(',')).filter((part) => part !== '');
  return new Map(parts.map((part) => [part.replace(/^(\w+):.*|.*/, '$1'), part]));
}
