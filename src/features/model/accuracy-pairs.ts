import { resolve } from 'node:path';

import type { Precision, PrecisionRoute, Shapes } from '../../records/cell.ts';
import type { MatrixCell } from '../../matrix/matrix.ts';
import { plannedVariant } from '../../matrix/plan/make-plan.ts';
import type { VariantCache } from '../../variants/variant-cache.ts';
import { findMade } from '../../variants/variants.ts';

export interface AccuracyPair {
  readonly model: string;
  /** Null when unknown; nothing is stored then. */
  readonly precision: Precision | null;
  readonly precisionVia: PrecisionRoute;
  readonly referencePrecision: Precision | null;
  readonly reference: string;
  readonly variant: string;
  /** Sizes for open dimensions. */
  readonly shapes: Shapes;
}

export interface MatrixPairs {
  readonly pairs: readonly AccuracyPair[];
  /** Precisions without a file to compare. */
  readonly notes: readonly string[];
}

/** Returns the ONNX file of a cell's engine; null if there is none yet. */
type VariantFile = (entry: MatrixCell) => string | null;

/** Files of the matrix, and variants that `bench run` made with the options of the cell. */
export async function filesOfCells(cells: readonly MatrixCell[], cache: VariantCache): Promise<VariantFile> {
  const made = new Map<string, string | null>();
  for (const entry of cells) {
    const variant = plannedVariant(entry);
    if (variant === null || made.has(variant.variantRef)) continue;
    made.set(variant.variantRef, (await findMade(cache, variant))?.path ?? null);
  }
  return (entry) => {
    const variant = plannedVariant(entry);
    if (variant === null) return entry.build.source.kind === 'onnx' ? entry.build.source.onnx.value : null;
    return made.get(variant.variantRef) ?? null;
  };
}

const REFERENCES: readonly Precision[] = ['fp32', 'tf32', 'fp16'];

/** Pairs the variants of each model with its reference: the base model or its FP32 file, else its FP16 file. */
export function pairsOfMatrix(cells: readonly MatrixCell[], cwd: string, fileOf: VariantFile): MatrixPairs {
  const pairs = new Map<string, AccuracyPair>();
  const notes = new Set<string>();
  for (const [model, own] of Map.groupBy(cells, ({ cell }) => cell.model)) {
    const reference = referenceOf(own, fileOf);
    if (reference === null) {
      notes.add(`${model}: no ONNX file of fp32 or fp16 to compare with`);
      continue;
    }
    for (const entry of own) {
      const { precision, precisionVia, shapes } = entry.cell;
      if (precision === 'unstated' || precision === reference.precision) continue;
      const file = fileOf(entry);
      if (file === null || file === reference.path) {
        const why =
          entry.build.source.kind === 'converted'
            ? `not made yet with these options (${precisionVia}): \`bench run\` makes it`
            : `no ONNX file of its own (${precisionVia})`;
        notes.add(`${model} ${precision}: ${why}`);
        continue;
      }
      const key = JSON.stringify([model, precision, precisionVia, file]);
      if (pairs.has(key)) continue;
      pairs.set(key, {
        model,
        precision,
        precisionVia,
        referencePrecision: reference.precision,
        reference: resolve(cwd, reference.path),
        variant: resolve(cwd, file),
        shapes,
      });
    }
  }
  return { pairs: [...pairs.values()], notes: [...notes] };
}

function referenceOf(cells: readonly MatrixCell[], fileOf: VariantFile) {
  // Conversions start from the base model.
  const base = cells.find(({ build }) => build.source.kind === 'converted')?.build.source;
  for (const precision of REFERENCES) {
    const own = cells.filter(({ cell }) => cell.precision === precision).flatMap((entry) => fileOf(entry) ?? []);
    const path = own[0] ?? (precision === 'fp32' && base?.kind === 'converted' ? base.onnx.value : undefined);
    if (path !== undefined) return { precision, path };
  }
  return null;
}
