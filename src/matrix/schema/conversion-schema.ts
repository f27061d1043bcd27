import * as z from 'zod';

import { CALIBRATION_METHODS, CONVERTERS, HIGH_PRECISIONS } from '../../variants/conversion.ts';

/** A name that argparse takes for a value: it reads what begins with a dash as an option. */
const name = z.string().regex(/^[^-\s]\S*$/);
const names = z.array(name).min(1);

const calibration = z
  .strictObject({
    data: z.string().min(1).describe('An npz with one array for each input. Default: seeded random data').optional(),
    method: z
      .enum(CALIBRATION_METHODS)
      .describe('entropy or max for fp8 and int8, awq_clip or rtn_dq for int4')
      .optional(),
    shapes: z
      .record(z.string(), z.union([z.array(z.number().int().min(1)), z.string()]))
      .describe('Shape of one calibration step, by input. Default: the shape of build.opt')
      .optional(),
    samples: z.number().int().min(1).max(100_000).describe('Random samples, at least. Default: 8').optional(),
    seed: z.number().int().min(0).describe('Of the random data. Default: 1').optional(),
  })
  .describe('What the ranges of activations are taken from');

export const conversionSchema = z
  .strictObject({
    via: z.enum(CONVERTERS).describe('autocast makes fp16 and bf16, modelopt makes fp8, int8 and int4'),
    highPrecision: z.enum(HIGH_PRECISIONS).describe('Type of what is not quantized. Default: fp16').optional(),
    exclude: names.describe('Nodes that are left as they are, by regular expression').optional(),
    excludeOpTypes: names.describe('Operators that are left as they are').optional(),
    opTypes: names.describe('Only these operators are quantized').optional(),
    calibration: calibration.optional(),
    opset: z.number().int().min(13).max(30).describe('Of the variant').optional(),
    dqOnly: z.boolean().describe('Store weights in the low precision itself').optional(),
    quantizeAttention: z.boolean().describe('Also the MatMuls of attention. Default: true').optional(),
    keepIoTypes: z.boolean().describe('Inputs and outputs keep their types. Default: true').optional(),
    timeoutS: z.number().min(1).describe('Limit of the conversion. Default: 3600').optional(),
  })
  .describe('A variant made from the base model by ModelOpt');

export type ConversionFile = z.infer<typeof conversionSchema>;
