import { copyFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { hashModel } from '../../src/files/hashes.ts';
import { readOnnxFacts } from '../../src/tools/onnx/onnx-file.ts';
import { VariantCache } from '../../src/variants/variant-cache.ts';
import { filesOfCells } from '../../src/features/model/compare-pair.ts';
import type { MatrixCell } from '../../src/matrix/matrix.ts';
import { problemOf } from '../../src/records/conversion.ts';
import { variantKey } from '../../src/variants/variants.ts';
import { calibrationInputs } from '../../src/tools/modelopt/check-base.ts';
import { VARIANT_FILE } from '../../src/tools/modelopt/conversion-args.ts';
import { plannedVariant } from '../../src/matrix/plan/make-plan.ts';
import { ROOT, temporaryFolder } from '../support/bench.ts';
import { matrixFrom } from '../support/matrices.ts';

const MODEL = join(ROOT, 'test', 'fixtures', 'onnx', 'mlp_tiny.onnx');
const PACKAGES = { 'nvidia-modelopt': '0.33.0' };

/** The one cell of a matrix whose FP8 variant is made with these options. */
function cellWith(options: string): MatrixCell {
  const matrix = matrixFrom(
    [
      'models:',
      `  mlp: {onnx: ${MODEL}, shapes: {input: [batch, 64]}, precisions: {fp8: {via: modelopt, ${options}}}}`,
      'axes: {precision: fp8, batch: 1}',
    ].join('\n'),
  );
  const [cell] = matrix.cells;
  if (cell === undefined) throw new Error('no cell');
  return cell;
}

/** Lays a variant of the cell into the cache, as `bench run` would have made it. */
async function make(cache: VariantCache, cell: MatrixCell): Promise<string> {
  const variant = plannedVariant(cell);
  if (variant === null) throw new Error('the model is given');
  const inputs = calibrationInputs(await readOnnxFacts(MODEL), variant, MODEL);
  if ('evidence' in inputs) throw new Error(problemOf(inputs));
  const baseSha256 = await hashModel(MODEL);
  const key = variantKey(PACKAGES, variant, { sha256: baseSha256, inputs, dataSha256: null });
  const work = await cache.workFolder(key);
  copyFileSync(MODEL, join(work, VARIANT_FILE));
  const { path } = await cache.adopt(key, work, [VARIANT_FILE], {
    by: variant.by,
    precision: variant.precision,
    sha256: baseSha256,
    baseSha256,
    converted: { nodes: 1, of: null },
    calibration: null,
    packages: PACKAGES,
    python: '3.12.0',
  });
  return path;
}

test('the file of a cell is the variant that was made with its options, not the newest', async () => {
  const cache = new VariantCache(join(temporaryFolder(), 'variants'));
  const one = cellWith('calibration: {seed: 1}');
  const two = cellWith('calibration: {seed: 2}');
  const three = cellWith('exclude: [head]');
  const paths = [await make(cache, one), await make(cache, two)];
  expect([one, two, three].map(await filesOfCells([one, two, three], cache))).toEqual([...paths, null]);
});
