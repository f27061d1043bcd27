import * as z from 'zod';
import { type Evidence, evidenceSchema, FAILURE_REASONS, type FailureReason } from './outcome.ts';
import { type Precision, PRECISIONS, type Shapes } from './cell.ts';
import { allOptional, type Immutable } from './scalars.ts';

export const CONVERTERS = ['autocast', 'modelopt'] as const;

export type Converter = (typeof CONVERTERS)[number];

export const CONVERTED_PRECISIONS = {
  autocast: ['fp16', 'bf16'],
  modelopt: ['fp8', 'int8', 'int4'],
} as const satisfies Readonly<Record<Converter, readonly Precision[]>>;

export const CALIBRATION_METHODS = ['max', 'entropy', 'awq_clip', 'rtn_dq'] as const;

type CalibrationMethod = (typeof CALIBRATION_METHODS)[number];

/** ModelOpt silently treats a method that does not fit the precision as `max`. */
export const METHODS_BY_PRECISION: Readonly<Record<string, readonly CalibrationMethod[]>> = {
  fp8: ['max', 'entropy'],
  int8: ['max', 'entropy'],
  int4: ['awq_clip', 'rtn_dq'],
};

export const HIGH_PRECISIONS = ['fp32', 'fp16', 'bf16'] as const;

/** argparse reads a name with a leading dash as an option. */
const name = z.string().regex(/^[^-\s]\S*$/);
const names = z.array(name).min(1);

const calibrationSchema = allOptional({
  data: z.string().min(1).describe('An npz with one array for each input. Default: seeded random data'),
  method: z.enum(CALIBRATION_METHODS).describe('entropy or max for fp8 and int8, awq_clip or rtn_dq for int4'),
  shapes: z
    .record(z.string(), z.union([z.array(z.number().int().min(1)), z.string()]))
    .describe('Shape of one calibration step, by input. Default: the shape of build.opt'),
  samples: z.number().int().min(1).max(100_000).describe('Minimum number of random samples. Default: 8'),
  seed: z.number().int().min(0).describe('Seed of the random data. Default: 1'),
}).describe('The data from which ModelOpt takes the ranges of activations');

const via = z.enum(CONVERTERS).describe('autocast makes fp16 and bf16, modelopt makes fp8, int8 and int4');

export const conversionSchema = allOptional({
  via,
  highPrecision: z.enum(HIGH_PRECISIONS).describe('Type of the parts that are not quantized. Default: fp16'),
  exclude: names.describe('Nodes to leave as they are, by regular expression'),
  excludeOpTypes: names.describe('Operators to leave as they are'),
  opTypes: names.describe('Quantize only these operators'),
  calibration: calibrationSchema,
  opset: z.number().int().min(13).max(30).describe('Opset of the variant'),
  dqOnly: z.boolean().describe('Store weights in the low precision itself'),
  quantizeAttention: z.boolean().describe('Also quantize the MatMuls of attention. Default: true'),
  keepIoTypes: z.boolean().describe('Inputs and outputs keep their types. Default: true'),
  timeoutS: z.number().min(1).describe('Time limit of the conversion. Default: 3600'),
})
  .extend({ via })
  .describe('A variant made from the base model by ModelOpt');

/** How a variant is made; what is not stated is left to the program. */
export type Conversion = Immutable<z.infer<typeof conversionSchema>>;

/** Shapes of one calibration step, by input. Other inputs have the shape that the engine is tuned for. */
export function calibrationShapes({ calibration: { shapes = {} } = {} }: Conversion): Shapes {
  return Object.fromEntries(
    Object.entries(shapes).map(([input, shape]) => [
      input,
      typeof shape === 'string' ? shape.split('x').map(Number) : shape,
    ]),
  );
}

export const variantRecord = z.object({
  by: z.enum(CONVERTERS),
  precision: z.enum(PRECISIONS),
  sha256: z.string().describe('Hash of the variant with its external data'),
  baseSha256: z.string(),
  /** Number of nodes with the new precision, as the program reported. */
  converted: z.object({ nodes: z.number().int(), of: z.number().int().nullable() }),
  /** Null without calibration. */
  calibration: z
    .discriminatedUnion('kind', [
      z.object({ kind: z.literal('random'), seed: z.number(), sha256: z.string() }),
      z.object({ kind: z.literal('file'), sha256: z.string() }),
    ])
    .nullable(),
  packages: z.record(z.string(), z.string()),
  python: z.string(),
});

export type VariantRecord = Readonly<z.infer<typeof variantRecord>>;
export type ConvertedNodes = VariantRecord['converted'];
export type CalibrationUsed = NonNullable<VariantRecord['calibration']>;

export function convertedWords(by: Converter, { nodes, of }: ConvertedNodes): string {
  return by === 'autocast'
    ? `${nodes} of ${of ?? '?'} nodes converted`
    : `${nodes} quantized node${nodes === 1 ? '' : 's'}`;
}

export function variantNotes(variant: VariantRecord): string[] {
  const { by, precision, converted, calibration, packages, sha256 } = variant;
  const tool = by === 'autocast' ? 'AutoCast' : 'ModelOpt';
  const nodes = convertedWords(by, converted);
  const version = packages['nvidia-modelopt'] ?? 'of unknown version';
  return [
    `${precision} by ${tool} ${version}: ${nodes}, variant ${sha256.slice(0, 12)}`,
    // AutoCast only looks for values that are too large, so its data hardly matters.
    ...(calibration === null || by === 'autocast'
      ? []
      : calibration.kind === 'random'
        ? ['calibrated on random data: speed only']
        : [`calibrated on data ${calibration.sha256.slice(0, 12)}`]),
  ];
}

/** The reason for a missing variant, in the form that is stored with the log. */
export const conversionFailureSchema = z.object({
  reason: z.enum(FAILURE_REASONS),
  evidence: z.array(evidenceSchema).min(1),
});

export type ConversionFailure = z.infer<typeof conversionFailureSchema>;

/** @param log lines of the log that show it */
export function conversionFailure(reason: FailureReason, problem: string, log: readonly Evidence[] = []) {
  return { reason, evidence: [{ stream: 'stderr' as const, line: 0, text: problem }, ...log] };
}

/** One line with the problem and what to do. */
export function problemOf({ evidence }: ConversionFailure): string {
  return evidence[0]?.text ?? '';
}
