import type { Mistake } from '../../errors.ts';
import type { MatrixCell } from '../../matrix/matrix.ts';
import { type KeyedCell, profileFor } from '../../records/cell.ts';
import { PLACEHOLDERS } from '../../records/plan.ts';
import { isAtLeast } from '../../text/version.ts';
import { LAYERS_FILE, pluginFlags, runFlags, spellFlags, verbosityArgs } from './build-args.ts';
import type { Dialect } from './dialect.ts';

export function runArgs(entry: MatrixCell, dialect: Dialect, role: 'timed' | 'profile') {
  const { build, cell, inputFiles, method } = entry;
  const mistakes: Mistake[] = [];
  const shapes = dialect.shapes(cell.shapes);
  if (typeof shapes !== 'string') mistakes.push({ at: entry.at, ...shapes });
  const inputs = Object.entries(inputFiles).map(([input, { value }]) => `${input}:${value}`);
  const times = method.exportTimes ? ['--exportTimes=times.json'] : [];
  const args = [
    `--loadEngine=${PLACEHOLDERS.engine}`,
    ...(typeof shapes === 'string' && shapes !== '' ? [`--shapes=${shapes}`] : []),
    ...(build.profiles.length > 1 ? [`--useProfile=${profileFor(cell.shapes, build.profiles)}`] : []),
    ...(inputs.length === 0 ? [] : [`--loadInputs=${inputs.join(',')}`]),
    `--warmUp=${method.warmUpMs}`,
    `--duration=${method.durationS}`,
    `--iterations=${iterationsOf(method, dialect)}`,
    ...dialect.intent(cell),
    ...dialect.percentiles(method.percentiles),
    ...spellFlags(runFlags(entry, dialect, mistakes), dialect, mistakes),
    ...pluginFlags(entry, dialect, 'run', mistakes),
    ...(role === 'timed' ? times : profileExports(cell, dialect)),
  ];
  return { args, mistakes };
}

/** Without warm-up and duration the number of queries is exact, except that 11.1 runs one more. */
function iterationsOf({ durationS, iterations, warmUpMs }: MatrixCell['method'], { version }: Dialect): number {
  const isCapture = durationS === 0 && warmUpMs === 0;
  return isCapture && isAtLeast(version, '11.1') ? Math.max(1, iterations - 1) : iterations;
}

/** A profile run measures nothing else, because the profiler slows down everything. */
function profileExports(cell: KeyedCell, dialect: Dialect): string[] {
  return [
    '--dumpProfile',
    ...dialect.separateProfile(),
    '--exportProfile=profile.json',
    `--exportLayerInfo=${LAYERS_FILE}`,
    ...verbosityArgs(cell),
  ];
}

export function profileArgs(timedArgs: readonly string[], engine: string, separate: readonly string[]): string[] {
  const own = timedArgs.filter(
    (arg) => !/^--(?:loadEngine|export\w+|dumpProfile|separateProfileRun|profilingVerbosity)(?:=|$)/.test(arg),
  );
  return [
    `--loadEngine=${engine}`,
    ...own,
    '--dumpProfile',
    ...separate,
    '--exportProfile=profile.json',
    '--exportLayerInfo=layers.json',
    '--profilingVerbosity=detailed',
  ];
}
