import { Option } from '@commander-js/extra-typings';
import type * as z from 'zod';

import { defineCommand, type OptionsOf, type PlainCommand } from '../../cli/define-command.ts';
import type { Io } from '../../cli/io.ts';
import * as shared from '../../cli/options.ts';
import type { ExitCode } from '../../errors.ts';

const define = (command: PlainCommand) =>
  shared.settingOptions(
    shared.watchOptions(
      shared
        .planOptions(command.arguments('[matrix]'))
        .addOption(
          new Option('--replay-timing <how>', 'duration of replayed runs')
            .choices(['instant', 'original'])
            .default('instant'),
        )
        .option('--python <path>', shared.PYTHON_HELP)
        .option('--force-cache', 'use the timing cache of the matrix even if it was made on another GPU')
        .option('--dry-run', 'show the plan, run nothing')
        .option('--commit <rev>', 'the commit that is measured (default: HEAD)', shared.notEmpty)
        .option(
          '--branch <name>',
          'the branch that is measured (default: checked out, or of the CI job)',
          shared.notEmpty,
        )
        .addOption(shared.precisionShareOption())
        .addOption(shared.failOnOption())
        .optionsGroup('How much is measured:')
        .option(
          '--until-sure <percent>',
          'repeat cells until a change of this size would be detected; stop cells that are decided',
          shared.positivePercent,
        )
        .option(
          '--budget <time>',
          'time limit such as 30m: cells that do not fit come first next time; spare time goes to repeats',
          shared.duration,
        )
        .option('--confirm', 'measure slower cells in pairs with their last good engines (default: as the matrix says)')
        .option('--no-confirm', 'measure no pairs, whatever the matrix says')
        .option('--confirm-budget <share|time>', 'time for these pairs: 10% of the sweep, or 20m', shared.confirmBudget)
        .option('--against <ref>', 'what --until-sure compares with (default: the previous sweep)')
        .option('--max-repeats <n>', 'runs of a cell, at most', shared.positiveInteger, 20)
        .optionsGroup('After an interruption:')
        .option('--resume [sweep]', 'continue an interrupted sweep')
        .option('--anyway', 'resume even if the matrix, model, trtexec or machine has changed')
        .optionsGroup('GPUs:')
        .option('--gpus <list>', 'measure on several GPUs at once: 0,2, UUIDs, MIG devices, or all')
        .option('--rebalance', 'redistribute the cells instead of keeping each on its previous GPU')
        .option(
          '--lock-clocks <clock>',
          'lock the GPU clocks for the sweep: base, max or MHz; needs permission',
          shared.clockRequest,
        )
        .option(
          '--cool-down <time|temperature>',
          'before each timed run wait for this time (10s) or temperature (45C, 45C/2m: at most 2 minutes)',
          shared.coolDownRequest,
        )
        .option('--no-telemetry', 'do not run nvidia-smi during the runs: no clocks, power, temperatures')
        .optionsGroup('Slurm:')
        .addOption(
          new Option('--executor <name>', 'run on this machine or as Slurm jobs')
            .choices(['local', 'slurm'])
            .default('local'),
        )
        .option('--tensorrt <version>', 'version of TensorRT, if only the nodes have trtexec')
        .option(
          '--run-dir <folder>',
          'folder of the run, visible on every node (default: bench-slurm/… next to the store)',
        )
        .option('--wait', 'follow the jobs, then collect')
        .option('--collect-job', 'submit one more job that collects the results'),
    ),
  );

export type RunOptions = OptionsOf<typeof define>;

export type SweepOptions = Omit<
  RunOptions,
  'executor' | 'lateFiles' | 'lostAfter' | 'maxPending' | 'poll' | 'profile' | 'replayTiming'
> &
  Partial<Pick<RunOptions, 'replayTiming'>> & { readonly profile?: boolean };

/** Runs the plan of a matrix elsewhere than on this machine. */
export interface Executor {
  readonly submitted: () => Promise<z.ZodType>;
  readonly submit: (path: string, options: RunOptions, io: Io) => Promise<ExitCode>;
}

export const runCommand = (slurm: Executor) =>
  defineCommand({
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
    outputs: { run: async () => (await import('../sweep/index.ts')).shownSweep, 'run-slurm': slurm.submitted },
    define,
    run: async ([matrix], options, io) => (await import('./run.ts')).run(matrix, options, io, slurm),
  });
