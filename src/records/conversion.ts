import * as z from 'zod';
import { evidenceSchema, FAILURE_REASONS } from './outcome.ts';
import { type Precision, PRECISIONS, type Shapes } from './cell.ts';

export const CONVERTERS = ['autocast', 'modelopt'] as const;

export type Converter = (typeof CONVERTERS)[number];

export const CONVERTED_PRECISIONS = {
  autocast: ['fp16', 'bf16'],
  modelopt: ['fp8', 'int8', 'int4'],
} as const satisfies Readonly<Record<Converter, readonly Precision[]>>;

export const CALIBRATION_METHODS = ['max', 'entropy', 'awq_clip', 'rtn_dq'] as const;

export type CalibrationMethod = (typeof CALIBRATION_METHODS)[number];

/** ModelOpt silently treats a method that does not fit the precision as `max`. */
export const METHODS_BY_PRECISION: Readonly<Record<string, readonly CalibrationMethod[]>> = {
  fp8: ['max', 'entropy'],
  int8: ['max', 'entropy'],
  int4: ['awq_clip', 'rtn_dq'],
};

export const HIGH_PRECISIONS = ['fp32', 'fp16', 'bf16'] as const;

export type HighPrecision = (typeof HIGH_PRECISIONS)[number];

export interface CalibrationOptions {
  /** An npz file, or an npy file for a model with one input; null for bench's seeded random data. */
  readonly data: string | null;
  readonly method: CalibrationMethod | null;
  /** Shapes of one calibration step, by input; other inputs have the shape that the engine is tuned for. */
  readonly shapes: Shapes;
  /** Minimum number of random samples along the first dimension. */
  readonly samples: number;
  readonly seed: number;
}

/** User options for making a variant; null or empty takes the program's default. */
export interface ConversionOptions {
  readonly highPrecision: HighPrecision | null;
  /** Regular expressions for nodes that are not converted. */
  readonly exclude: readonly string[];
  readonly excludeOpTypes: readonly string[];
  readonly opTypes: readonly string[];
  readonly calibration: CalibrationOptions;
  readonly opset: number | null;
  readonly dqOnly: boolean;
  readonly quantizeAttention: boolean;
  readonly keepIoTypes: boolean;
  readonly timeoutS: number;
}

export const CONVERSION_DEFAULTS: ConversionOptions = {
  highPrecision: null,
  exclude: [],
  excludeOpTypes: [],
  opTypes: [],
  calibration: { data: null, method: null, shapes: {}, samples: 8, seed: 1 },
  opset: null,
  dqOnly: false,
  quantizeAttention: true,
  keepIoTypes: true,
  timeoutS: 3600,
};

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

const RANDOM_CALIBRATION_NOTE = 'calibrated on random data: speed only';

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
        ? [RANDOM_CALIBRATION_NOTE]
        : [`calibrated on data ${calibration.sha256.slice(0, 12)}`]),
  ];
}

/** The reason for a missing variant, in the form that is stored with the log. */
export const conversionFailureSchema = z.object({
  reason: z.enum(FAILURE_REASONS),
  evidence: z.array(evidenceSchema).min(1),
});

export type ConversionFailure = z.infer<typeof conversionFailureSchema>;
