import type { Accuracy, CustomMetric } from '../../records/accuracy.ts';

type ComparedOutput = Omit<Accuracy, 'samples' | 'custom'>;

/** One accuracy for several outputs: in each figure that of the worst. */
export function worstOutput(
  outputs: readonly ComparedOutput[],
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
