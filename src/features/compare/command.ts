import { Command, type OptionValues } from '@commander-js/extra-typings';

import { UsageError } from '../../errors.ts';
import { defineCommand, type OptionsOf, type PlainCommand } from '../../cli/define-command.ts';
import * as shared from '../../cli/options.ts';

function ofRun<Arguments extends unknown[], Options extends OptionValues>(command: Command<Arguments, Options>) {
  return command
    .optionsGroup('With --run:')
    .option('--run', 'check out both commits, build them, measure them in turns, then compare')
    .option('--matrix <file>', 'the matrix, that of each commit if it is in the repository')
    .option('--build <command>', 'command that builds a commit in its worktree, without a shell', shared.commandLine)
    .option('--repeats <n>', 'runs of each cell on both sides, at least', shared.positiveInteger)
    .option(
      '--until-sure <percent>',
      'repeat cells until a change of this size would be detected (default: 1)',
      shared.positivePercent,
    )
    .option('--max-repeats <n>', 'runs of a cell on both sides, at most (default: 20)', shared.positiveInteger)
    .option('--budget <time>', 'time limit such as 30m for the measurement', shared.duration)
    .option('--gpus <list>', 'measure on several GPUs at once: 0,2, UUIDs, MIG devices, or all')
    .option('--trtexec <path>', 'the trtexec to use; in the repository, that of each commit')
    .option('--replay <set>', 'answer from recordings: the name of a set, or a folder')
    .option('--python <path>', shared.PYTHON_HELP)
    .option('--no-telemetry', 'do not run nvidia-smi during the runs')
    .option('--untrusted', 'refuse --build, and matrices that name programs or libraries to start or load')
    .option('--force', 'measure again what is stored');
}

const define = (command: PlainCommand) =>
  ofRun(
    command
      .arguments('[base] [head]')
      .addOption(shared.metricOption())
      .addOption(shared.filterOption())
      .addOption(shared.branchOption())
      .addOption(shared.failOnOption())
      .addOption(shared.minChangeOption())
      .option('--map [axes]', 'show the changes as a map of two axes (default: precision,batch)')
      .option('--across-provenance', 'compare even if one side is recorded and the other measured')
      .option('--across-gpu', 'compare even if the GPUs differ')
      .option('--across-tensorrt', 'compare even if the TensorRT major versions differ')
      .option('--across-methods', 'compare medians even if the harnesses differ')
      .option('--across-clocks', 'compare even if only one side had locked clocks'),
  );

export type CompareOptions = OptionsOf<typeof define>;

export const compareCommand = defineCommand({
  name: 'compare',
  summary: 'show what got slower between two commits, sweeps or baselines',
  examples: [
    'bench compare                      # the newest sweep against its reference levels',
    'bench compare HEAD~1               # this commit against the one before',
    'bench compare main..HEAD --metric throughput',
    'bench compare baseline:v1.2 latest --fail-on regression,unclear',
    'bench compare HEAD~1 --map         # changes by precision and batch',
    'bench compare HEAD~1 --map streams,batch',
    'bench compare main...HEAD nightly.yaml --run --build ./build.sh   # measure both now, in turns',
  ],
  outputs: { compare: async () => (await import('./output.ts')).comparison },
  define,
  run: async ([base, head], options, io) => {
    if (options.run === true) return (await import('./run/compare-run.ts')).compareRun(base, head, options, io);
    const given = new Map<string, unknown>(Object.entries(options));
    const { options: ofRuns } = ofRun(new Command());
    const stated = ofRuns.find((one) => (given.get(one.attributeName()) ?? one.negate) !== one.negate);
    if (stated) throw new UsageError(`${stated.long ?? ''} is for a measurement: add --run, or leave it out`);
    return (await import('./compare.ts')).compare(base, head, options, io);
  },
});
