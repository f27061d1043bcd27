import { Option } from '@commander-js/extra-typings';
import { defineCommand, type OptionsOf, type PlainCommand } from '../../cli/define-command.ts';
import { duration, filterOption, positiveInteger, positiveNumber, statedShapes } from '../../cli/options.ts';
import { INPUT_DISTRIBUTIONS, MAX_DROP_DB } from '../../records/accuracy.ts';
import { PRECISIONS } from '../../records/precision.ts';

const define = (command: PlainCommand) =>
  command
    .arguments('<what> [words...]')
    .option('--data <file>', 'an npz with an array for each input, or an npy (default: random values)')
    .option('--samples <n>', 'so many (default: 64, or all of the file)', positiveInteger)
    .option('--seed <n>', 'of the random values', positiveInteger, 1)
    .addOption(
      new Option('--distribution <which>', 'of the random values').choices(INPUT_DISTRIBUTIONS).default('normal'),
    )
    .option('--batch <n>', 'samples at once, where the model leaves it open', positiveInteger, 8)
    .option('--shapes <spec>', 'of dimensions that the model leaves open', statedShapes)
    .option('--python <path>', 'a Python with numpy and onnxruntime (default: $BENCH_PYTHON, else python3)')
    .option('--timeout <time>', 'of one comparison', duration, 3600)
    .option('--model <name>', 'store the comparison of two files under this name')
    .addOption(new Option('--precision <name>', 'and this precision').choices(PRECISIONS))
    .addOption(filterOption())
    .option(
      '--max-drop <db>',
      'a larger fall of the SQNR since the last time is a regression',
      positiveNumber,
      MAX_DROP_DB,
    );

export type AccuracyOptions = OptionsOf<typeof define>;

export const accuracyCommand = defineCommand({
  name: 'accuracy',
  summary: 'how far the outputs of a variant are from those of its reference, by onnxruntime',
  examples: [
    'bench model accuracy matrices/nightly.yaml            # every precision with an ONNX file; stored',
    'bench model accuracy vit_fp32.onnx vit_fp8.onnx --samples 64 --seed 1',
    'bench model accuracy vit_fp32.onnx vit_fp8.onnx --data images.npz --model vit --precision fp8',
    'bench model accuracy fp16-output.json fp8-output.json # what two engines wrote with --exportOutput',
    'bench model accuracy matrices/nightly.yaml -- python3 evaluate.py {model}   # your own number',
  ],
  outputs: { accuracy: async () => (await import('./output.ts')).accuracyOutput },
  define,
  run: async ([what, words], options, io) => (await import('./accuracy.ts')).accuracy(what, words, options, io),
});
