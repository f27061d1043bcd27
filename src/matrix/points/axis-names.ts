import { NAMED_AXES, type NamedAxis } from '../../records/axis.ts';
import type { MatrixModel } from '../models/models.ts';
import type { MistakeList, SourcePath } from '../yaml/source-node.ts';
import { AXIS_NAMES, type MatrixFile } from '../schema/schema.ts';
import { didYouMean } from '../../text/nearest.ts';
import { eachStated, isDimensionAxis, isWord, readRange } from './axes.ts';
import { flagProblem } from './flags.ts';
import { shapeSet, symbolsOf } from './shapes.ts';

type Stated = Readonly<Record<string, unknown>>;
type Place = readonly [Stated | undefined, SourcePath];

/** Rejects unknown axes: neither a known word, nor a dimension of a model, nor a trtexec flag. */
export function checkNames(file: MatrixFile, models: readonly MatrixModel[], list: MistakeList): void {
  const own = models.map(({ name, path }) => ({ model: file.models[name], path }));
  const places: readonly Place[] = [
    [file.axes, ['axes']],
    ...own.map(({ model, path }): Place => [model?.axes, [...path, 'axes']]),
    ...(file.include ?? []).map((entry, index): Place => {
      const axes = Object.entries(entry).filter(([name]) => name !== 'model');
      return [Object.fromEntries(axes), ['include', index]];
    }),
  ];
  const dimensions = new Set([
    ...places.flatMap(([axes]) => [...shapesAxisSymbols(axes ?? {})]),
    ...models.flatMap(({ shapes }) => [...symbolsOf(Object.values(shapes ?? {}))]),
  ]);
  const symbols = new Set([...dimensions, ...models.flatMap(({ harness }) => [...(harness?.parameters ?? [])])]);
  for (const [axes = {}, path] of places) {
    checkAxisNames(axes, path, symbols, list);
    for (const name of Object.keys(axes).filter((axis) => dimensions.has(axis))) {
      refuseWords(axes[name], [...path, name], list);
    }
  }
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

/** Words are for harness parameters; dimensions are numbers. */
function refuseWords(stated: unknown, path: SourcePath, list: MistakeList): void {
  for (const { value, at } of eachStated(stated, path)) {
    const range = typeof value === 'string' && isWord(value) ? readRange(value) : [];
    if (typeof range === 'string') list.add(at, `${String(path.at(-1))}: ${range}`);
  }
}

function shapesAxisSymbols(axes: Stated): Set<string> {
  const sets: readonly unknown[] = [axes['shapes'] ?? []].flat();
  return symbolsOf(sets.flatMap((set) => Object.values(shapeSet(set))));
}

function checkAxisNames(axes: Stated, path: SourcePath, symbols: ReadonlySet<string>, list: MistakeList): void {
  for (const [name, stated] of Object.entries(axes)) {
    if (name.startsWith('-')) {
      const first: unknown = Array.isArray(stated) ? stated[0] : stated;
      const plain = typeof first === 'number' || typeof first === 'boolean' ? first : String(first);
      const problem = flagProblem(name, plain, 'axis');
      if (problem !== null) list.addAtKey([...path, name], problem);
    } else if (isDimensionAxis(name) && !symbols.has(name)) {
      const allowed = [...AXIS_NAMES, ...symbols];
      list.addInstead(
        [...path, name],
        `axis "${name}" is neither known nor a dimension that any shapes name${didYouMean(name, allowed)}`,
      );
    }
  }
}

/** Rejects an axis flag that is stated elsewhere as well: the cell's identity would be wrong. */
function checkTwice(axes: readonly Place[], flags: readonly Place[], list: MistakeList): void {
  for (const [name, axis] of Object.entries<NamedAxis>(NAMED_AXES)) {
    if (!axes.some(([stated = {}]) => name in stated)) continue;
    for (const [stated = {}, path] of [...axes, ...flags]) {
      for (const flag of axis.flags.filter((each) => each in stated)) {
        list.addAtKey([...path, flag], `${flag} is the axis ${name} already: state one of the two`);
      }
    }
  }
}
