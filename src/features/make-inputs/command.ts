import { Option } from '@commander-js/extra-typings';
import { defineCommand, type OptionsOf, type PlainCommand } from '../../cli/define-command.ts';
import { integerRange, positiveInteger, statedShapes } from '../../cli/options.ts';
import { DISTRIBUTIONS } from '../../variants/random-inputs.ts';

const define = (command: PlainCommand) =>
  command
    .arguments('<model>')
    .option('--shapes <list>', 'sizes that the model leaves open, such as input:8x3x224x224', statedShapes)
    .addOption(
      new Option('--dist <name>', 'how values are spread: floats from -1 to 1, or with deviation 1')
        .choices(DISTRIBUTIONS)
        .default('uniform'),
    )
    .option('--seed <n>', 'of the values', positiveInteger, 1)
    .option(
      '--integers <range>',
      'range of whole numbers, such as 0..30521 for tokens (default: -128..127, or what the type holds)',
      integerRange,
    )
    .option('--output <folder>', 'where they go (default: MODEL-inputs, in this folder)');

export type MakeInputsOptions = OptionsOf<typeof define>;

export const makeInputsCommand = defineCommand({
  name: 'make-inputs',
  summary: 'raw files with values for the inputs of an ONNX model, the same bytes each time',
  examples: [
    'bench model make-inputs models/vit.onnx --shapes input:8x3x224x224',
    'bench model make-inputs bert.onnx --shapes input_ids:8x128 --integers 0..30521 --output tokens',
    'bench model make-inputs models/vit.onnx --shapes input:8x3x224x224 --dist zeros --output zeros',
  ],
  outputs: { 'make-inputs': async () => (await import('./output.ts')).makeInputsOutput },
  define,
  run: async ([model], options, io) => (await import('./make-inputs.ts')).makeInputs(model, options, io),
});
