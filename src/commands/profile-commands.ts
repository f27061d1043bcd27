import { type Command, Option } from 'commander';

import { CAPTURE_PRESETS } from '../features/profile/capture.ts';
import type { Execute } from '../cli/execute.ts';
import { byteSize, command, positiveInteger } from '../cli/options.ts';

/** Captures beside the measurements, and files that are kept with them. */
export function addProfileCommands(program: Command, run: Execute): void {
  command(
    program,
    'profile [cell] [command...]',
    'capture a cell with Nsight Systems: kernels by layer, gaps, copies, calls',
    [
      "bench profile 'model=vit & batch=8' --nsys             # builds what is not in the cache",
      'bench profile 1a2b3c4d --nsys --dry-run                # only the commands; needs no nsys',
      'bench profile --matrix nightly.yaml vit --nsys --dry-run --tensorrt 11.1',
      'bench profile 1a2b3c4d --ncu                           # the line of Nsight Compute for the hottest layer',
      'bench profile --nsys --preset trtllm --window 100-150 -- trtllm-bench --model M throughput',
    ],
  )
    .option('--nsys', 'capture with Nsight Systems')
    .option(
      '--ncu [layer]',
      'show the command line of Nsight Compute for a layer (default: the one that takes longest)',
    )
    .option('--dry-run', 'only show the commands')
    .option('--matrix <file>', 'a cell of this matrix instead of one in the store')
    .option('--iterations <n>', 'queries to capture, exactly (default: 50)', positiveInteger)
    .option('--gpu-metrics', 'clocks, DRAM and tensor cores over time as well; may need root')
    .option('--dla', 'trace DLA cores instead (20 queries), on boards that have them')
    .option('--output <name>', 'of the report, without ending (default: MODEL_profile)')
    .option('--force', 'replace a report of that name')
    .addOption(
      new Option('--max-size <size>', 'a larger report is neither read nor attached')
        .argParser(byteSize)
        .default(512 * 2 ** 20, '512MiB'),
    )
    .option('--trtexec <path>', 'the trtexec to use (default: the one of the sweep or the matrix)')
    .option('--tensorrt <version>', 'with --matrix and --dry-run: for this version, without trtexec')
    .addOption(
      new Option('--preset <name>', 'capture the command behind -- as its own guide does').choices(CAPTURE_PRESETS),
    )
    .option('--window <a-b>', 'with --preset trtllm: the iterations to capture')
    .addHelpText(
      'after',
      '\nThe capture is attached to the newest run of the cell; no statistic sees it. bench layers CELL --kernels shows it again.',
    )
    .action(async (cell: string | undefined, words: string[], options) => {
      const all = cell === undefined ? words : [cell, ...words];
      await run(options, async (io) => (await import('./profile-bundle.ts')).profile(all, options, io));
    });

  command(program, 'explain <what>', 'what a run says, and which profiler to take next', [
    'bench explain 1a2b3c4d                # a run, by the start of its id',
    "bench explain 'model=vit & batch=8'    # a cell: the fastest run of its newest sweep",
    'bench explain 1a2b3c4d --json | jq .next',
  ]).action(async (what: string, options) => {
    await run(options, async (io) => (await import('./profile-bundle.ts')).explainRun(what, options, io));
  });

  command(program, 'attach <run> <files...>', 'keep files beside a run, by their hash', [
    'bench attach 1a2b3c4d vit.nsys-rep vit.sqlite',
    'bench attach 1a2b3c4d notes.txt --name why-it-was-slow.txt',
  ])
    .option('--name <name>', 'keep the file under this name')
    .addHelpText(
      'after',
      '\nbench show RUN lists them, bench db verify checks them, bench db prune --attachments-older-than drops them.',
    )
    .action(async (id: string, files: string[], options) => {
      await run(options, async (io) => (await import('./profile-bundle.ts')).attach(id, files, options, io));
    });
}
