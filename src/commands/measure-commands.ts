import { type Command, Option } from 'commander';

import { CALIBRATION_METHODS, CONVERTED_PRECISIONS, HIGH_PRECISIONS } from '../variants/conversion.ts';
import type { Execute } from '../cli/execute.ts';
import {
  clockWish,
  command,
  coolDownWish,
  duration,
  failOnOption,
  filterOption,
  metricOption,
  integerRange,
  instant,
  notEmpty,
  noteText,
  numaWish,
  onOrOff,
  ownMetric,
  numberFromZero,
  positiveInteger,
  positiveNumber,
  positivePercent,
  precisionShareOption,
  statedShapes,
  wholeNumber,
} from '../cli/options.ts';
import { TIMERS } from '../records/harness.ts';
import { NAMED_EXPERIMENTS } from '../features/ab/named-experiments.ts';
import { DISTRIBUTIONS } from '../variants/random-inputs.ts';
import { PRECISIONS } from '../records/precision.ts';
import { settingOptions, watchOptions } from './slurm-commands.ts';

const PYTHON_HELP = 'the Python with ModelOpt that makes variants (default: $BENCH_PYTHON, python3)';

/** What brings results into the store. */
export function addMeasureCommands(program: Command, run: Execute): void {
  command(program, 'parse <paths...>', 'what the parser sees in a trtexec log or a run folder; stores nothing', [
    'bench parse trtexec.log',
    'bench parse results/ --json | jq .runs[].throughputQps',
    'trtexec --loadEngine=m.plan 2>&1 | bench parse -',
  ])
    .option('--min-queries <n>', 'fewer timed queries are no measurement (default: 30)', positiveInteger)
    .action(async (paths: string[], options) => {
      await run(options, async (io) => (await import('./measuring-bundle.ts')).parse(paths, options, io));
    });

  command(program, 'import <paths...>', 'take logs, exports and reports of any run into the store', [
    'bench import logs/2026-11-20/',
    'bench import --sweep v1.2 --commit v1.2 results/*.log',
    'bench import old.log --date 2026-03-01   # where nothing else says when',
    'bench import fp8.log --model vit --precision fp8 --shapes input:8x3x224x224',
    'bench import torch-fp16.txt --model vit --precision fp16 --shapes input:128x3x224x224 --cuda-graph off',
    'bench import engine.trace --runs 100 --model vit --precision fp8 --shapes input:128 --cuda-graph off',
    'bench import perf.csv --model vit --into v1.2   # beside what is in that import already',
    'bench import e2e.txt --metric e2e_ms --model vit --precision fp16 --shapes input:8x3x224x224   # one number a line',
    'bench import artefacts/   # rebuilds a lost store',
  ])
    .option('--sweep <name>', 'all of it is one sweep of this name (default: one for each folder)')
    .option('--commit <rev>', 'the commit that was measured', notEmpty)
    .option('--branch <name>', 'its branch', notEmpty)
    .option('--date <when>', 'when they were made, in UTC (default: as run.json or the lines say)', instant)
    .option('--model <name>', 'the model, for files that do not say it')
    .addOption(new Option('--precision <name>', 'the precision, for files that do not say it').choices(PRECISIONS))
    .option('--shapes <spec>', 'the shapes, such as input:8x3x224x224, for logs that do not say them', statedShapes)
    .option('--as <harness>', 'whose files they are, such as trtexec (default: by their content)')
    .option('--cuda-graph <on|off>', 'whether a CUDA graph was used, for reports', onOrOff)
    .addOption(
      new Option('--timer <timer>', 'what took the times, for reports that do not say it').choices(
        TIMERS.filter((timer) => timer !== 'unknown'),
      ),
    )
    .option('--runs <n>', 'over how many runs the times of a Torch-TensorRT trace are summed', positiveInteger)
    .option(
      '--metric <name:lower|higher:unit>',
      'take in numbers of your own, one a line or a field of JSON; e2e_ms stands for e2e_ms:lower:ms',
      ownMetric,
    )
    .option('--note <text>', 'what there is to say of all of them; bench show tells it', noteText)
    .option('--into <sweep>', 'add to this import, by name or id, instead of a new sweep')
    .action(async (paths: string[], options) => {
      await run(options, async (io) => (await import('./measuring-bundle.ts')).importRuns(paths, options, io));
    });

  command(program, 'inspect <model>', 'what an ONNX model takes and gives, and what stands in it', [
    'bench inspect models/vit.onnx      # reads no weights: any size takes milliseconds',
    'bench inspect models/vit.onnx --json | jq .inputs',
  ]).action(async (model: string, options) => {
    await run(options, async (io) => (await import('../features/inspect/inspect.ts')).inspect(model, options, io));
  });

  command(
    program,
    'make-inputs <model>',
    'raw files with values for the inputs of an ONNX model, the same bytes each time',
    [
      'bench make-inputs models/vit.onnx --shapes input:8x3x224x224',
      'bench make-inputs bert.onnx --shapes input_ids:8x128 --integers 0..30521 --output tokens',
      'bench make-inputs models/vit.onnx --shapes input:8x3x224x224 --dist zeros --output zeros',
    ],
  )
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
    .option('--output <folder>', 'where they go (default: MODEL-inputs, in this folder)')
    .action(async (model: string, options) => {
      await run(options, async (io) => (await import('./measuring-bundle.ts')).makeInputs(model, options, io));
    });

  command(program, 'init [places...]', 'write a matrix for the ONNX files, the trtexec and the GPUs that are here', [
    'bench init                              # the models in this folder and below it',
    'bench init models/vit.onnx --output matrices/vit.yaml',
    'bench init --yes && bench run matrix.yaml   # asks nothing: the best guesses',
  ])
    .option('--output <file>', 'the matrix to write', 'matrix.yaml')
    .option('--force', 'replace it when it is there already')
    .option('--yes', 'ask nothing; without a terminal nothing is asked either')
    .option('--trtexec <path>', 'the trtexec to use (default: $TRTEXEC, else from PATH)')
    .action(async (places: string[], options) => {
      await run(options, async (io) => (await import('./measuring-bundle.ts')).init(places, options, io));
    });

  command(program, 'doctor', 'what of this machine keeps bench from measuring, or spoils numbers', [
    'bench doctor',
    'bench doctor --matrix matrices/nightly.yaml --json',
  ])
    .option('--matrix <file>', 'a matrix: the trtexec that it names, or none if it replays')
    .option('--trtexec <path>', 'the trtexec to look at (default: $TRTEXEC, else from PATH)')
    .action(async (options) => {
      await run(options, async (io) => (await import('./measuring-bundle.ts')).doctor(options, io));
    });

  command(
    program,
    'make-dataset <file>',
    'write requests of random tokens for trtllm-bench: the same options give the same file',
    [
      'bench make-dataset sets/128-128.jsonl --requests 1000 --input-mean 128 --output-mean 128',
      'bench make-dataset chat.jsonl --requests 500 --input-mean 800 --input-stdev 200 --output-mean 150 --output-stdev 40 --seed 7',
    ],
  )
    .requiredOption('--requests <n>', 'how many', positiveInteger)
    .requiredOption('--input-mean <tokens>', 'mean length of a prompt', positiveNumber)
    .option('--input-stdev <tokens>', 'its standard deviation', numberFromZero, 0)
    .requiredOption('--output-mean <tokens>', 'mean of the tokens that are asked for', positiveNumber)
    .option('--output-stdev <tokens>', 'its standard deviation', numberFromZero, 0)
    .option('--vocab-size <n>', 'ids of tokens are below this', positiveInteger, 32_000)
    .option('--seed <n>', 'another seed is another file', wholeNumber, 1)
    .option('--force', 'replace the file when it is there already')
    .action(async (file: string, options) => {
      await run(options, async (io) => (await import('./measuring-bundle.ts')).makeDataset(file, options, io));
    });

  const plan = command(
    program,
    'plan <matrix>',
    'the cells, builds and runs of a matrix with their exact command lines',
    [
      'bench plan matrices/nightly.yaml',
      'bench plan matrices/nightly.yaml --tensorrt 11.0   # no trtexec needed',
      "bench plan matrices/nightly.yaml --filter 'precision=fp8 & batch>=8' --json",
    ],
  );
  planOptions(plan)
    .option('--tensorrt <version>', 'plan for this version, without a trtexec')
    .action(async (matrix: string, options) => {
      await run(options, async (io) => (await import('./measuring-bundle.ts')).plan(matrix, options, io));
    });

  const measure = command(program, 'run [matrix]', 'build, measure and store every cell of a matrix', [
    'bench run matrices/quickstart.yaml --replay night1',
    'bench run matrices/nightly.yaml --repeats 5',
    "bench run matrices/nightly.yaml --filter 'model=vit* & cudaGraph=on'",
    'bench run matrices/nightly.yaml --repeats 3 --until-sure 1 --budget 45m',
    'bench run matrices/nightly.yaml --confirm && bench check',
    'bench run matrices/nightly.yaml --gpus all --budget 6h',
    'bench run --resume',
    'bench run matrices/nightly.yaml --executor slurm --wait && bench check',
  ]);
  planOptions(measure)
    .addOption(
      new Option('--replay-timing <how>', 'whether a recording takes as long as it took')
        .choices(['instant', 'original'])
        .default('instant'),
    )
    .option('--python <path>', PYTHON_HELP)
    .option('--force-cache', 'use a timing cache of the matrix even when it is of another GPU')
    .option('--dry-run', 'show the plan and do nothing')
    .option('--commit <rev>', 'the commit that is measured (default: HEAD)', notEmpty)
    .option('--branch <name>', 'its branch (default: checked out, or of the CI job)', notEmpty)
    .addOption(precisionShareOption())
    .addOption(failOnOption())
    .optionsGroup('How much is measured:')
    .option(
      '--until-sure <percent>',
      'repeat the cells in which a change of so much could still hide, and stop those that are decided',
      positivePercent,
    )
    .option(
      '--budget <time>',
      'such as 30m: what does not fit is left out and comes first next time; what is left of it goes to repeats',
      duration,
    )
    .option('--confirm', 'repeat the cells that are off their history before anyone is alarmed')
    .option('--against <ref>', 'what --until-sure compares with (default: the sweep before)')
    .option('--max-repeats <n>', 'runs of a cell, at most', positiveInteger, 20)
    .optionsGroup('After an interruption:')
    .option('--resume [sweep]', 'go on with a sweep that was interrupted')
    .option('--anyway', 'resume although matrix, model, trtexec or machine changed in between')
    .optionsGroup('GPUs:')
    .option('--gpus <list>', 'measure on these at the same time: 0,2, UUIDs, MIG devices, or all')
    .option('--rebalance', 'share the cells out anew, not each to the GPU that had it before')
    .option(
      '--lock-clocks <clock>',
      'lock the clocks of the GPU for the sweep: base, max or MHz; needs permission',
      clockWish,
    )
    .option(
      '--cool-down <wish>',
      'before each timed run wait so long (10s), or until it is so cool (45C)',
      coolDownWish,
    )
    .option('--numa <node>', "bind runs to their GPU's NUMA node: auto, off or a number", numaWish)
    .option('--no-telemetry', 'no nvidia-smi beside the runs: no clocks, power, temperatures')
    .optionsGroup('Slurm:')
    .addOption(
      new Option('--executor <name>', 'this machine, or jobs of Slurm').choices(['local', 'slurm']).default('local'),
    )
    .option('--tensorrt <version>', 'where only the nodes have trtexec: its version')
    .option('--run-dir <folder>', 'of the run, where every node sees it (default: bench-slurm/… beside the store)')
    .option('--wait', 'follow the jobs, then collect')
    .option('--collect-job', 'a job behind the others collects');
  settingOptions(watchOptions(measure));
  measure.action(async (matrix: string | undefined, options) => {
    await run(options, async (io) => (await import('./measuring-bundle.ts')).run(matrix, options, io));
  });

  addExperiment(program, run);
  addQuantize(program, run);
}

/** Two sides of every cell. */
function addExperiment(program: Command, run: Execute): void {
  const experiment = command(
    program,
    'ab [matrix]',
    'an A/B experiment: every cell as it is and with a variable set, turn by turn, against a threshold',
    [
      'bench ab matrices/moe.yaml --experiment perfect-router   # is the routing a bottleneck?',
      "bench ab matrices/nightly.yaml --env CUDA_MODULE_LOADING=EAGER --filter 'model=vit*'",
      'bench ab matrices/moe.yaml --env NAME=1 --significant 5% --repeats 10 --upper-bound',
      'bench ab perfect-router     # the newest of this name once more; an id of a sweep does, too',
    ],
  );
  experiment
    .option('--env <setting>', 'what B sets: NAME=VALUE; may stand more than once. A is left as it is', collected)
    .addOption(
      new Option('--experiment <name>', 'a known one, with its variable, threshold and marks').choices(
        NAMED_EXPERIMENTS.map(({ name }) => name),
      ),
    )
    .option('--significant <percent>', 'B has to be better by more than this (default: 10%)', positivePercent)
    .option('--repeats <n>', 'runs of each side of each cell', positiveInteger, 5)
    .addOption(metricOption())
    .addOption(filterOption())
    .option('--name <text>', 'of the experiment (default: what B sets)')
    .option('--upper-bound', 'B is idealized: mark it, so that it is never a baseline or the best')
    .option('--invalid-output', 'what B computes is wrong: mark it in the same way')
    .option('--read <sweep>', 'show a stored one, by its name or the id of its sweep')
    .option('--seed <n>', 'of the order of runs (default: a new one for each sweep)', positiveInteger)
    .option('--trtexec <path>', 'the trtexec to use (default: $TRTEXEC, else from PATH)')
    .option('--python <path>', PYTHON_HELP)
    .option('--gpus <gpu>', 'the one to measure on: a number or a UUID')
    .option('--commit <rev>', 'the commit that is measured (default: HEAD)', notEmpty)
    .option('--no-telemetry', 'no nvidia-smi beside the runs: no clocks, power, temperatures')
    .addOption(failOnOption())
    .action(async (what: string | undefined, options) => {
      await run(options, async (io) => (await import('./measuring-bundle.ts')).ab(what, options, io));
    });
}

/** One variant by hand. */
function addQuantize(program: Command, run: Execute): void {
  command(
    program,
    'quantize <model>',
    'make an FP16, BF16, FP8, INT8 or INT4 variant of an ONNX model, as a sweep would',
    [
      'bench quantize models/vit.onnx --precision fp8 --calibration-shapes input:8x3x224x224',
      'bench quantize vit.onnx --precision int8 --calibration calib.npz --output vit_int8.onnx',
      'bench quantize vit.onnx --precision fp16 --json | jq -r .path',
    ],
  )
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
    .option('--exclude-op-types <list>', 'operators to leave as they are: Softmax,Add', words)
    .option('--op-types <list>', 'quantize only these operators: MatMul,Conv', words)
    .option('--opset <n>', 'of the variant', positiveInteger)
    .option('--dq-only', 'store weights in the low precision itself')
    .option('--no-attention', 'leave the MatMuls of attention as they are')
    .option('--no-keep-io-types', 'inputs and outputs take the low precision as well')
    .option('--timeout <time>', 'such as 30m (default: 1h)', duration)
    .option('--python <path>', PYTHON_HELP)
    .option('--output <file>', 'a copy of the variant')
    .action(async (model: string, options) => {
      await run(options, async (io) => (await import('./measuring-bundle.ts')).quantize(model, options, io));
    });
}

function collected(text: string, before: string[] = []): string[] {
  return [...before, text];
}

function words(text: string): string[] {
  return text.split(',').map((word) => word.trim());
}

/** What decides a plan, whether it is shown or carried out. */
function planOptions(planning: Command): Command {
  return planning
    .addOption(filterOption())
    .option('--repeats <n>', 'runs of each cell', positiveInteger)
    .option('--builds <n>', 'builds of each engine, each run so often', positiveInteger)
    .option('--seed <n>', 'of the order of runs (default: a new one for each sweep)', positiveInteger)
    .option('--profile', 'a profile run of each cell as well')
    .option('--untrusted', 'refuse a matrix that would start or load something of its own choice')
    .option('--trtexec <path>', 'the trtexec to use (default: $TRTEXEC, else from PATH)')
    .option('--replay <set>', 'answer from recordings: the name of a set, or a folder');
}
