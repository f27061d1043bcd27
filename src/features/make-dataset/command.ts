import { defineCommand, type OptionsOf, type PlainCommand } from '../../cli/define-command.ts';
import { numberFromZero, positiveInteger, positiveNumber, wholeNumber } from '../../cli/options.ts';

const define = (command: PlainCommand) =>
  command
    .arguments('<file>')
    .requiredOption('--requests <n>', 'how many', positiveInteger)
    .requiredOption('--input-mean <tokens>', 'mean length of a prompt', positiveNumber)
    .option('--input-stdev <tokens>', 'its standard deviation', numberFromZero, 0)
    .requiredOption('--output-mean <tokens>', 'mean of the tokens that are asked for', positiveNumber)
    .option('--output-stdev <tokens>', 'its standard deviation', numberFromZero, 0)
    .option('--vocab-size <n>', 'ids of tokens are below this', positiveInteger, 32_000)
    .option('--seed <n>', 'another seed is another file', wholeNumber, 1)
    .option('--force', 'replace the file when it is there already');

export type MakeDatasetOptions = OptionsOf<typeof define>;

export const makeDatasetCommand = defineCommand({
  name: 'make-dataset',
  summary: 'write requests of random tokens for trtllm-bench: the same options give the same file',
  examples: [
    'bench model make-dataset sets/128-128.jsonl --requests 1000 --input-mean 128 --output-mean 128',
    'bench model make-dataset chat.jsonl --requests 500 --input-mean 800 --input-stdev 200 --output-mean 150 --output-stdev 40 --seed 7',
  ],
  outputs: { 'make-dataset': async () => (await import('./output.ts')).makeDatasetOutput },
  define,
  run: async ([file], options, io) => (await import('./make-dataset.ts')).makeDataset(file, options, io),
});
