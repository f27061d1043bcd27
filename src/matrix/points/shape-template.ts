import type { ShapeTemplate } from '../schema/schema.ts';

/** A dimension: a number, or the name of an axis. */
export type TemplateDimension = number | string;

/** `[batch, 3, 224, 224]`, `8x3x224x224` or a single number as a list of dimensions. */
export function readTemplate(template: ShapeTemplate): TemplateDimension[] {
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

/** The dimensions with every name replaced; null when a name has no value. */
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
