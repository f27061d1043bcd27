import { resolve } from 'node:path';

import type { Precision, PrecisionRoute, Shapes } from '../../records/cell.ts';
import type { MatrixCell } from '../../matrix/matrix.ts';
import { plannedVariant } from '../../matrix/plan/make-plan.ts';
import type { VariantCache } from '../../variants/variant-cache.ts';
import { findMade } from '../../variants/variants.ts';

/** Two ONNX files to compare. */
export interface AccuracyPair {
  readonly model: string;
  /** Null when nobody said it: then nothing is stored. */
  readonly precision: Precision | null;
  readonly precisionVia: PrecisionRoute;
  readonly referencePrecision: Precision | null;
  readonly reference: string;
  readonly variant: string;
  /** Of dimensions that the model leaves open. */
  readonly shapes: Shapes;
}

export interface MatrixPairs {
  readonly pairs: readonly AccuracyPair[];
  /** Precisions of which there is no file to compare. */
  readonly notes: readonly string[];
}

/** The ONNX file from which the engine of a cell is built; null where there is none, or not yet. */
type VariantFile = (entry: MatrixCell) => string | null;

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
    if (variant === null) return entry.build.source.kind === 'onnx' ? entry.build.source.onnx.value : null;
    return made.get(variant.variantRef) ?? null;
  };
}

const REFERENCES: readonly Precision[] = ['fp32', 'tf32', 'fp16'];

/** Each model's variants next to its reference: the base model or its FP32 file, without one that of FP16. */
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

function referenceOf(
  cells: readonly MatrixCell[],
  fileOf: VariantFile,
): { readonly precision: Precision; readonly path: string } | null {
  for (const precision of REFERENCES) {
    const path = cells
      .filter(({ cell }) => cell.precision === precision)
      .map(fileOf)
      .find((file) => file !== null);
    if (path !== undefined) return { precision, path };
    if (precision !== 'fp32') continue;
    // What is converted is converted from the base model.
    for (const { build } of cells) {
      if (build.source.kind === 'converted') return { precision, path: build.source.onnx.value };
    }
  }
  return null;
}
