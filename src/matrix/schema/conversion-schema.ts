import * as z from 'zod';

import { CALIBRATION_METHODS, CONVERTERS, HIGH_PRECISIONS } from '../../variants/conversion.ts';

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
