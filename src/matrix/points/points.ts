import { NAMED_AXES, namedAxis, type NamedAxis, NEIGHBOR } from '../../records/axis.ts';
import { ENV_AXIS, type Shapes } from '../../records/cell.ts';
import { didYouMean } from '../../text/nearest.ts';
import type { MatrixModel } from '../models/models.ts';
import { AXIS_NAMES, type MatrixFile } from '../schema/schema.ts';
import type { MistakeList, SourcePath } from '../yaml/source-node.ts';
import { type Axes, defaultAxes, isDimensionAxis, product, productSize, readAxes, type ShapedPoint } from './axes.ts';
import { actsInRun, flagProblem } from './flags.ts';
import { fillTemplate, shapeSet, type ShapeSet, symbolsOf } from './shapes.ts';

export interface ModelPoints {
  readonly model: MatrixModel;
  /** The product of the axes, and one more for each `include` that applies to this model. */
  readonly blocks: readonly Axes[];
  readonly points: readonly ShapedPoint[];
}

/** A file with more cells is a mistake. */
const MAX_CELLS = 20_000;

export function pointsOf(file: MatrixFile, models: readonly MatrixModel[], list: MistakeList): ModelPoints[] {
  const shared = new Map([...defaultAxes(list), ...readAxes(file.axes, ['axes'], list)]);
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
  checkNeighbors([shared, ...models.map(({ axes }) => axes), ...includes.map(({ axes }) => axes)], models, list);
  const blocksOf = (model: MatrixModel): Axes[] => {
    const base = new Map([...shared, ...model.axes]);
    const more = includes
      .filter(({ named }) => named === null || named.includes(model.name))
      .map(({ axes }) => new Map([...base, ...axes]));
    return [base, ...more].map((axes) => relevantAxes(model, axes));
  };
  const all = models.map((model) => ({ model, blocks: blocksOf(model) }));
  const size = all.flatMap(({ blocks }) => blocks).reduce((sum, axes) => sum + productSize(axes), 0);
  if (size > MAX_CELLS) list.add(['axes'], `${size} cells: the limit is ${MAX_CELLS}`);
  return all.map(({ model, blocks }) => ({
    model,
    blocks,
    points: size > MAX_CELLS ? [] : blocks.flatMap((axes) => shapedPoints(model, axes, list)),
  }));
}

function checkNeighbors(all: readonly Axes[], models: readonly MatrixModel[], list: MistakeList): void {
  const ours = models.filter(({ harness }) => harness === null).map(({ name }) => name);
  for (const { at, value } of all.flatMap((axes) => axes.get(NEIGHBOR) ?? [])) {
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

/**
 * Drops axes that do not apply to the model: foreign dimensions, and for a given engine its precision and build
 * options.
 */
function relevantAxes(model: MatrixModel, axes: Axes): Axes {
  const symbols = symbolsOf(templatesOf(model, axes).flatMap((set) => Object.values(set)));
  const { engine, harness } = model;
  const isRelevant = (name: string): boolean => {
    if (harness === null) {
      // Some options have no effect on a built engine.
      const acts = engine === null || namedAxis(name)?.flags.some(actsInRun) !== false;
      return acts && (!isDimensionAxis(name) || symbols.has(name));
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
  const sets = (axes.get('shapes') ?? []).flatMap(({ value }) => (typeof value === 'object' ? [value] : []));
  if (sets.length > 0) return sets;
  return model.shapes ? [model.shapes] : [];
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
    const shapes = fillShapes(model, template, dimensions, list);
    return shapes === null ? [] : [{ point, template, shapes, dimensions }];
  });
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
    const at = [...model.path, 'shapes', input];
    const filled = fillTemplate(dims, dimensions);
    const bad = filled?.find((value) => value < 1 || value > MAX_DIMENSION);
    const lacking = [...symbolsOf([dims])].filter((symbol) => dimensions[symbol] === undefined);
    if (input.includes(',') || input === '') {
      list.addAtKey(model.path, `input "${input}": trtexec does not support a name with a comma in it`);
      return null;
    }
    for (const symbol of lacking) {
      list.add(at, `"${symbol}" has no values: add an axis, as in axes: {${symbol}: [1, 8]}`);
    }
    if (bad !== undefined) list.add(at, `${input}: a dimension cannot be ${bad}`);
    if (filled === null || bad !== undefined) return null;
    shapes[input] = filled;
  }
  return shapes;
}

type Stated = Readonly<Record<string, unknown>>;
type Place = readonly [Stated | undefined, SourcePath];

/** Rejects unknown axes, which are neither a known word, nor a dimension of a model, nor an option of trtexec. */
function checkNames(file: MatrixFile, models: readonly MatrixModel[], list: MistakeList): void {
  const own = models.map(({ name, path }) => ({ model: file.models[name], path }));
  const places: readonly Place[] = [
    [file.axes, ['axes']],
    ...own.map(({ model, path }): Place => [model?.axes, [...path, 'axes']]),
    ...(file.include ?? []).map(({ model: _model, ...axes }, index): Place => [axes, ['include', index]]),
  ];
  const symbols = new Set([
    ...places.flatMap(([axes]) => [...shapesAxisSymbols(axes ?? {})]),
    // Shapes that are not known yet may have the one dimension that a model file gives.
    ...models.flatMap(({ shapes = { '': ['batch'] } }) => [...symbolsOf(Object.values(shapes ?? {}))]),
    ...models.flatMap(({ harness }) => [...(harness?.parameters ?? [])]),
  ]);
  for (const [axes = {}, path] of places) checkAxisNames(axes, path, symbols, list);
  checkTwice(
    places,
    [
      [file.build?.flags, ['build', 'flags']],
      [file.run?.flags, ['run', 'flags']],
      ...own.map(({ model, path }): Place => [model?.build?.flags, [...path, 'build', 'flags']]),
    ],
    list,
  );
}

function shapesAxisSymbols(axes: Stated): Set<string> {
  const sets: readonly unknown[] = [axes['shapes'] ?? []].flat();
  return symbolsOf(sets.flatMap((set) => Object.values(shapeSet(set))));
}

function checkAxisNames(axes: Stated, path: SourcePath, symbols: ReadonlySet<string>, list: MistakeList): void {
  for (const [name, stated] of Object.entries(axes)) {
    if (name.startsWith('-')) {
      const [first]: unknown[] = [stated].flat();
      const plain = typeof first === 'number' || typeof first === 'boolean' ? first : String(first);
      const problem = flagProblem(name, plain, 'axis');
      if (problem !== null) list.addAtKey([...path, name], problem);
    } else if (isDimensionAxis(name) && !symbols.has(name)) {
      const allowed = [...AXIS_NAMES, ...symbols];
      list.addAtKey(
        [...path, name],
        `axis "${name}" is neither known nor a dimension that any shapes name${didYouMean(name, allowed)}`,
      );
    }
  }
}

/** Rejects an axis option that is also stated elsewhere, because the identity of the cell would be wrong. */
function checkTwice(axes: readonly Place[], flags: readonly Place[], list: MistakeList): void {
  for (const [name, axis] of Object.entries<NamedAxis>(NAMED_AXES)) {
    if (!axes.some(([stated = {}]) => name in stated)) continue;
    for (const [stated = {}, path] of [...axes, ...flags]) {
      for (const flag of axis.flags.filter((each) => each !== name && each in stated)) {
        list.addAtKey([...path, flag], `${flag} is the axis ${name} already: state one of the two`);
      }
    }
  }
}
