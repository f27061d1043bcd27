import { hashModel } from '../../artefacts/model-hash.ts';
import type { VariantCache } from '../../artefacts/variant-cache.ts';
import type { MatrixCell } from '../../domain/matrix.ts';
import { statedFile, type VariantFile } from './pairs.ts';

/**
 * The files that a matrix names, and those that `bench run` made of its base models: of several the newest, as a matrix
 * says only with which options one is made, and not which of them was.
 */
export async function filesOfCells(
  cells: readonly MatrixCell[],
  cache: VariantCache,
): Promise<VariantFile> {
  const made = await cache.list();
  const bases = new Map<string, string | null>();
  for (const { build } of cells) {
    if (build.source.kind !== 'converted' || bases.has(build.source.onnx.value)) continue;
    const path = build.source.onnx.value;
    bases.set(path, await hashModel(path).catch(() => null));
  }
  return (entry) => {
    const { source } = entry.build;
    if (source.kind !== 'converted') return statedFile(entry);
    const base = bases.get(source.onnx.value) ?? null;
    const variant = made.find(
      ({ record }) =>
        record.baseSha256 === base &&
        record.by === source.by &&
        record.precision === entry.cell.precision,
    );
    return variant?.path ?? null;
  };
}
