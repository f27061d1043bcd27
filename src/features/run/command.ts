import { Option } from '@commander-js/extra-typings';
import { defineCommand, type OptionsOf, type PlainCommand } from '../../cli/define-command.ts';
import {
  clockRequest,
  coolDownRequest,
  duration,
  failOnOption,
  notEmpty,
  numaPolicy,
  positiveInteger,
  positivePercent,
  precisionShareOption,
  PYTHON_HELP,
  planOptions,
  settingOptions,
  watchOptions,
} from '../../cli/options.ts';

const define = (command: PlainCommand) =>
  settingOptions(
    watchOptions(
      planOptions(command.arguments('[matrix]'))
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
          clockRequest,
        )
        .option(
          '--cool-down <wish>',
          'before each timed run wait so long (10s), or until it is so cool (45C)',
          coolDownRequest,
        )
        .option('--numa <node>', "bind runs to their GPU's NUMA node: auto, off or a number", numaPolicy)
        .option('--no-telemetry', 'no nvidia-smi beside the runs: no clocks, power, temperatures')
        .optionsGroup('Slurm:')
        .addOption(
          new Option('--executor <name>', 'this machine, or jobs of Slurm')
            .choices(['local', 'slurm'])
            .default('local'),
        )
        .option('--tensorrt <version>', 'where only the nodes have trtexec: its version')
        .option('--run-dir <folder>', 'of the run, where every node sees it (default: bench-slurm/… beside the store)')
        .option('--wait', 'follow the jobs, then collect')
        .option('--collect-job', 'a job behind the others collects'),
    ),
  );

export type RunOptions = OptionsOf<typeof define>;

export type SweepOptions = Omit<
  RunOptions,
  'executor' | 'lateFiles' | 'lostAfter' | 'maxPending' | 'poll' | 'profile' | 'replayTiming'
> &
  Partial<Pick<RunOptions, 'replayTiming'>> & { readonly profile?: boolean };

export const runCommand = defineCommand({
  name: 'run',
  summary: 'build, measure and store every cell of a matrix',
  examples: [
    'bench run matrices/quickstart.yaml --replay night1',
    'bench run matrices/nightly.yaml --repeats 5',
    "bench run matrices/nightly.yaml --filter 'model=vit* & cudaGraph=on'",
    'bench run matrices/nightly.yaml --repeats 3 --until-sure 1 --budget 45m',
    'bench run matrices/nightly.yaml --confirm && bench check',
    'bench run matrices/nightly.yaml --gpus all --budget 6h',
    'bench run --resume',
    'bench run matrices/nightly.yaml --executor slurm --wait && bench check',
  ],
  mainOptions: [
    '--filter',
    '--repeats',
    '--budget',
    '--until-sure',
    '--confirm',
    '--resume',
    '--gpus',
    '--executor',
    '--trtexec',
    '--replay',
    '--profile',
    '--dry-run',
  ],
  outputs: {
    run: async () => (await import('../show/index.ts')).shownSweep,
    'run-slurm': async () => (await import('../slurm/index.ts')).submitted,
  },
  define,
  run: async ([matrix], options, io) => {
    const { slurmExecutor } = await import('../slurm/index.ts');
    return (await import('./run.ts')).run(matrix, options, io, slurmExecutor);
  },
});
