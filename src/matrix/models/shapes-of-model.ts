import { type OnnxTensorInfo, shapeText } from '../../tools/onnx/facts.ts';
import { printable } from '../../text/printable.ts';
import type { ShapeSet } from '../points/shapes.ts';

/** The inputs of an ONNX file; null where it cannot be read. */
export type ReadInputs = (path: string) => readonly OnnxTensorInfo[] | null;

/**
 * Shapes of a model that states none: `batch` for a first dimension, where no other one is dynamic. Null for a model
 * without dynamic dimensions, undefined where the shapes have to be stated.
 */
export function shapesOfModel(inputs: ReturnType<ReadInputs>): ShapeSet | null | undefined {
  if (inputs === null) return undefined;
  const dynamic = inputs.filter(isDynamic);
  if (dynamic.length === 0) return null;
  const shapes = dynamic.map(({ name, shape }) => {
    const rest = (shape ?? [null]).slice(1).filter((size) => typeof size === 'number');
    return rest.length + 1 === shape?.length ? ([name, ['batch', ...rest]] as const) : null;
  });
  return shapes.includes(null) ? undefined : Object.fromEntries(shapes.filter((each) => each !== null));
}

/** How the shapes of a model are stated: those of an image only where nothing is known of its inputs. */
export function shapesExample(inputs: ReturnType<ReadInputs>): string {
  const dynamic = inputs?.filter(isDynamic) ?? [];
  const stated = dynamic.map(({ name, shape }) => {
    const named = shape?.map((size, place) => size ?? (place === 0 ? 'batch' : `dim${place}`)) ?? null;
    return printable(`${name}: ${shapeText(named)}`);
  });
  return `{${stated.join(', ') || 'INPUT: [batch, 3, 224, 224]'}}`;
}

export function isDynamic({ shape }: OnnxTensorInfo): boolean {
  return shape === null || shape.some((size) => typeof size !== 'number');
}
