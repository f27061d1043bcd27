import { NAMED_AXES, type NamedAxis } from '../../records/axis.ts';
import type { MatrixModel } from '../models/models.ts';
import type { MistakeList } from './mistake-list.ts';
import type { MatrixFile } from '../schema/schema.ts';
import type { SourcePath } from './source-node.ts';

type Stated = Readonly<Record<string, unknown>> | undefined;

/** A flag of an axis that is stated elsewhere as well: what the cell says of itself would not be what it is. */
export function checkTwice(file: MatrixFile, models: readonly MatrixModel[], list: MistakeList): void {
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
