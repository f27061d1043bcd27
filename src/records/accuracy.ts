import * as z from 'zod';

import { canonicalJson } from '../text/canonical-json.ts';
import { type Precision, type PrecisionRoute, shapesSchema } from './cell.ts';
import { type Immutable, type SweepId, count, sha256Schema } from './scalars.ts';
import type { Provenance } from './sweep.ts';

/** Output error of a variant against its reference, on the same inputs; the worst of several outputs. */
export const accuracySchema = z.strictObject({
  sqnrDb: z.number().nullable().describe('SQNR of the worst output; null if no value differs'),
  relativeError: z.number().describe('Square root of noise power divided by signal power'),
  cosineMin: z.number().describe('Cosine similarity of the worst sample'),
  cosineMean: z.number(),
  maxAbsError: z.number(),
  top1: z.strictObject({ same: count, of: count }).nullable().describe('Samples with the same largest value'),
  samples: count,
  custom: z
    .strictObject({ name: z.string(), variant: z.number(), reference: z.number() })
    .nullable()
    .describe("Result of the user's metric command"),
});

export type Accuracy = Immutable<z.infer<typeof accuracySchema>>;

export type CustomMetric = NonNullable<Accuracy['custom']>;

export const INPUT_DISTRIBUTIONS = ['normal', 'uniform'] as const;

/** The inputs for both models. Accuracies on different inputs are not comparable. */
export const accuracyInputsSchema = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('random'),
    seed: count,
    distribution: z.enum(INPUT_DISTRIBUTIONS),
    /** Sizes for open dimensions. */
    shapes: shapesSchema,
  }),
  z.strictObject({ kind: z.literal('file'), sha256: sha256Schema }),
  /** Unknown inputs of the engines that exported their outputs. */
  z.strictObject({ kind: z.literal('exported') }),
]);

export type AccuracyInputs = Immutable<z.infer<typeof accuracyInputsSchema>>;

/** A stored comparison. It applies to every engine built from the file of the variant. */
export interface AccuracyRecord {
  readonly accuracyId: string;
  /** The newest sweep of the matrix at the time of the comparison; null without one. */
  readonly sweepId: SweepId | null;
  readonly model: string;
  readonly precision: Precision;
  readonly precisionVia: PrecisionRoute;
  /** SHA-256 including external data. */
  readonly referenceSha256: string;
  readonly variantSha256: string;
  readonly inputs: AccuracyInputs;
  readonly accuracy: Accuracy;
  /** Versions of Python, numpy and onnxruntime. */
  readonly versions: Readonly<Record<string, string>>;
  readonly provenance: Provenance;
  readonly measuredAt: string;
}

/** Tolerance in dB. A larger drop of the SQNR is a regression, because there is no noise. */
export const MAX_DROP_DB = 1;

export type AccuracyDrop = NonNullable<ReturnType<typeof accuracyDrop>>;

/**
 * The drop in accuracy in dB; negative when it improved. The same model on the same inputs gives the same outputs, so
 * there is no noise, only a limit.
 */
export function accuracyDrop(now: Pick<AccuracyRecord, 'accuracy'>, before: AccuracyRecord | null, maxDropDb: number) {
  if (before === null) return null;
  // The ratio of identical outputs is infinite.
  const [was, is] = [before.accuracy.sqnrDb ?? Infinity, now.accuracy.sqnrDb ?? Infinity];
  const dropDb = was === is ? 0 : was - is;
  return { before, dropDb, isRegression: dropDb > maxDropDb };
}

type Comparable = Pick<AccuracyRecord, 'model' | 'precision' | 'inputs' | 'accuracy'>;

/** Same model, precision and inputs: comparable over time. */
export function sameAccuracyHistory(a: Comparable, b: Comparable): boolean {
  return identity(a) === identity(b);
}

function identity({ model, precision, inputs, accuracy }: Comparable): string {
  return canonicalJson({ model, precision, inputs, samples: accuracy.samples });
}
