import type { BuildShapes, Shapes } from '../../records/cell.ts';
import type { MistakeList, SourcePath } from '../yaml/yaml-source.ts';
import type { BuildFile, ShapeSet } from '../schema/schema.ts';
import { didYouMean } from '../../text/nearest.ts';

const LIMITS = ['min', 'opt', 'max'] as const;

interface BuildShapesInput {
  readonly template: ShapeSet;
  readonly build: BuildFile;
  /** Position to report for a missing limit. */
  readonly path: SourcePath;
  /** All run shapes of the model in the matrix, because a filter must not change the engine. */
  readonly runs: readonly { readonly shapes: Shapes; readonly dimensions: Readonly<Record<string, number>> }[];
}

/**
 * The optimization profile. `min` and `max` default to the run shapes. `opt` is required with more than one run shape,
 * because the choice of tactics depends on it.
 */
function buildShapes(input: BuildShapesInput, list: MistakeList): BuildShapes | null {
  const { template, path, runs } = input;
  const result: Record<string, { min: number[]; opt: number[]; max: number[] }> = {};
  for (const name of Object.keys(template)) {
    const used = runs.map(({ shapes }) => shapes[name] ?? []);
    const different = new Set(used.map(text));
    const [only = []] = used;
    const opt = limitOf('opt', name, input) ?? (different.size === 1 ? [...only] : null);
    const all = opt === null ? used : [...used, opt];
    const elementwise = (pick: (...values: number[]) => number): number[] =>
      only.map((_, place) => pick(...all.map((shape) => shape[place] ?? 0)));
    const [min, max] = [
      limitOf('min', name, input) ?? elementwise(Math.min),
      limitOf('max', name, input) ?? elementwise(Math.max),
    ];
    const problem =
      opt === null
        ? `build.opt is needed: ${name} runs with ${different.size} shapes, and the engine is tuned for one of them`
        : orderProblem(name, min, opt, max);
    if (opt === null || problem !== null) {
      list.addAtKey(path, problem ?? '');
      return null;
    }
    result[name] = { min, opt, max };
  }
  return result;
}

/** A limit by dimension or input; null if it is not stated for this input. */
function limitOf(limit: (typeof LIMITS)[number], input: string, { template, build, runs }: BuildShapesInput) {
  const stated = build[limit];
  if (stated === undefined) return null;
  const whole = stated[input];
  if (whole !== undefined && typeof whole !== 'number') return fillTemplate(whole, {});
  const dimensions = template[input] ?? [];
  const values: Record<string, number> = {};
  // An input without that dimension has no limit from it.
  for (const symbol of symbolsOf([dimensions])) {
    const value = stated[symbol];
    const used = runs.map((run) => run.dimensions[symbol] ?? 0);
    const opt = build.opt?.[symbol];
    if (typeof value === 'number') values[symbol] = value;
    else if (runs[0]?.dimensions[symbol] === undefined || (limit === 'opt' && new Set(used).size > 1)) return null;
    else values[symbol] = (limit === 'min' ? Math.min : Math.max)(...used, ...(typeof opt === 'number' ? [opt] : []));
  }
  return fillTemplate(dimensions, values);
}

/** All profiles of an engine: `build.profiles`, or one of `min`, `opt` and `max`. Null after a mistake. */
export function buildProfiles(input: BuildShapesInput, list: MistakeList): BuildShapes[] | null {
  const { profiles = [input.build], ...build } = input.build;
  if (input.build.profiles !== undefined && LIMITS.some((limit) => build[limit] !== undefined)) {
    list.addAtKey([...input.path, 'profiles'], 'build.profiles and build.min, opt or max cannot be used together');
    return null;
  }
  const all = profiles.map((limits) => buildShapes({ ...input, build: limits }, list));
  return all.some((profile) => profile === null) ? null : all.filter((profile) => profile !== null);
}

/** Names under `min`, `opt` and `max` must be dimensions or inputs of the models that they apply to. */
export function checkLimitNames(
  build: BuildFile | undefined,
  path: SourcePath,
  { dimensions, inputs }: { readonly dimensions: readonly string[]; readonly inputs: readonly string[] },
  list: MistakeList,
): void {
  for (const [place, profile] of (build?.profiles ?? []).entries()) {
    checkLimitNames(profile, [...path, 'profiles', place], { dimensions, inputs }, list);
  }
  for (const limit of LIMITS) {
    for (const [name, value] of Object.entries(build?.[limit] ?? {})) {
      const isDimension = dimensions.includes(name);
      if (inputs.includes(name) || (typeof value === 'number' && isDimension)) continue;
      const allowed = [...dimensions, ...inputs];
      if (isDimension) list.add([...path, limit, name], `build.${limit}: ${name} is not a number`);
      else
        list.addAtKey(
          [...path, limit, name],
          `build.${limit}: "${name}" is neither a dimension (${dimensions.join(', ') || 'none'}) nor an input (${inputs.join(', ') || 'none'})${didYouMean(name, allowed)}`,
        );
    }
  }
}

function orderProblem(
  name: string,
  min: readonly number[],
  opt: readonly number[],
  max: readonly number[],
): string | null {
  const isOrdered =
    min.length === opt.length &&
    opt.length === max.length &&
    min.every((low, i) => low <= (opt[i] ?? 0) && (opt[i] ?? 0) <= (max[i] ?? 0));
  return isOrdered ? null : `${name}: min ${text(min)} <= opt ${text(opt)} <= max ${text(max)} does not hold`;
}

function text(shape: readonly number[]): string {
  return shape.join('x');
}

type Template = ShapeSet[string];

export function symbolsOf(templates: Iterable<Template>): Set<string> {
  return new Set([...templates].flat().filter((dimension) => typeof dimension === 'string'));
}

/** Replaces names with values; null when one has no value. */
export function fillTemplate(template: Template, values: Readonly<Record<string, number>>): number[] | null {
  const filled = template.map((dimension) => (typeof dimension === 'number' ? dimension : values[dimension]));
  return filled.every((value) => value !== undefined) ? filled : null;
}
