import { NAMED_AXES, type NamedAxis } from '../../records/axis.ts';
import type { MatrixModel } from '../models/models.ts';
import type { MistakeList, SourcePath } from '../yaml/source-node.ts';
import { AXIS_NAMES, type MatrixFile } from '../schema/schema.ts';
import { didYouMean } from '../../text/nearest.ts';
import { isDimensionAxis, isWord, readRange, shapeSet } from './axes.ts';
import { flagProblem } from './flags.ts';
import { symbolsOf } from './shapes.ts';

/** Every axis must be known: a word with a meaning, a dimension of some model, or a flag that trtexec has. */
export function checkNames(file: MatrixFile, models: readonly MatrixModel[], list: MistakeList): void {
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

type Stated = Readonly<Record<string, unknown>> | undefined;

/** A flag of an axis that is stated elsewhere as well: what the cell says of itself would not be what it is. */
function checkTwice(file: MatrixFile, models: readonly MatrixModel[], list: MistakeList): void {
  const own = models.map(({ name, path }) => ({ model: file.models[name], path }));
  const axes: readonly (readonly [Stated, SourcePath])[] = [
    [file.axes, ['axes']],
    ...own.map(({ model, path }) => [model?.axes, [...path, 'axes']] as const),
    ...(file.include ?? []).map((entry, index) => [entry, ['include', index]] as const),
  ];
  const flags: readonly (readonly [Stated, SourcePath])[] = [
    ...axes,
    [file.build?.flags, ['build', 'flags']],
    [file.run?.flags, ['run', 'flags']],
    ...own.map(({ model, path }) => [model?.build?.flags, [...path, 'build', 'flags']] as const),
  ];
  for (const [name, axis] of Object.entries<NamedAxis>(NAMED_AXES)) {
    if (!axes.some(([stated]) => stated !== undefined && name in stated)) continue;
    for (const [stated, path] of flags) {
      for (const flag of axis.flags) {
        if (stated !== undefined && flag in stated) {
          list.addAtKey([...path, flag], `${flag} is the axis ${name} already: state one of the two`);
        }
      }
    }
  }
}
