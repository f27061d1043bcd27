import type { ShapePlaces } from '../matrix.ts';
import type { MatrixModel } from '../models/models.ts';
import type { MistakeList } from '../yaml/mistake-list.ts';
import type { ShapedPoint } from './points.ts';
import type { SourcePath } from '../yaml/source-node.ts';

/** Where the shapes of a point were written: by the model or on the axis of whole sets. */
export function shapePlaces(model: MatrixModel, { template, point }: ShapedPoint, list: MistakeList): ShapePlaces {
  const axis = point.get('shapes');
  const path: SourcePath = [...model.path, 'shapes'];
  const inputs = Object.entries(template ?? {}).map(([input, dimensions]) => {
    const name = axis?.at ?? list.keyAt([...path, input]);
    const places = dimensions.map((dimension, place) => {
      const value = typeof dimension === 'string' ? point.get(dimension)?.at : undefined;
      return value ?? axis?.at ?? list.at([...path, input, place]);
    });
    return [input, { name, dimensions: places }] as const;
  });
  return { whole: axis?.at ?? list.at(path), inputs: Object.fromEntries(inputs) };
}
