import { Option } from '@commander-js/extra-typings';
import { defineCommand, type OptionsOf, type PlainCommand } from '../../cli/define-command.ts';
import { duration, positiveInteger, commaList, collected, PYTHON_HELP } from '../../cli/options.ts';
import { CALIBRATION_METHODS, CONVERTED_PRECISIONS, HIGH_PRECISIONS } from '../../variants/conversion.ts';

const define = (command: PlainCommand) =>
  command
    .arguments('<model>')
    .addOption(
      new Option('--precision <name>', 'fp16 and bf16 by AutoCast, the others by ModelOpt')
        .choices(Object.values(CONVERTED_PRECISIONS).flat())
        .makeOptionMandatory(),
    )
    .option('--calibration <file>', 'an npz with one array for each input (default: random data)')
    .option('--calibration-shapes <list>', 'of one step: input:8x3x224x224,mask:8x128')
    .option('--samples <n>', 'random samples, at least (default: 8)', positiveInteger)
    .option('--seed <n>', 'of the random data (default: 1)', positiveInteger)
    .addOption(
      new Option('--method <name>', 'of the calibration: entropy or max, for int4 others').choices(CALIBRATION_METHODS),
    )
    .addOption(
      new Option('--high-precision <name>', 'of what is not quantized (default: fp16)').choices(HIGH_PRECISIONS),
    )
    .option('--exclude <pattern>', 'nodes to leave as they are; may stand more than once', collected)
    .option('--exclude-op-types <list>', 'operators to leave as they are: Softmax,Add', commaList)
    .option('--op-types <list>', 'quantize only these operators: MatMul,Conv', commaList)
    .option('--opset <n>', 'of the variant', positiveInteger)
    .option('--dq-only', 'store weights in the low precision itself')
    .option('--no-attention', 'leave the MatMuls of attention as they are')
    .option('--no-keep-io-types', 'inputs and outputs take the low precision as well')
    .option('--timeout <time>', 'such as 30m (default: 1h)', duration)
    .option('--python <path>', PYTHON_HELP)
    .option('--output <file>', 'a copy of the variant');

export type QuantizeOptions = OptionsOf<typeof define>;

export const quantizeCommand = defineCommand({
  name: 'quantize',
  summary: 'make an FP16, BF16, FP8, INT8 or INT4 variant of an ONNX model, as a sweep would',
  examples: [
    'bench model quantize models/vit.onnx --precision fp8 --calibration-shapes input:8x3x224x224',
    'bench model quantize vit.onnx --precision int8 --calibration calib.npz --output vit_int8.onnx',
    'bench model quantize vit.onnx --precision fp16 --json | jq -r .path',
  ],
  outputs: { quantize: async () => (await import('./output.ts')).quantizeOutput },
  define,
  run: async ([model], options, io) => (await import('./quantize.ts')).quantize(model, options, io),
});
