import type { KeyedCell, Shapes } from '../../records/cell.ts';
import { findFlag } from '../flags/flag-table.ts';
import type { Mistake } from '../../errors.ts';
import { type BuildRequest, type Flags, type MatrixCell, onnxOf } from '../../matrix/matrix.ts';
import { namedAxis, namedWords, profilingVerbosity } from '../../records/axis.ts';
import { PLACEHOLDERS } from '../../records/plan.ts';
import type { Dialect } from './dialect.ts';
import { buildFlags, pluginFlags } from './implied-flags.ts';

export interface SpelledArgs {
  /** Flags that determine the engine, without paths. */
  readonly flags: readonly string[];
  readonly args: readonly string[];
  readonly mistakes: readonly Mistake[];
}

export const LAYERS_FILE = 'layers.json';

/** The command line that only builds an engine; empty if the engine was given. */
export function buildArgs(entry: MatrixCell, dialect: Dialect): SpelledArgs {
  const { build, cell } = entry;
  const mistakes: Mistake[] = [];
  const onnx = onnxOf(build.source);
  if (onnx === null) return { flags: [], args: [], mistakes: idleAxes(entry) };
  const flags = [
    ...precisionFlags(entry, cell, dialect, mistakes),
    ...shapeFlags(build, dialect, entry, mistakes),
    ...spellFlags(buildFlags(entry, dialect), dialect, mistakes),
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

/** Detailed, so that layers have their kernels; another verbosity is among the flags of the cell. */
export function verbosityArgs({ axisFlags }: KeyedCell): string[] {
  return profilingVerbosity(axisFlags) === 'detailed' ? ['--profilingVerbosity=detailed'] : [];
}

/** Only a build can time it, with the network in addition to the engine. */
function timesRefit({ build, cell }: MatrixCell, dialect: Dialect): boolean {
  const isRefittable = '--stripWeights' in cell.axisFlags && '--refit' in cell.axisFlags;
  return isRefittable && !('--timeRefit' in build.flags) && dialect.has('--timeRefit');
}

/** Axes without effect on a given engine, whose cells would be the same measurement. */
function idleAxes({ build, cell }: MatrixCell): Mistake[] {
  return namedWords(cell.axisFlags).flatMap(({ name }): Mistake[] => {
    const flags = namedAxis(name)?.flags ?? [];
    const at = flags.map((flag) => build.flags[flag]?.at).find((place) => place !== undefined);
    const acts = flags.some((flag) => findFlag(flag)?.phase !== 'build');
    return acts || at === undefined
      ? []
      : [
          {
            at,
            problem: `${name} acts when an engine is built, and ${cell.model} has cells with a given engine: leave them out (exclude), or state the axis for other models`,
          },
        ];
  });
}

function precisionFlags(entry: MatrixCell, cell: KeyedCell, dialect: Dialect, mistakes: Mistake[]): readonly string[] {
  if (cell.precision === 'unstated') return [];
  const spelling = dialect.precision(cell.precision, cell.precisionVia);
  if (spelling.kind === 'flags') return spelling.flags;
  mistakes.push({ at: entry.precisionAt, problem: spelling.problem });
  return [];
}

function shapeFlags({ shapes }: BuildRequest, dialect: Dialect, entry: MatrixCell, mistakes: Mistake[]): string[] {
  if (shapes === null) return [];
  return (['min', 'opt', 'max'] as const).flatMap((limit) => {
    const limits: Shapes = Object.fromEntries(Object.entries(shapes).map(([input, shape]) => [input, shape[limit]]));
    const spelling = dialect.shapes(limits);
    if (spelling.kind === 'flags') return [`--${limit}Shapes=${spelling.flags.join('')}`];
    if (limit === 'min') mistakes.push({ at: entry.at, problem: spelling.problem });
    return [];
  });
}

export function spellFlags(stated: Flags, dialect: Dialect, mistakes: Mistake[]): string[] {
  return Object.entries(stated).flatMap(([flag, { value, at }]) => {
    // Unknown flags were admitted by `allowUnknownFlags`: trtexec itself accepts or rejects them.
    if (findFlag(flag) !== undefined && !dialect.has(flag)) {
      mistakes.push({ at, problem: `trtexec ${dialect.name} has no ${flag}${versionsOf(flag)}` });
    }
    const pool = flag === '--memPoolSize' ? dialect.missingPool(value.join(',')) : null;
    if (pool !== null) {
      mistakes.push({ at, problem: `trtexec ${dialect.name} has no memory pool ${pool}` });
    }
    return value.map((text) => (text === '' ? flag : `${flag}=${text}`));
  });
}

function versionsOf(flag: string): string {
  const known = findFlag(flag);
  if (known === undefined) return '';
  const since = `${known.since.major}.${known.since.minor}`;
  return known.removed === null
    ? `: it is there since ${since}`
    : `: it was there from ${since} until ${known.removed.major}.${known.removed.minor} took it away`;
}
