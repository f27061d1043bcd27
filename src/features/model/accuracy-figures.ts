import type { Accuracy, CustomMetric } from '../../records/accuracy.ts';

type Figures = Omit<Accuracy, 'samples' | 'custom'>;

/**
 * Differences of an output from its reference; the first dimension counts samples. Same figures as
 * `python/compare_outputs.py`.
 * @param dimensions of both; null when only the reference is all zeros: there is no signal
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

function largest(values: readonly number[]): number {
  let best = 0;
  for (const [place, value] of values.entries()) if (value > (values[best] ?? value)) best = place;
  return best;
}

/** For several outputs: the worst of each figure. */
export function worstOutput(
  outputs: readonly Figures[],
  samples: number,
  custom: CustomMetric | null,
): Accuracy | null {
  if (outputs.length === 0) return null;
  const ratios = outputs.flatMap(({ sqnrDb }) => sqnrDb ?? []);
  const agreements = outputs.flatMap(({ top1 }) => top1 ?? []).toSorted((a, b) => a.same / a.of - b.same / b.of);
  return {
    sqnrDb: ratios.length === 0 ? null : Math.min(...ratios),
    relativeError: Math.max(...outputs.map(({ relativeError }) => relativeError)),
    cosineMin: Math.min(...outputs.map(({ cosineMin }) => cosineMin)),
    cosineMean: Math.min(...outputs.map(({ cosineMean }) => cosineMean)),
    maxAbsError: Math.max(...outputs.map(({ maxAbsError }) => maxAbsError)),
    top1: agreements[0] ?? null,
    samples,
    custom,
  };
}
