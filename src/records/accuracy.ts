import * as z from 'zod';

import type { Precision, PrecisionRoute } from './precision.ts';
import type { Provenance } from './provenance.ts';
import { shapesSchema } from './cell.ts';
import type { Immutable } from './scalars.ts';

/** How far the outputs of a variant are from those of its reference, on the same inputs. Of several outputs the worst. */
export interface Accuracy {
  /** Signal to quantization noise ratio over all values, in dB; null when no value differs. */
  readonly sqnrDb: number | null;
  /** Root of the noise's power over that of the signal: 0.1 is an SQNR of 20 dB. */
  readonly relativeError: number;
  /** Of the worst sample. */
  readonly cosineMin: number;
  readonly cosineMean: number;
  readonly maxAbsError: number;
  /** Samples with the same largest value, of how many; null where no output is a list of classes. */
  readonly top1: { readonly same: number; readonly of: number } | null;
  readonly samples: number;
  /** The user's own number, of the variant and of the reference, and the command that printed it. */
  readonly custom: CustomMetric | null;
}

export interface CustomMetric {
  readonly name: string;
  readonly variant: number;
  readonly reference: number;
}

export const INPUT_DISTRIBUTIONS = ['normal', 'uniform'] as const;

export type InputDistribution = (typeof INPUT_DISTRIBUTIONS)[number];

/** What both models were given. Accuracies on other inputs do not compare. */
export const accuracyInputsSchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('random'),
    seed: z.number(),
    distribution: z.enum(INPUT_DISTRIBUTIONS),
    /** Of dimensions that the model leaves open. */
    shapes: shapesSchema,
  }),
  z.object({ kind: z.literal('file'), sha256: z.string() }),
  /** Whatever the engines were given whose outputs were exported. */
  z.object({ kind: z.literal('exported') }),
]);

export type AccuracyInputs = Immutable<z.infer<typeof accuracyInputsSchema>>;

/** A comparison as it is kept. What it says holds for every engine that is built from the variant's file. */
export interface AccuracyRecord {
  readonly accuracyId: string;
  /** The newest sweep of the matrix when it was compared; null without one. */
  readonly sweepId: string | null;
  readonly model: string;
  readonly precision: Precision;
  readonly precisionVia: PrecisionRoute;
  /** Each with its external data. */
  readonly referenceSha256: string;
  readonly variantSha256: string;
  readonly inputs: AccuracyInputs;
  readonly accuracy: Accuracy;
  /** Of Python, numpy and onnxruntime. */
  readonly versions: Readonly<Record<string, string>>;
  readonly provenance: Provenance;
  /** UTC in ISO 8601. */
  readonly measuredAt: string;
}

/** A larger fall of the SQNR is a regression. There is no noise in it: this is what is accepted, in dB. */
export const MAX_DROP_DB = 1;
