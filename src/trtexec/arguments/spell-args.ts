import type { Mistake } from '../../errors.ts';
import type { MatrixCell } from '../../matrix/matrix.ts';
import { type EngineSource, onnxOf } from '../../matrix/models/models.ts';
import type { Flags } from '../../matrix/points/flags.ts';
import type { BuildRequest } from '../../matrix/schema/settings.ts';
import type { Placed } from '../../matrix/yaml/yaml-source.ts';
import { namedAxis, namedWords, profilingVerbosity } from '../../records/axis.ts';
import { type KeyedCell, profileFor, type Shapes } from '../../records/cell.ts';
import { PLACEHOLDERS } from '../../records/plan.ts';
import { type TensorrtVersion, isAtLeast } from '../../text/version.ts';
import { findFlag } from '../flags/flag-table.ts';
import type { Dialect } from './dialect.ts';

export interface SpelledArgs {
  /** Flags that determine the engine; without paths. */
  readonly flags: readonly string[];
  readonly args: readonly string[];
  readonly mistakes: readonly Mistake[];
}

const LAYERS_FILE = 'layers.json';

/** The command line that only builds an engine. Of a given engine, only the stated shapes are known. */
export function buildArgs(entry: MatrixCell, dialect: Dialect): SpelledArgs {
  const { build, cell } = entry;
  const mistakes: Mistake[] = [];
  const onnx = onnxOf(build.source);
  if (onnx === null) {
    // A single shape may be that of the run, and then states nothing.
    const isTuned = build.profiles.flatMap((one) => Object.values(one)).some(({ min, max }) => `${min}` !== `${max}`);
    return { flags: isTuned ? shapeFlags(build, dialect, entry, []) : [], args: [], mistakes: idleAxes(entry) };
  }
  const flags = [
    ...precisionFlags(entry, dialect, mistakes),
    ...shapeFlags(build, dialect, entry, mistakes),
    ...spellFlags(withNeeded(build.flags, entry, dialect, activationResize(entry, dialect)), dialect, mistakes),
    ...pluginFlags(entry, dialect, 'build', mistakes),
  ];
  const args = [
    `--onnx=${build.source.kind === 'converted' ? PLACEHOLDERS.variant : onnx.value}`,
    ...flags,
    `--saveEngine=${PLACEHOLDERS.engine}`,
    dialect.skipInference(),
    ...verbosityArgs(cell),
    ...(build.timingCache.kind === 'none' ? [] : [`--timingCacheFile=${PLACEHOLDERS.timingCache}`]),
    ...(profilingVerbosity(cell.axisFlags) === 'none' ? [] : [`--exportLayerInfo=${LAYERS_FILE}`]),
    ...(timesRefit(entry, dialect) ? ['--timeRefit'] : []),
    ...(build.isVerbose ? ['--verbose'] : []),
  ];
  return { flags, args, mistakes };
}

/** `detailed` makes the engine name the kernels of its layers. Any other verbosity is a flag of the cell. */
function verbosityArgs({ axisFlags }: KeyedCell): string[] {
  return profilingVerbosity(axisFlags) === 'detailed' ? ['--profilingVerbosity=detailed'] : [];
}

/** Whether the build times a refit. Only a build can: it has the network as well as the engine. */
function timesRefit({ build, cell }: MatrixCell, dialect: Dialect): boolean {
  const isRefittable = '--stripWeights' in cell.axisFlags && '--refit' in cell.axisFlags;
  return isRefittable && !('--timeRefit' in build.flags) && dialect.has('--timeRefit');
}

/** Axes that have no effect on a given engine: their cells would be the same measurement. */
function idleAxes({ build, cell }: MatrixCell): Mistake[] {
  return namedWords(cell.axisFlags).flatMap(({ name }): Mistake[] => {
    const flags = namedAxis(name)?.flags ?? [];
    const at = flags.map((flag) => build.flags[flag]?.at).find((place) => place !== undefined);
    if (at === undefined || flags.some((flag) => findFlag(flag)?.phase !== 'build')) return [];
    const acts = `${name} acts when an engine is built, and ${cell.model} has cells with a given engine`;
    return [{ at, problem: `${acts}: leave them out (exclude), or state the axis for other models` }];
  });
}

function precisionFlags({ cell, precisionAt }: MatrixCell, dialect: Dialect, mistakes: Mistake[]): readonly string[] {
  if (cell.precision === 'unstated') return [];
  const spelling = dialect.precision(cell.precision, cell.precisionVia);
  if (!('problem' in spelling)) return spelling;
  mistakes.push({ at: precisionAt, problem: spelling.problem });
  return [];
}

function shapeFlags({ profiles }: BuildRequest, dialect: Dialect, entry: MatrixCell, mistakes: Mistake[]): string[] {
  if (profiles.length > 1 && !dialect.has('--useProfile')) {
    mistakes.push({ at: entry.at, problem: dialect.lacks('--profile') });
  }
  return profiles.flatMap((profile, place) => [
    ...(profiles.length > 1 ? [`--profile=${place}`] : []),
    ...(['min', 'opt', 'max'] as const).map((limit) => {
      const limits: Shapes = Object.fromEntries(Object.entries(profile).map(([input, shape]) => [input, shape[limit]]));
      const { problem, text } = dialect.shapes(limits);
      if (problem !== null && limit === 'min') mistakes.push({ at: entry.at, problem });
      return `--${limit}Shapes=${text}`;
    }),
  ]);
}

function spellFlags(stated: Flags, dialect: Dialect, mistakes: Mistake[]): string[] {
  return Object.entries(stated).flatMap(([flag, { value, at }]) => {
    // `allowUnknownFlags` let unknown flags pass: trtexec itself accepts or rejects them.
    if (findFlag(flag) !== undefined && !dialect.has(flag)) mistakes.push({ at, problem: dialect.lacks(flag) });
    const pool = flag === '--memPoolSize' ? dialect.missingPool(value.join(',')) : null;
    if (pool !== null) mistakes.push({ at, problem: `trtexec ${dialect.name} has no memory pool ${pool}` });
    return value.map((text) => (text === '' ? flag : `${flag}=${text}`));
  });
}

type Entry = readonly [flag: string, Placed<readonly string[]>];

/** The flags for a run of the engine, with those that the axes of the cell also need in this version. */
function runFlags(entry: MatrixCell, dialect: Dialect, mistakes: Mistake[]): Flags {
  const { method } = entry;
  const budget = method.flags['--weightStreamingBudget'];
  if (budget !== undefined && entry.cell.precisionVia === 'flag' && dialect.has('--fp16')) {
    const problem =
      'weights can be streamed of strongly typed engines only: reach the precision by a model that has it, not by a flag';
    mistakes.push({ at: budget.at, problem });
  }
  return withNeeded(method.flags, entry, dialect, refit(entry, dialect, mistakes));
}

/** The flags of a build or a run, with those that the axes of the cell also need in this version. */
function withNeeded(stated: Flags, entry: MatrixCell, dialect: Dialect, more: readonly Entry[]): Flags {
  const streaming = weightStreaming(entry.method.flags, dialect);
  return { ...stated, ...Object.fromEntries([...versionCompatible(entry, dialect), ...streaming, ...more]) };
}

/**
 * Smaller runtimes and plugins inside the engine need `--versionCompatible`. The full runtime needs it, too, to load
 * such an engine.
 */
function versionCompatible({ build, method }: MatrixCell, dialect: Dialect): Entry[] {
  if ('--vc' in build.flags || '--versionCompatible' in build.flags) return [];
  if (!dialect.has('--versionCompatible')) return [];
  const runtime = method.flags['--useRuntime'];
  const isSmaller = runtime !== undefined && runtime.value[0] !== 'full';
  const at = (isSmaller ? runtime.at : undefined) ?? build.plugins.serialize[0]?.at;
  return at === undefined ? [] : [['--versionCompatible', { value: [''], at }]];
}

function weightStreaming(runs: Flags, dialect: Dialect): Entry[] {
  const budget = runs['--weightStreamingBudget'];
  return budget === undefined || !dialect.has('--allowWeightStreaming')
    ? []
    : [['--allowWeightStreaming', { value: [''], at: budget.at }]];
}

/** Lets layers shrink with the shapes of the run: a preview feature since 10.10; before, the strategy needs no flag. */
const RESIZE = '+runtimeActivationResize';

function activationResize({ build, cell, method }: MatrixCell, dialect: Dialect): Entry[] {
  const strategy = method.flags['--allocationStrategy'];
  if (cell.axisFlags['--allocationStrategy'] !== 'runtime' || strategy === undefined) return [];
  if (!isAtLeast(dialect.version, '10.10')) return [];
  const stated = build.flags['--preview'];
  const features = stated?.value.join(',').split(',') ?? [];
  if (features.some((feature) => feature.slice(1) === RESIZE.slice(1))) return [];
  return [['--preview', { value: [[...features, RESIZE].join(',')], at: stated?.at ?? strategy.at }]];
}

/** A stripped engine is refitted before it is timed: without its weights it is a different model. */
function refit({ build, cell }: MatrixCell, dialect: Dialect, mistakes: Mistake[]): Entry[] {
  if (!('--stripWeights' in cell.axisFlags) || !dialect.has('--stripWeights')) return [];
  const at = build.flags['--stripWeights']?.at;
  if (at === undefined) return [];
  const problem = refitProblem(build.source, build.isFrozen, dialect);
  if (problem !== null) {
    mistakes.push({ at, problem: `stripped weights: ${problem}` });
    return [];
  }
  const { source } = build;
  const model = source.kind === 'onnx' ? source.onnx.value : PLACEHOLDERS.variant;
  return [
    ['--refit', { value: [''], at }],
    ['--refitFromOnnx', { value: [model], at }],
  ];
}

function refitProblem(source: EngineSource, isFrozen: boolean, dialect: Dialect): string | null {
  if (!dialect.has('--refitFromOnnx')) return dialect.lacks('--refitFromOnnx');
  if (source.kind === 'engine') return 'an engine that was given has no ONNX file to take them from';
  return isFrozen
    ? 'build.engine: frozen keeps an engine when its model changes, and the weights would be of another one'
    : null;
}

function pluginFlags(entry: MatrixCell, dialect: Dialect, phase: 'build' | 'run', mistakes: Mistake[]): string[] {
  const { build, cell } = entry;
  const { dynamic, serialize, static: fixed } = build.plugins;
  const spell = (flag: string, libraries: readonly Placed<string>[]): string[] => {
    const [first] = libraries;
    if (first !== undefined && !dialect.has(flag)) mistakes.push({ at: first.at, problem: dialect.lacks(flag) });
    return libraries.map(({ value }) => `${flag}=${value}`);
  };
  const runtime = cell.axisFlags['--useRuntime'];
  if (fixed[0] !== undefined && runtime !== undefined && runtime !== 'full') {
    const cells = `there are cells with runtime: ${runtime}`;
    const problem = `plugins.static need the full runtime, and ${cells}: use plugins.dynamic`;
    mistakes.push({ at: fixed[0].at, problem });
  }
  // Plugins inside the engine must not be loaded a second time.
  const dynamicOnly = dynamic.filter(({ value }) => !serialize.some((own) => own.value === value));
  return [
    ...spell(dialect.has('--staticPlugins') ? '--staticPlugins' : '--plugins', fixed),
    ...spell('--dynamicPlugins', phase === 'build' ? dynamic : dynamicOnly),
    ...(phase === 'build' ? spell('--setPluginsToSerialize', serialize) : []),
  ];
}

export function runArgs(entry: MatrixCell, dialect: Dialect, role: 'timed' | 'profile') {
  const { build, cell, inputFiles, method } = entry;
  const mistakes: Mistake[] = [];
  const { problem, text: shapes } = dialect.shapes(cell.shapes);
  if (problem !== null) mistakes.push({ at: entry.at, problem });
  const inputs = Object.entries(inputFiles).map(([input, { value }]) => `${input}:${value}`);
  const times = method.exportTimes ? ['--exportTimes=times.json'] : [];
  const isCapture = method.durationS === 0 && method.warmUpMs === 0;
  const args = [
    `--loadEngine=${PLACEHOLDERS.engine}`,
    ...(shapes === '' ? [] : [`--shapes=${shapes}`]),
    ...(build.profiles.length > 1 ? [`--useProfile=${profileFor(cell.shapes, build.profiles)}`] : []),
    ...(inputs.length === 0 ? [] : [`--loadInputs=${inputs.join(',')}`]),
    `--warmUp=${method.warmUpMs}`,
    `--duration=${method.durationS}`,
    `--iterations=${isCapture ? capturedIterations(method.iterations, dialect.version) : method.iterations}`,
    ...dialect.intent(cell),
    ...dialect.percentiles(method.percentiles),
    ...spellFlags(runFlags(entry, dialect, mistakes), dialect, mistakes),
    ...pluginFlags(entry, dialect, 'run', mistakes),
    ...(role === 'timed' ? times : profileExports(dialect.separateProfile(), verbosityArgs(cell))),
  ];
  return { args, mistakes };
}

/** The option of trtexec for a number of queries without warm-up and duration: it is exact, but 11.1 runs one more. */
export function capturedIterations(queries: number, version: TensorrtVersion | null): number {
  return version !== null && isAtLeast(version, '11.1') ? Math.max(1, queries - 1) : queries;
}

/** A profile run measures nothing else, because the profiler slows down everything. */
function profileExports(separate: readonly string[], verbosity: readonly string[]): string[] {
  return [
    '--dumpProfile',
    ...separate,
    '--exportProfile=profile.json',
    `--exportLayerInfo=${LAYERS_FILE}`,
    ...verbosity,
  ];
}

export function profileArgs(timedArgs: readonly string[], engine: string, separate: readonly string[]): string[] {
  const own = timedArgs.filter(
    (arg) => !/^--(?:loadEngine|export\w+|dumpProfile|separateProfileRun|profilingVerbosity)(?:=|$)/.test(arg),
  );
  return [`--loadEngine=${engine}`, ...own, ...profileExports(separate, ['--profilingVerbosity=detailed'])];
}
