import { readFileSync } from 'node:fs';

import { sha256OfFile } from '../../artefacts/files.ts';
import { UsageError } from '../../errors.ts';
import type { Accuracy } from '../../records/accuracy.ts';
import { printable } from '../../text/printable.ts';
import { ExportFormatError } from '../../trtexec/exports/file-format-error.ts';
import { type ExportedOutput, readExportedOutputs } from '../../trtexec/exports/outputs.ts';
import type { Compared } from './compare-pair.ts';
import type { AccuracyPair } from './pairs.ts';
import { worstOutput } from './worst-output.ts';

/**
 * Compares what two engines wrote with `--exportOutput`: the engine's own kernels, on whatever inputs they were given.
 * @throws UsageError for files that are no such outputs, or not of the same ones
 */
export async function compareExports(pair: AccuracyPair): Promise<Compared> {
  const [reference, variant] = [readOutputs(pair.reference), readOutputs(pair.variant)];
  if (shapesOf(reference) !== shapesOf(variant)) {
    throw new UsageError(printable(`the outputs of the two differ: ${shapesOf(reference)} and ${shapesOf(variant)}`));
  }
  const figures = reference.map(({ name, dimensions, values }) => {
    const other = variant.find((output) => output.name === name)?.values ?? [];
    const found = compareValues(values, other, dimensions);
    if (found !== null) return found;
    throw new UsageError(printable(`output ${name} of the reference is zero everywhere: there is no signal`));
  });
  const accuracy = worstOutput(figures, reference[0]?.dimensions[0] ?? 1, null);
  if (accuracy === null) throw new UsageError(`${printable(pair.reference)}: no outputs in it`);
  return {
    kind: 'compared',
    pair,
    referenceSha256: (await sha256OfFile(pair.reference)).sha256,
    variantSha256: (await sha256OfFile(pair.variant)).sha256,
    inputs: { kind: 'exported' },
    accuracy,
    versions: {},
  };
}

/** Names and dimensions, to be told and to be compared. */
function shapesOf(outputs: readonly ExportedOutput[]): string {
  return outputs
    .map(({ name, dimensions }) => `${name} ${dimensions.join('x')}`)
    .toSorted()
    .join(', ');
}

function readOutputs(path: string): ExportedOutput[] {
  try {
    return readExportedOutputs(readFileSync(path, 'utf8'));
  } catch (error) {
    if (!(error instanceof ExportFormatError)) throw error;
    throw new UsageError(`${printable(path)}: ${printable(error.message)}`, { cause: error });
  }
}

type Figures = Omit<Accuracy, 'samples' | 'custom'>;

/**
 * How far the values of an output are from those of the reference; the first dimension counts samples. The same figures
 * as `python/compare_outputs.py`.
 * @param dimensions of both; null when the reference is zero everywhere and the other is not: there is no signal then
 */
export function compareValues(
  reference: readonly number[],
  variant: readonly number[],
  dimensions: readonly number[],
): Figures | null {
  const [samples = 1] = dimensions;
  const size = reference.length / Math.max(1, samples);
  let signal = 0;
  let noise = 0;
  let maxAbsError = 0;
  for (const [place, value] of reference.entries()) {
    const error = (variant[place] ?? 0) - value;
    signal += value * value;
    noise += error * error;
    maxAbsError = Math.max(maxAbsError, Math.abs(error));
  }
  if (signal === 0 && noise > 0) return null;
  const rows = Array.from({ length: samples }, (_, row) => ({
    a: reference.slice(row * size, (row + 1) * size),
    b: variant.slice(row * size, (row + 1) * size),
  }));
  const cosines = rows.map(({ a, b }) => cosine(a, b));
  const hasClasses = dimensions.length === 2 && size > 1;
  return {
    sqnrDb: noise === 0 ? null : 10 * Math.log10(signal / noise),
    relativeError: signal === 0 ? 0 : Math.sqrt(noise / signal),
    cosineMin: cosines.reduce((least, value) => Math.min(least, value), 1),
    cosineMean: cosines.reduce((sum, value) => sum + value, 0) / Math.max(1, cosines.length),
    maxAbsError,
    top1: hasClasses ? { same: rows.filter(({ a, b }) => largest(a) === largest(b)).length, of: rows.length } : null,
  };
}

function cosine(a: readonly number[], b: readonly number[]): number {
  let [product, sizeA, sizeB] = [0, 0, 0];
  for (const [place, x] of a.entries()) {
    const y = b[place] ?? 0;
    product += x * y;
    sizeA += x * x;
    sizeB += y * y;
  }
  const size = Math.sqrt(sizeA) * Math.sqrt(sizeB);
  return size === 0 ? Number(sizeA === sizeB) : product / size;
}

/** Place of the first largest value. */
function largest(values: readonly number[]): number {
  let best = 0;
  for (const [place, value] of values.entries()) if (value > (values[best] ?? value)) best = place;
  return best;
}
