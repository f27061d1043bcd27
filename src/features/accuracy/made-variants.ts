import type { VariantCache } from '../../variants/variant-cache.ts';
import type { MatrixCell } from '../../matrix/matrix.ts';
import { findMade } from '../../variants/variants.ts';
import { plannedVariant } from '../../matrix/plan/make-plan.ts';
import { statedFile, type VariantFile } from './pairs.ts';

/** The files that a matrix names, and those that `bench run` made of its base models with the options of the cell. */
export async function filesOfCells(cells: readonly MatrixCell[], cache: VariantCache): Promise<VariantFile> {
  const made = new Map<string, string | null>();
  for (const entry of cells) {
    const variant = plannedVariant(entry);
    if (variant === null || made.has(variant.variantRef)) continue;
    made.set(variant.variantRef, (await findMade(cache, variant))?.path ?? null);
  }
  return (entry) => {
    const variant = plannedVariant(entry);
    return variant === null ? statedFile(entry) : (made.get(variant.variantRef) ?? null);
  };
}
