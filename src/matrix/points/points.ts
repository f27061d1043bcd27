import { ENV_AXIS, type Shapes } from '../../records/cell.ts';
import { namedAxis } from '../../records/axis.ts';
import {
  type Axes,
  defaultAxes,
  isDimensionAxis,
  isWord,
  overlayAxes,
  type Point,
  product,
  productSize,
  readAxes,
  type ShapeSet,
  shapeSet,
} from './axes.ts';
import { actsInRun, flagProblem } from './flags.ts';
import type { MatrixModel } from '../models/models.ts';
import type { MistakeList } from '../yaml/mistake-list.ts';
import { AXIS_NAMES, type MatrixFile } from '../schema/schema.ts';
import { readRange } from './ranges.ts';
import { checkTwice } from '../yaml/stated-twice.ts';
import { fillTemplate, symbolsOf } from './shape-template.ts';
import type { SourcePath } from '../yaml/source-node.ts';
import { didYouMean } from '../../text/nearest.ts';

/** One point of the product, with its shapes filled in. */
export interface ShapedPoint {
  readonly point: Point;
  readonly template: ShapeSet | null;
  /** Null for a model whose shapes are static. */
  readonly shapes: Shapes | null;
  readonly dimensions: Readonly<Record<string, number>>;
}

export interface ModelPoints {
  readonly model: MatrixModel;
  /** The product of the axes, and one more for each `include` that is about this model. */
  readonly blocks: readonly Axes[];
  readonly points: readonly ShapedPoint[];
}

const MAX_POINTS = 20_000;

/** Crosses the axes of each model. */
export function pointsOf(file: MatrixFile, models: readonly MatrixModel[], list: MistakeList): ModelPoints[] {
  const shared = overlayAxes(defaultAxes(list), readAxes(file.axes, ['axes'], list));
  const includes = (file.include ?? []).map((entry, index) => {
    const { model, ...axes } = entry;
    const path: SourcePath = ['include', index];
    const named = model === undefined ? null : [model].flat();
    for (const name of named ?? []) {
      if (!models.some((known) => known.name === name)) {
        const names = models.map((known) => known.name);
        list.add([...path, 'model'], `no model "${name}"${didYouMean(name, names)}`);
      }
    }
    return { named, axes: readAxes(axes, path, list) };
  });
  checkNames(file, models, list);
  return models.map((model) => {
    const base = overlayAxes(shared, model.axes);
    const more = includes
      .filter(({ named }) => named === null || named.includes(model.name))
      .map(({ axes }) => overlayAxes(base, axes));
    const blocks = [base, ...more].map((axes) => relevantAxes(model, axes));
    const isSmall = blocks.reduce((sum, axes) => sum + productSize(axes), 0) <= MAX_POINTS;
    const points = isSmall ? blocks.flatMap((axes) => shapedPoints(model, axes, list)) : [];
    return { model, blocks, points };
  });
}

/** What a model of another harness may state of itself, whether or not its settings name it. */
const HARNESS_AXES = ['precision', 'cudaGraph', 'dataTransfers', 'shapes'];

/**
 * Leaves out what does not concern the model: dimensions that it has not, and of a given engine its precision and what
 * acts when an engine is built.
 */
function relevantAxes(model: MatrixModel, axes: Axes): Axes {
  const symbols = symbolsOf(templatesOf(model, axes).flatMap((set) => Object.values(set)));
  const { harness } = model;
  if (harness !== null) {
    return new Map(
      [...axes].filter(
        ([name]) =>
          name.startsWith(ENV_AXIS) ||
          symbols.has(name) ||
          harness.parameters.has(name) ||
          (model.axes.has(name) && HARNESS_AXES.includes(name)),
      ),
    );
  }
  return new Map(
    [...axes]
      .filter(([name]) => !isDimensionAxis(name) || symbols.has(name))
      .filter(([name]) => model.engine === null || !actsOnlyInBuild(name))
      .map(([name, values]) =>
        name === 'precision' && model.engine !== null ? [name, values.slice(0, 1)] : [name, values],
      ),
  );
}

/** True for a word whose flags do nothing to an engine that is built already. */
function actsOnlyInBuild(name: string): boolean {
  return namedAxis(name)?.flags.every((flag) => !actsInRun(flag)) ?? false;
}

/** The sets of shapes that a model may have: those of the axis, else its own. */
export function templatesOf(model: MatrixModel, axes: Axes): ShapeSet[] {
  const sets = (axes.get('shapes') ?? []).flatMap(({ value }) => (value.kind === 'shapes' ? [value.shapes] : []));
  if (sets.length > 0) return sets;
  return model.shapes ? [model.shapes] : [];
}

function shapedPoints(model: MatrixModel, axes: Axes, list: MistakeList): ShapedPoint[] {
  if (model.shapes === undefined && !axes.has('shapes')) {
    list.addAtKey(
      model.path,
      `model "${model.name}" states no shapes: write shapes: {INPUT: [batch, 3, 224, 224]}, or shapes: static for a model without dynamic dimensions`,
    );
    return [];
  }
  return [...product(axes)].flatMap((point): ShapedPoint[] => {
    const chosen = point.get('shapes')?.value;
    const template = chosen?.kind === 'shapes' ? chosen.shapes : (model.shapes ?? null);
    if (template === null) return [{ point, template: null, shapes: null, dimensions: {} }];
    const dimensions = dimensionsOf(point);
    const shapes = fillShapes(model, template, dimensions, list);
    return shapes === null ? [] : [{ point, template, shapes, dimensions }];
  });
}

function dimensionsOf(point: Point): Record<string, number> {
  const dimensions: Record<string, number> = {};
  for (const [name, { value }] of point) {
    if (isDimensionAxis(name) && value.kind === 'number') dimensions[name] = value.number;
  }
  return dimensions;
}

const MAX_DIMENSION = 2 ** 31 - 1;

function fillShapes(
  model: MatrixModel,
  template: ShapeSet,
  dimensions: Readonly<Record<string, number>>,
  list: MistakeList,
): Shapes | null {
  const shapes: Record<string, number[]> = {};
  for (const [input, dims] of Object.entries(template)) {
    if (input.includes(',') || input === '') {
      list.addAtKey(model.path, `input "${input}": trtexec cannot be told of a name with a comma in it`);
      return null;
    }
    const filled = fillTemplate(dims, dimensions);
    if (filled === null) {
      for (const symbol of symbolsOf([dims])) {
        if (dimensions[symbol] === undefined) {
          list.add(
            [...model.path, 'shapes', input],
            `"${symbol}" has no values: add an axis, as in axes: {${symbol}: [1, 8]}`,
          );
        }
      }
      return null;
    }
    const bad = filled.find((value) => value < 1 || value > MAX_DIMENSION);
    if (bad !== undefined) {
      list.add([...model.path, 'shapes', input], `${input}: a dimension cannot be ${bad}`);
      return null;
    }
    shapes[input] = filled;
  }
  return shapes;
}

/** Every axis must be known: a word with a meaning, a dimension of some model, or a flag that trtexec has. */
function checkNames(file: MatrixFile, models: readonly MatrixModel[], list: MistakeList): void {
  const places: [AxesLike, SourcePath][] = [
    [file.axes ?? {}, ['axes']],
    ...models.map((model): [AxesLike, SourcePath] => [file.models[model.name]?.axes ?? {}, [...model.path, 'axes']]),
    ...(file.include ?? []).map((entry, index): [AxesLike, SourcePath] => [
      Object.fromEntries(Object.entries(entry).filter(([name]) => name !== 'model')),
      ['include', index],
    ]),
  ];
  const dimensions = new Set<string>();
  for (const [axes] of places) {
    for (const symbol of shapesAxisSymbols(axes)) dimensions.add(symbol);
  }
  for (const { shapes } of models) {
    for (const symbol of symbolsOf(Object.values(shapes ?? {}))) dimensions.add(symbol);
  }
  const parameters = models.flatMap(({ harness }) => [...(harness?.parameters ?? [])]);
  const symbols = new Set([...dimensions, ...parameters]);
  for (const [axes, path] of places) {
    checkAxisNames(axes, path, symbols, list);
    for (const name of Object.keys(axes).filter((axis) => dimensions.has(axis))) {
      refuseWords(axes[name], [...path, name], list);
    }
  }
  checkTwice(file, models, list);
}

/** A parameter of a harness may be a word; a dimension is a number. */
function refuseWords(stated: unknown, path: SourcePath, list: MistakeList): void {
  const values: readonly unknown[] = Array.isArray(stated) ? stated : [stated];
  values.forEach((value, index) => {
    if (typeof value !== 'string' || !isWord(value)) return;
    const range = readRange(value);
    const at = Array.isArray(stated) ? [...path, index] : path;
    if (range.kind === 'faulty') list.add(at, `${String(path.at(-1))}: ${range.problem}`);
  });
}

type AxesLike = Readonly<Record<string, unknown>>;

function shapesAxisSymbols(axes: AxesLike): Set<string> {
  const sets: readonly unknown[] = [axes['shapes'] ?? []].flat();
  return symbolsOf(sets.flatMap((set) => Object.values(shapeSet(set))));
}

function checkAxisNames(axes: AxesLike, path: SourcePath, symbols: ReadonlySet<string>, list: MistakeList): void {
  for (const [name, stated] of Object.entries(axes)) {
    if (name.startsWith('-')) {
      const values: readonly unknown[] = Array.isArray(stated) ? stated : [stated];
      values.forEach((value, index) => {
        const plain = typeof value === 'number' || typeof value === 'boolean' ? value : String(value);
        const problem = flagProblem(name, plain, 'axis');
        if (problem !== null && index === 0) list.addAtKey([...path, name], problem);
      });
    } else if (isDimensionAxis(name) && !symbols.has(name)) {
      const allowed = [...AXIS_NAMES, ...symbols];
      list.addInstead(
        [...path, name],
        `axis "${name}" is neither known nor a dimension that any shapes name${didYouMean(name, allowed)}`,
      );
    }
  }
}
