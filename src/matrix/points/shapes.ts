import type { Shapes } from '../../records/cell.ts';
import type { BuildShapes } from '../matrix.ts';
import type { MistakeList, SourcePath } from '../yaml/source-node.ts';
import type { BuildFile, ShapeTemplate } from '../schema/schema.ts';
import { didYouMean } from '../../text/nearest.ts';

type Limit = 'min' | 'opt' | 'max';

interface BuildShapesInput {
  readonly template: ShapeSet;
  readonly build: BuildFile;
  /** Position for a missing limit. */
  readonly path: SourcePath;
  /** All run shapes of the model in the matrix: a filter must not change the engine. */
  readonly runs: readonly { readonly shapes: Shapes; readonly dimensions: Readonly<Record<string, number>> }[];
}

/**
 * The optimization profile. `min` and `max` default to the run shapes; `opt` is required with more than one run shape,
 * as the choice of tactics depends on it.
 */
export function buildShapes(input: BuildShapesInput, list: MistakeList): BuildShapes | null {
  const { template, path, runs } = input;
  const result: Record<string, { min: number[]; opt: number[]; max: number[] }> = {};
  for (const name of Object.keys(template)) {
    const used = runs.map(({ shapes }) => shapes[name] ?? []);
    const opt = limitOf('opt', name, input) ?? onlyShape(used);
    if (opt === null) {
      list.addAtKey(
        path,
        `build.opt is needed: ${name} runs with ${new Set(used.map((shape) => shape.join('x'))).size} shapes, and the engine is tuned for one of them`,
      );
      return null;
    }
    const all = [...used, opt];
    const shape = {
      min: limitOf('min', name, input) ?? elementwise(all, Math.min),
      opt,
      max: limitOf('max', name, input) ?? elementwise(all, Math.max),
    };
    const problem = orderProblem(name, shape);
    if (problem !== null) {
      list.addAtKey(path, problem);
      return null;
    }
    result[name] = shape;
  }
  return result;
}

/** By dimension or input; null when not stated for this input. */
function limitOf(limit: Limit, input: string, { template, build, runs }: BuildShapesInput): number[] | null {
  const stated = build[limit];
  if (stated === undefined) return null;
  const whole = stated[input];
  if (whole !== undefined && typeof whole !== 'number') {
    return fillTemplate(readTemplate(whole), {});
  }
  const values: Record<string, number> = {};
  const known = runs[0]?.dimensions ?? {};
  for (const [dimension, value] of Object.entries(stated)) {
    if (typeof value === 'number') values[dimension] = value;
  }
  const symbols = (template[input] ?? []).filter((part) => typeof part === 'string');
  // An input without that dimension is not limited by it.
  if (symbols.length === 0) return fillTemplate(template[input] ?? [], {});
  if (symbols.some((symbol) => values[symbol] === undefined && known[symbol] === undefined)) return null;
  const unstated = symbols.filter((symbol) => values[symbol] === undefined);
  const used = runs.map(({ dimensions }) => dimensions);
  for (const symbol of unstated) {
    const all = used.map((dimensions) => dimensions[symbol] ?? 0);
    const opt = build.opt?.[symbol];
    if (limit === 'opt' && new Set(all).size > 1) return null;
    if (typeof opt === 'number') all.push(opt);
    values[symbol] = limit === 'min' ? Math.min(...all) : Math.max(...all);
  }
  return fillTemplate(template[input] ?? [], values);
}

/** Names under `min`, `opt` and `max` must be dimensions or inputs of the models concerned. */
export function checkLimitNames(
  build: BuildFile | undefined,
  path: SourcePath,
  { dimensions, inputs }: { readonly dimensions: readonly string[]; readonly inputs: readonly string[] },
  list: MistakeList,
): void {
  for (const limit of ['min', 'opt', 'max'] as const) {
    for (const [name, value] of Object.entries(build?.[limit] ?? {})) {
      if (inputs.includes(name) || (typeof value === 'number' && dimensions.includes(name))) continue;
      const allowed = [...dimensions, ...inputs];
      list.addAtKey(
        [...path, limit, name],
        `build.${limit}: "${name}" is neither a dimension (${dimensions.join(', ') || 'there is none'}) nor an input (${inputs.join(', ') || 'there is none'})${didYouMean(name, allowed)}`,
      );
    }
  }
}

function elementwise(shapes: readonly (readonly number[])[], pick: (...values: number[]) => number): number[] {
  const [first = []] = shapes;
  return first.map((_, place) => pick(...shapes.map((shape) => shape[place] ?? 0)));
}

function onlyShape(shapes: readonly (readonly number[])[]): number[] | null {
  const different = new Set(shapes.map((shape) => shape.join('x')));
  const [only] = shapes;
  return different.size === 1 && only !== undefined ? [...only] : null;
}

function orderProblem(name: string, { min, opt, max }: { min: number[]; opt: number[]; max: number[] }): string | null {
  if (min.length !== opt.length || opt.length !== max.length) {
    return `${name}: min ${text(min)}, opt ${text(opt)} and max ${text(max)} have different numbers of dimensions`;
  }
  const isOrdered = min.every((low, i) => low <= (opt[i] ?? 0) && (opt[i] ?? 0) <= (max[i] ?? 0));
  return isOrdered ? null : `${name}: min ${text(min)} <= opt ${text(opt)} <= max ${text(max)} does not hold`;
}

export interface Outside {
  readonly input: string;
  /** 0-based dimension; null when the ranks differ. */
  readonly place: number | null;
  readonly problem: string;
}

/** First dimension outside of the profile; null when all are inside. */
export function outsideProfile(shapes: Shapes, profile: BuildShapes): Outside | null {
  for (const [input, shape] of Object.entries(shapes)) {
    const limits = profile[input];
    if (limits === undefined) continue;
    if (shape.length !== limits.max.length) {
      const problem = `input "${input}": ${text(shape)} has ${shape.length} dimensions, the profile ${limits.max.length}`;
      return { input, place: null, problem };
    }
    for (const [place, value] of shape.entries()) {
      const low = limits.min[place] ?? 0;
      const high = limits.max[place] ?? 0;
      if (value < low || value > high) {
        const problem = `input "${input}": ${value} in dimension ${place} is outside of ${low} to ${high} (build.min to build.max)`;
        return { input, place, problem };
      }
    }
  }
  return null;
}

function text(shape: readonly number[]): string {
  return shape.join('x');
}

/** A number, or the name of an axis. */
type TemplateDimension = number | string;

export type ShapeSet = Readonly<Record<string, readonly TemplateDimension[]>>;

export function shapeSet(value: unknown): ShapeSet {
  const templates = Object.entries(isObject(value) ? value : {});
  return Object.fromEntries(
    templates.map(([input, template]) => [input, isTemplate(template) ? readTemplate(template) : []]),
  );
}

export function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function isTemplate(value: unknown): value is ShapeTemplate {
  return typeof value === 'string' || typeof value === 'number' || Array.isArray(value);
}

/** Parses `[batch, 3, 224, 224]`, `8x3x224x224` or a single number. */
function readTemplate(template: ShapeTemplate): TemplateDimension[] {
  if (typeof template === 'number') return [template];
  if (typeof template !== 'string') return [...template];
  return template.split('x').map((part) => (/^\d+$/.test(part) ? Number(part) : part));
}

export function symbolsOf(templates: Iterable<readonly TemplateDimension[]>): Set<string> {
  const symbols = new Set<string>();
  for (const template of templates) {
    for (const dimension of template) if (typeof dimension === 'string') symbols.add(dimension);
  }
  return symbols;
}

/** Replaces names; null when one has no value. */
export function fillTemplate(
  template: readonly TemplateDimension[],
  values: Readonly<Record<string, number>>,
): number[] | null {
  const filled: number[] = [];
  for (const dimension of template) {
    const value = typeof dimension === 'number' ? dimension : values[dimension];
    if (value === undefined) return null;
    filled.push(value);
  }
  return filled;
}
