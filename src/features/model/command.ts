import { Option } from '@commander-js/extra-typings';

import { defineCommand, defineGroup, type OptionsOf, type PlainCommand } from '../../cli/define-command.ts';
import * as shared from '../../cli/options.ts';
import { CALIBRATION_METHODS, CONVERTED_PRECISIONS, HIGH_PRECISIONS } from '../../records/conversion.ts';
import { DISTRIBUTIONS, type IntegerRange } from '../../variants/make-inputs.ts';
import { INPUT_DISTRIBUTIONS, MAX_DROP_DB } from '../../records/accuracy.ts';
import { PRECISIONS } from '../../records/cell.ts';

const inspectOptions = (command: PlainCommand) => command.arguments('<model>');

export type InspectOptions = OptionsOf<typeof inspectOptions>;

const inspectCommand = defineCommand({
  name: 'inspect',
  summary: 'show the inputs, outputs and operators of an ONNX model',
  examples: ['bench model inspect models/vit.onnx      # reads no weights: any size takes milliseconds'],
  outputs: { inspect: async () => (await import('./output.ts')).inspectOutput },
  define: inspectOptions,
  run: async ([model], options, io) => (await import('./inspect.ts')).inspect(model, options, io),
});

const quantizeOptions = (command: PlainCommand) =>
  command
    .arguments('<model>')
    .addOption(
      new Option('--precision <name>', 'fp16 and bf16 by AutoCast, the others by ModelOpt')
        .choices(Object.values(CONVERTED_PRECISIONS).flat())
        .makeOptionMandatory(),
    )
    .option('--calibration <file>', 'an npz with one array for each input (default: random data)')
    .option(
      '--calibration-shapes <list>',
      'shapes of one calibration step: input:8x3x224x224,mask:8x128',
      shared.statedShapes,
    )
    .option('--samples <n>', 'minimum number of random samples (default: 8)', shared.positiveInteger)
    .option('--seed <n>', 'seed of the random data (default: 1)', shared.positiveInteger)
    .addOption(
      new Option('--method <name>', 'calibration method: entropy or max; for int4 the others').choices(
        CALIBRATION_METHODS,
      ),
    )
    .addOption(
      new Option('--high-precision <name>', 'type of the parts that are not quantized (default: fp16)').choices(
        HIGH_PRECISIONS,
      ),
    )
    .option('--exclude <pattern>', 'nodes to leave as they are; repeatable', shared.collected)
    .option('--exclude-op-types <list>', 'operators to leave as they are: Softmax,Add', shared.commaList)
    .option('--op-types <list>', 'quantize only these operators: MatMul,Conv', shared.commaList)
    .option('--opset <n>', 'opset of the variant', shared.positiveInteger)
    .option('--dq-only', 'store weights in the low precision itself')
    .option('--no-attention', 'leave the MatMuls of attention as they are')
    .option('--no-keep-io-types', 'inputs and outputs take the low precision as well')
    .option('--timeout <time>', 'time limit, such as 30m (default: 1h)', shared.duration)
    .option('--python <path>', shared.PYTHON_HELP)
    .option('--output <file>', 'a copy of the variant');

export type QuantizeOptions = OptionsOf<typeof quantizeOptions>;

const quantizeCommand = defineCommand({
  name: 'quantize',
  summary: 'make an FP16, BF16, FP8, INT8 or INT4 variant of an ONNX model',
  examples: [
    'bench model quantize models/vit.onnx --precision fp8 --calibration-shapes input:8x3x224x224',
    'bench model quantize vit.onnx --precision int8 --calibration calib.npz --output vit_int8.onnx',
  ],
  outputs: { quantize: async () => (await import('./output.ts')).quantizeOutput },
  define: quantizeOptions,
  run: async ([model], options, io) => (await import('./quantize.ts')).quantize(model, options, io),
});

const makeInputsOptions = (command: PlainCommand) =>
  command
    .arguments('<model>')
    .option('--shapes <list>', 'sizes of dynamic dimensions, such as input:8x3x224x224', shared.statedShapes)
    .addOption(
      new Option('--dist <name>', 'distribution of the values: floats from -1 to 1, or with deviation 1')
        .choices(DISTRIBUTIONS)
        .default('uniform'),
    )
    .option('--seed <n>', 'seed of the values', shared.positiveInteger, 1)
    .option(
      '--integers <range>',
      'range of whole numbers, such as 0..30521 for tokens (default: -128..127, or what the type holds)',
      integerRange,
    )
    .option('--output <folder>', 'output folder (default: MODEL-inputs)');

export type MakeInputsOptions = OptionsOf<typeof makeInputsOptions>;

const makeInputsCommand = defineCommand({
  name: 'make-inputs',
  summary: 'write reproducible input files for an ONNX model',
  examples: [
    'bench model make-inputs models/vit.onnx --shapes input:8x3x224x224',
    'bench model make-inputs bert.onnx --shapes input_ids:8x128 --integers 0..30521 --output tokens',
  ],
  outputs: { 'make-inputs': async () => (await import('./output.ts')).makeInputsOutput },
  define: makeInputsOptions,
  run: async ([model], options, io) => (await import('./make-inputs.ts')).makeInputs(model, options, io),
});

const makeDatasetOptions = (command: PlainCommand) =>
  command
    .arguments('<file>')
    .requiredOption('--requests <n>', 'number of requests', shared.positiveInteger)
    .requiredOption('--input-mean <tokens>', 'mean length of a prompt', shared.positiveNumber)
    .option('--input-stdev <tokens>', 'its standard deviation', numberFromZero, 0)
    .requiredOption('--output-mean <tokens>', 'mean number of requested tokens', shared.positiveNumber)
    .option('--output-stdev <tokens>', 'its standard deviation', numberFromZero, 0)
    .option('--vocab-size <n>', 'token ids are below this', shared.positiveInteger, 32_000)
    .option('--seed <n>', 'seed of the random numbers', shared.wholeNumber, 1)
    .option('--force', 'overwrite an existing file');

export type MakeDatasetOptions = OptionsOf<typeof makeDatasetOptions>;

const makeDatasetCommand = defineCommand({
  name: 'make-dataset',
  summary: 'write a reproducible data set of random-token requests for trtllm-bench',
  examples: [
    'bench model make-dataset sets/128-128.jsonl --requests 1000 --input-mean 128 --output-mean 128',
    'bench model make-dataset chat.jsonl --requests 500 --input-mean 800 --input-stdev 200 --output-mean 150 --output-stdev 40 --seed 7',
  ],
  outputs: { 'make-dataset': async () => (await import('./output.ts')).makeDatasetOutput },
  define: makeDatasetOptions,
  run: async ([file], options, io) => (await import('./make-inputs.ts')).makeDataset(file, options, io),
});

const accuracyOptions = (command: PlainCommand) =>
  command
    .arguments('<what> [words...]')
    .option('--data <file>', 'an npz with an array for each input, or an npy (default: random values)')
    .option('--samples <n>', 'number of samples (default: 64, or all of the file)', shared.positiveInteger)
    .option('--seed <n>', 'seed of the random values', shared.positiveInteger, 1)
    .addOption(
      new Option('--distribution <which>', 'distribution of the random values')
        .choices(INPUT_DISTRIBUTIONS)
        .default('normal'),
    )
    .option('--batch <n>', 'batch size, if the model has a dynamic one', shared.positiveInteger, 8)
    .option('--shapes <spec>', 'sizes of dynamic dimensions', shared.statedShapes)
    .option('--python <path>', 'a Python with numpy and onnxruntime (default: $BENCH_PYTHON, else python3)')
    .option('--timeout <time>', 'time limit of one comparison', shared.duration, 3600)
    .option('--model <name>', 'store the comparison of two files under this name')
    .addOption(new Option('--precision <name>', 'with --model: its precision').choices(PRECISIONS))
    .addOption(shared.matrixFilterOption())
    .option(
      '--max-drop <db>',
      'a larger drop of the SQNR since the last comparison is a regression',
      shared.positiveNumber,
      MAX_DROP_DB,
    );

export type AccuracyOptions = OptionsOf<typeof accuracyOptions>;

const accuracyCommand = defineCommand({
  name: 'accuracy',
  summary: 'compare the outputs of a variant with those of its reference (onnxruntime)',
  examples: [
    'bench model accuracy matrices/nightly.yaml            # every precision with an ONNX file; stored',
    'bench model accuracy vit_fp32.onnx vit_fp8.onnx --samples 64 --seed 1',
    'bench model accuracy vit_fp32.onnx vit_fp8.onnx --data images.npz --model vit --precision fp8',
    'bench model accuracy fp16-output.json fp8-output.json # what two engines wrote with --exportOutput',
    'bench model accuracy matrices/nightly.yaml -- python3 evaluate.py {model}   # your own number',
  ],
  outputs: { accuracy: async () => (await import('./output.ts')).accuracyOutput },
  define: accuracyOptions,
  run: async ([what, words], options, io) => (await import('./accuracy.ts')).compareAccuracy(what, words, options, io),
});

export const modelCommands = defineGroup({
  name: 'model',
  summary: 'inspect, quantize and check ONNX models; make inputs and request data sets',
  examples: [
    'bench model inspect models/vit.onnx',
    'bench model make-inputs models/vit.onnx --shapes input:8x3x224x224',
    'bench model quantize models/vit.onnx --precision fp8',
    'bench model accuracy vit_fp32.onnx vit_fp8.onnx',
  ],
  commands: [inspectCommand, makeInputsCommand, quantizeCommand, accuracyCommand, makeDatasetCommand],
});

const numberFromZero = shared.numberParser((value) => value >= 0, 'must be a number, 0 or more.');

const integerRange = shared.parser((text): IntegerRange | null => {
  const [, low, high] = /^(-?\d{1,15})\.\.(-?\d{1,15})$/.exec(text.trim()) ?? [];
  if (low === undefined || high === undefined || Number(low) > Number(high)) return null;
  return [Number(low), Number(high)];
}, 'must be a range such as 0..30521, with the lower number first.');
