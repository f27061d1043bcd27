import * as z from 'zod';

import type { Precision, Shapes } from '../../records/cell.ts';
import { defined } from '../../text/unknown-values.ts';
import {
  CALIBRATION_METHODS,
  CONVERSION_DEFAULTS,
  CONVERTED_PRECISIONS,
  CONVERTERS,
  type ConversionOptions,
  type Converter,
  HIGH_PRECISIONS,
  METHODS_BY_PRECISION,
} from '../../records/conversion.ts';

/** Settings of ModelOpt alone, which do not apply to a program. */
const ONLY_MODELOPT = ['highPrecision', 'opTypes', 'dqOnly', 'quantizeAttention'] as const;

/**
 * Complete options of a conversion, or a problem.
 * @param resolvePath makes a path absolute
 */
export function readConversion(
  precision: Precision,
  stated: ConversionFile,
  resolvePath: (path: string) => string,
): ConversionOptions | { readonly problem: string } {
  const problem = conversionProblem(precision, stated);
  if (problem !== null) return { problem };
  const shapes = readShapes(stated);
  if ('problem' in shapes) return shapes;
  const { via: _via, calibration = {}, ...options } = defined(stated);
  const data = calibration.data === undefined ? null : resolvePath(calibration.data);
  return {
    ...CONVERSION_DEFAULTS,
    ...options,
    calibration: { ...CONVERSION_DEFAULTS.calibration, ...defined(calibration), ...shapes, data },
  };
}

function conversionProblem(precision: Precision, stated: ConversionFile): string | null {
  const { via, calibration } = stated;
  if (!canMake(via, precision)) {
    return `${precision} is not made by ${via}: autocast makes ${CONVERTED_PRECISIONS.autocast.join(', ')}, modelopt makes ${CONVERTED_PRECISIONS.modelopt.join(', ')}`;
  }
  const slip = via === 'autocast' ? ONLY_MODELOPT.find((option) => stated[option] !== undefined) : undefined;
  if (slip !== undefined) return `${precision} by autocast: ${slip} is an option of modelopt`;
  const methods = METHODS_BY_PRECISION[precision] ?? [];
  const method = calibration?.method;
  return method === undefined || methods.includes(method)
    ? null
    : `${precision}: the calibration method ${method} is for another precision; ${precision} has ${methods.join(' and ') || 'none'}`;
}

function canMake(via: Converter, precision: Precision): boolean {
  const makes: readonly Precision[] = CONVERTED_PRECISIONS[via];
  return makes.includes(precision);
}

function readShapes(stated: ConversionFile): { shapes: Shapes } | { problem: string } {
  const shapes: Record<string, readonly number[]> = {};
  for (const [input, shape] of Object.entries(stated.calibration?.shapes ?? {})) {
    const dimensions = typeof shape === 'string' ? shape.split('x').map(Number) : shape;
    if (!dimensions.every((size) => Number.isInteger(size) && size > 0)) {
      return { problem: `calibration.shapes: "${String(shape)}" is not a shape; write ${input}: 8x3x224x224` };
    }
    shapes[input] = dimensions;
  }
  return { shapes };
}

/** argparse reads a name with a leading dash as an option. */
const name = z.string().regex(/^[^-\s]\S*$/);
const names = z.array(name).min(1);

const calibration = z
  .strictObject({
    data: z.string().min(1).describe('An npz with one array for each input. Default: seeded random data'),
    method: z.enum(CALIBRATION_METHODS).describe('entropy or max for fp8 and int8, awq_clip or rtn_dq for int4'),
    shapes: z
      .record(z.string(), z.union([z.array(z.number().int().min(1)), z.string()]))
      .describe('Shape of one calibration step, by input. Default: the shape of build.opt'),
    samples: z.number().int().min(1).max(100_000).describe('Minimum number of random samples. Default: 8'),
    seed: z.number().int().min(0).describe('Seed of the random data. Default: 1'),
  })
  .partial()
  .describe('The data from which ModelOpt takes the ranges of activations');

const via = z.enum(CONVERTERS).describe('autocast makes fp16 and bf16, modelopt makes fp8, int8 and int4');

export const conversionSchema = z
  .strictObject({
    via,
    highPrecision: z.enum(HIGH_PRECISIONS).describe('Type of the parts that are not quantized. Default: fp16'),
    exclude: names.describe('Nodes to leave as they are, by regular expression'),
    excludeOpTypes: names.describe('Operators to leave as they are'),
    opTypes: names.describe('Quantize only these operators'),
    calibration: calibration,
    opset: z.number().int().min(13).max(30).describe('Opset of the variant'),
    dqOnly: z.boolean().describe('Store weights in the low precision itself'),
    quantizeAttention: z.boolean().describe('Also quantize the MatMuls of attention. Default: true'),
    keepIoTypes: z.boolean().describe('Inputs and outputs keep their types. Default: true'),
    timeoutS: z.number().min(1).describe('Time limit of the conversion. Default: 3600'),
  })
  .partial()
  .extend({ via })
  .describe('A variant made from the base model by ModelOpt');

export type ConversionFile = z.infer<typeof conversionSchema>;
