import { type Command, Option } from 'commander';

import { INPUT_DISTRIBUTIONS, MAX_DROP_DB } from '../records/accuracy.ts';
import { PRECISIONS } from '../records/precision.ts';
import type { Execute } from '../cli/execute.ts';
import {
  branchOption,
  command,
  duration,
  filterOption,
  positiveInteger,
  positiveNumber,
  statedShapes,
} from '../cli/options.ts';

/** What helps to choose a precision and a batch. */
export function addChoiceCommands(program: Command, run: Execute): void {
  atOption(
    command(program, 'pareto', 'speed, accuracy and memory of every precision and batch beside each other', [
      'bench pareto                            # of the newest sweep',
      "bench pareto --filter 'model=vit* & cudaGraph=on'",
      'bench pareto --at fp16-night fp8-night  # these sweeps together',
      'bench pareto --scaling                  # and what a larger batch gains or loses a sample',
    ]),
  )
    .option('--no-chart', 'only the table')
    .option('--scaling', 'items/s by batch as well: what a larger batch gains or loses')
    .action(async (options) => {
      await run(options, async (io) => (await import('./analysis-bundle.ts')).pareto(options, io));
    });

  atOption(
    command(program, 'slo', 'the most throughput under a limit of the latency', [
      'bench slo --max-latency 20                     # latency p99 of at most 20 ms',
      'bench slo --max-latency 5 --metric median --min-sqnr 25',
      'bench slo --max-latency 20 && deploy           # exit code 4: a model has nothing within the limits',
    ]),
  )
    .requiredOption('--max-latency <ms>', 'the limit, in milliseconds', positiveNumber)
    .addOption(new Option('--metric <which>', 'the latency it is about').choices(['p99', 'median']).default('p99'))
    .option('--min-sqnr <db>', 'only variants whose accuracy was checked and is no worse', positiveNumber)
    .action(async (options) => {
      await run(options, async (io) => (await import('./analysis-bundle.ts')).slo(options, io));
    });

  command(
    program,
    'accuracy <what> [words...]',
    'how far the outputs of a variant are from those of its reference, by onnxruntime',
    [
      'bench accuracy matrices/nightly.yaml            # every precision with an ONNX file; stored',
      'bench accuracy vit_fp32.onnx vit_fp8.onnx --samples 64 --seed 1',
      'bench accuracy vit_fp32.onnx vit_fp8.onnx --data images.npz --model vit --precision fp8',
      'bench accuracy fp16-output.json fp8-output.json # what two engines wrote with --exportOutput',
      'bench accuracy matrices/nightly.yaml -- python3 evaluate.py {model}   # your own number',
    ],
  )
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
    )
    .action(async (what: string, words: string[], options) => {
      await run(options, async (io) => (await import('./measuring-bundle.ts')).accuracy(what, words, options, io));
    });
}

function atOption(choosing: Command): Command {
  return choosing
    .option('--at <refs...>', 'these sweeps, commits or baselines together (default: latest)')
    .addOption(filterOption())
    .addOption(branchOption());
}
