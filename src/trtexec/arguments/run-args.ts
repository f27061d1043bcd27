import type { KeyedCell } from '../../records/cell.ts';
import type { Mistake } from '../../errors.ts';
import type { MatrixCell } from '../../matrix/matrix.ts';
import { PLACEHOLDERS } from '../../records/plan.ts';
import { LAYERS_FILE, spellFlags, verbosityArgs } from './build-args.ts';
import type { Dialect } from './dialect.ts';
import { runFlags } from './implied-flags.ts';
import { pluginFlags } from './plugin-flags.ts';

const TIMES_FILE = 'times.json';
const PROFILE_FILE = 'profile.json';

export interface RunArgs {
  readonly args: readonly string[];
  readonly mistakes: readonly Mistake[];
}

/** The command line of a timed run from a built engine. Exports go into the folder of the run. */
export function runArgs(entry: MatrixCell, dialect: Dialect, role: 'timed' | 'profile'): RunArgs {
  const { cell, inputFiles, method } = entry;
  const mistakes: Mistake[] = [];
  const shapes = dialect.shapes(cell.shapes);
  if (shapes.kind === 'impossible') mistakes.push({ at: entry.at, problem: shapes.problem });
  const shapeText = shapes.kind === 'flags' ? shapes.flags.join('') : '';
  const inputs = Object.entries(inputFiles).map(([input, { value }]) => `${input}:${value}`);
  const args = [
    `--loadEngine=${PLACEHOLDERS.engine}`,
    ...(shapeText === '' ? [] : [`--shapes=${shapeText}`]),
    ...(inputs.length === 0 ? [] : [`--loadInputs=${inputs.join(',')}`]),
    `--warmUp=${method.warmUpMs}`,
    `--duration=${method.durationS}`,
    `--iterations=${method.iterations}`,
    ...dialect.intent(cell),
    ...dialect.percentiles(method.percentiles),
    ...spellFlags(runFlags(entry, dialect, mistakes), dialect, mistakes),
    ...pluginFlags(entry, dialect, 'run', mistakes),
    ...(role === 'timed' ? timedExports(method.exportTimes) : profileExports(cell, dialect)),
  ];
  return { args, mistakes };
}

function timedExports(exportTimes: boolean): string[] {
  return exportTimes ? [`--exportTimes=${TIMES_FILE}`] : [];
}

/** A profile run measures nothing else: the profiler slows everything around it. */
function profileExports(cell: KeyedCell, dialect: Dialect): string[] {
  return [
    '--dumpProfile',
    ...dialect.separateProfile(),
    `--exportProfile=${PROFILE_FILE}`,
    `--exportLayerInfo=${LAYERS_FILE}`,
    ...verbosityArgs(cell),
  ];
}
