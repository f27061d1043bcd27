import { NAMED_AXES, namedAxis, type NamedAxis, NEIGHBOR } from '../../records/axis.ts';
import { ENV_AXIS, type Shapes } from '../../records/cell.ts';
import { didYouMean } from '../../text/nearest.ts';
import { printable } from '../../text/printable.ts';
import type { MatrixModel } from '../models/models.ts';
import { AXIS_NAMES, type MatrixFile, type ShapeSet } from '../schema/schema.ts';
import type { MistakeList, SourcePath } from '../yaml/yaml-source.ts';
import { type Axes, defaultAxes, isDimensionAxis, type Point, product, readAxes, type ShapedPoint } from './axes.ts';
import { actsInRun, flagProblem } from './flags.ts';
import { fillTemplate, symbolsOf } from './shapes.ts';

export interface ModelPoints {
  readonly model: MatrixModel;
  /** The product of the axes, and one more for each `include` that applies to this model. */
  readonly blocks: readonly Axes[];
  readonly points: readonly ShapedPoint[];
}

/** A file with more cells is a mistake. */
const MAX_CELLS = 20_000;

export function pointsOf(file: MatrixFile, models: readonly MatrixModel[], list: MistakeList): ModelPoints[] {
  const stated = readAxes(file.axes, ['axes'], list);
  const names = models.map(({ name }) => name);
  const includes = (file.include ?? []).map(({ model, ...axes }, index) => {
    const path: SourcePath = ['include', index];
    const named = model === undefined ? names : [model].flat();
    for (const name of named.filter((each) => !names.includes(each))) {
      list.add([...path, 'model'], `no model "${name}"${didYouMean(name, names)}`);
    }
    return { named, axes: readAxes(axes, path, list), path };
  });
  const places: readonly Place[] = [
    { axes: stated, path: ['axes'] },
    ...models.map(({ axes, path }) => ({ axes, path: [...path, 'axes'] })),
    ...includes,
  ];
  checkNames(places, models, list);
  checkTwice(places, file, list);
  checkNeighbors(places, models, list);
  const shared = new Map([...defaultAxes(list), ...stated]);
  const all = models.map((model) => {
    const base = new Map([...shared, ...model.axes]);
    const more = includes.flatMap(({ axes, named }) =>
      named.includes(model.name) ? [new Map([...base, ...axes])] : [],
    );
    return { model, blocks: [base, ...more].map((axes) => relevantAxes(model, axes)) };
  });
  const products = all.flatMap(({ blocks }) => blocks.map((axes) => [...axes.values()].map(({ length }) => length)));
  const size = products.reduce((sum, lengths) => sum + lengths.reduce((cells, length) => cells * length, 1), 0);
  if (size > MAX_CELLS) list.add(['axes'], `${size} cells: the limit is ${MAX_CELLS}`);
  return all.map(({ model, blocks }) => ({
    model,
    blocks,
    points: size > MAX_CELLS ? [] : blocks.flatMap((axes) => shapedPoints(model, axes, list)),
  }));
}

interface Place {
  readonly axes: Axes;
  readonly path: SourcePath;
}

function checkNeighbors(places: readonly Place[], models: readonly MatrixModel[], list: MistakeList): void {
  const ours = models.filter(({ harness }) => harness === null).map(({ name }) => name);
  for (const { at, value } of places.flatMap(({ axes }) => axes.get(NEIGHBOR) ?? [])) {
    const name = String(value);
    if (name === 'none' || ours.includes(name)) continue;
    const problem = models.some((model) => model.name === name)
      ? `model "${name}" is measured by another program than trtexec, and cannot run next to one`
      : `no model "${name}"${didYouMean(name, ['none', ...ours])}`;
    list.addAt(at, `${NEIGHBOR}: ${problem}`);
  }
}

/** Facts that a model of another harness may state even if its settings do not use them. */
const HARNESS_AXES = ['precision', 'cudaGraph', 'dataTransfers', 'shapes'];

/** False for options of the builder, which have no effect on a given engine. */
export function actsOnEngine(name: string): boolean {
  return (namedAxis(name)?.flags ?? [name]).some(actsInRun);
}

/**
 * Drops axes that do not apply to the model: foreign dimensions, and for a given engine its precision and build
 * options.
 */
function relevantAxes(model: MatrixModel, axes: Axes): Axes {
  const symbols = symbolsOf(templatesOf(model, axes).flatMap((set) => Object.values(set)));
  const { engine, harness } = model;
  const isRelevant = (name: string): boolean => {
    if (harness === null) {
      return (engine === null || actsOnEngine(name)) && (!isDimensionAxis(name) || symbols.has(name));
    }
    const isFact = model.axes.has(name) && HARNESS_AXES.includes(name);
    return name.startsWith(ENV_AXIS) || symbols.has(name) || harness.parameters.has(name) || isFact;
  };
  const isAny = (name: string): boolean => name === 'precision' && engine !== null && harness === null;
  return new Map(
    [...axes].flatMap(([name, values]) =>
      isRelevant(name) ? [[name, isAny(name) ? values.slice(0, 1) : values] as const] : [],
    ),
  );
}

/** Sets of shapes of a model: those on the axis, else its own. */
export function templatesOf(model: MatrixModel, axes: Axes): ShapeSet[] {
  const sets = shapesOn(axes);
  if (sets.length > 0) return sets;
  return model.shapes ? [model.shapes] : [];
}

function shapesOn(axes: Axes): ShapeSet[] {
  return (axes.get('shapes') ?? []).flatMap(({ value }) => (typeof value === 'object' ? [value] : []));
}

function shapedPoints(model: MatrixModel, axes: Axes, list: MistakeList): ShapedPoint[] {
  if (model.shapes === undefined && !axes.has('shapes')) {
    const { at, problem } = model.unread ?? {
      at: list.keyAt(model.path),
      problem: `model "${model.name}" states no shapes: write shapes: {INPUT: [batch, 3, 224, 224]}, or shapes: static for a model without dynamic dimensions`,
    };
    list.addAt(at, problem);
    return [];
  }
  return product(axes).flatMap((point): ShapedPoint[] => {
    const chosen = point.get('shapes')?.value;
    const template = typeof chosen === 'object' ? chosen : (model.shapes ?? null);
    if (template === null) return [{ point, template: null, shapes: null, dimensions: {} }];
    const dimensions: Record<string, number> = {};
    for (const [name, { value }] of point) {
      if (isDimensionAxis(name) && typeof value === 'number') dimensions[name] = value;
    }
    const shapes = fillShapes(model, template, point, dimensions, list);
    return shapes === null ? [] : [{ point, template, shapes, dimensions }];
  });
}

const MAX_DIMENSION = 2 ** 31 - 1;

function fillShapes(
  model: MatrixModel,
  template: ShapeSet,
  point: Point,
  dimensions: Readonly<Record<string, number>>,
  list: MistakeList,
): Shapes | null {
  const shapes: Record<string, number[]> = {};
  for (const [input, dims] of Object.entries(template)) {
    const at = [...model.path, 'shapes', input];
    const filled = fillTemplate(dims, dimensions);
    const bad = filled?.find((value) => !Number.isInteger(value) || value < 1 || value > MAX_DIMENSION);
    const lacking = [...symbolsOf([dims])].filter((symbol) => dimensions[symbol] === undefined);
    for (const symbol of lacking) {
      const stated = point.get(symbol);
      if (stated !== undefined) list.addAt(stated.at, `${symbol}: ${printable(String(stated.value))} is not a number`);
      else list.add(at, `"${symbol}" has no values: add an axis, as in axes: {${symbol}: [1, 8]}`);
    }
    if (bad !== undefined) list.add(at, `${input}: a dimension cannot be ${bad}`);
    if (filled === null || bad !== undefined) return null;
    shapes[input] = filled;
  }
  return shapes;
}

/** Rejects unknown axes, which are neither a known word, nor a dimension of a model, nor an option of trtexec. */
function checkNames(places: readonly Place[], models: readonly MatrixModel[], list: MistakeList): void {
  const sets = [
    ...places.flatMap(({ axes }) => shapesOn(axes)),
    // Shapes that are not known yet may have the one dimension that a model file gives.
    ...models.map(({ shapes = { '': ['batch'] } }) => shapes ?? {}),
  ];
  const parameters = models.flatMap(({ harness }) => [...(harness?.parameters ?? [])]);
  const symbols = new Set([...symbolsOf(sets.flatMap((set) => Object.values(set))), ...parameters]);
  for (const { axes, path } of places) {
    for (const [name, [first]] of axes) {
      const isFlag = name.startsWith('-') && first !== undefined && typeof first.value !== 'object';
      const problem = isFlag ? flagProblem(name, first.value, 'axis') : null;
      if (problem !== null) list.addAtKey([...path, name], problem);
      if (!isDimensionAxis(name) || symbols.has(name)) continue;
      const hint = didYouMean(name, [...AXIS_NAMES, ...symbols]);
      list.addAtKey([...path, name], `axis "${name}" is neither known nor a dimension that any shapes name${hint}`);
    }
  }
}

/** Rejects an axis option that is also stated elsewhere, because the identity of the cell would be wrong. */
function checkTwice(places: readonly Place[], { build, models, run }: MatrixFile, list: MistakeList): void {
  const all: readonly (readonly [names: readonly string[], path: SourcePath])[] = [
    ...places.map(({ axes, path }) => [[...axes.keys()], path] as const),
    [Object.keys(build?.flags ?? {}), ['build', 'flags']],
    [Object.keys(run?.flags ?? {}), ['run', 'flags']],
    ...Object.entries(models).map(
      ([name, model]) => [Object.keys(model.build?.flags ?? {}), ['models', name, 'build', 'flags']] as const,
    ),
  ];
  for (const [name, axis] of Object.entries<NamedAxis>(NAMED_AXES)) {
    if (!places.some(({ axes }) => axes.has(name))) continue;
    for (const [names, path] of all) {
      for (const flag of axis.flags.filter((each) => each !== name && names.includes(each))) {
        list.addAtKey([...path, flag], `${flag} is the axis ${name} already: state one of the two`);
      }
    }
  }
}
