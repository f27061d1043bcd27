import { Option } from '@commander-js/extra-typings';
import { defineCommand, type OptionsOf, type PlainCommand } from '../../cli/define-command.ts';
import { byteSize, positiveInteger } from '../../cli/options.ts';

/** Harnesses other than trtexec with the capture options from their documentation. */
const CAPTURE_PRESETS = ['trtllm'] as const;

const define = (command: PlainCommand) =>
  command
    .arguments('[cell] [command...]')
    .addOption(new Option('--nsys', 'capture with Nsight Systems').conflicts('ncu'))
    .option(
      '--ncu [layer]',
      'show the command line of Nsight Compute for a layer (default: the one that takes longest)',
    )
    .option('--dry-run', 'only show the commands')
    .option('--matrix <file>', 'a cell of this matrix instead of one in the store')
    .option('--iterations <n>', 'queries to capture, exactly (default: 50)', positiveInteger)
    .option('--gpu-metrics', 'also sample clocks, DRAM and tensor cores; may need root')
    .option('--dla', 'trace DLA cores instead (20 queries)')
    .option('--output <name>', 'name of the report, without extension (default: MODEL_profile)')
    .option('--force', 'overwrite an existing report')
    .addOption(
      new Option('--max-size <size>', 'maximum size of a report that is read and attached')
        .argParser(byteSize)
        .default(512 * 2 ** 20, '512MiB'),
    )
    .option('--trtexec <path>', 'the trtexec to use (default: the one of the sweep or the matrix)')
    .option('--tensorrt <version>', 'with --matrix and --dry-run: plan for this version, without trtexec')
    .addOption(
      new Option('--preset <name>', 'capture the command after -- as its guide recommends')
        .choices(CAPTURE_PRESETS)
        .conflicts(['ncu', 'matrix', 'dla', 'gpuMetrics', 'iterations', 'trtexec']),
    )
    .option('--window <a-b>', 'with --preset trtllm: the iterations to capture');

export type ProfileOptions = OptionsOf<typeof define>;

export const profileCommand = defineCommand({
  name: 'profile',
  summary: 'capture a cell with Nsight Systems: kernels, copies, API calls',
  examples: [
    "bench profile 'model=vit & batch=8' --nsys             # builds what is not in the cache",
    'bench profile 1a2b3c4d --nsys --dry-run                # only the commands; needs no nsys',
    'bench profile --matrix nightly.yaml vit --nsys --dry-run --tensorrt 11.1',
    'bench profile 1a2b3c4d --ncu                           # the line of Nsight Compute for the hottest layer',
    'bench profile --nsys --preset trtllm --window 100-150 -- trtllm-bench --model M throughput',
  ],
  notes:
    'The capture is attached to the newest run of the cell; it does not affect statistics. bench layers CELL --kernels shows it again.',
  outputs: { profile: async () => (await import('./target.ts')).profileOutput },
  define,
  run: async ([cell, more], options, io, { args }) => {
    const words = cell === undefined ? more : [cell, ...more];
    const isFit = options.preset === undefined || args.at(-words.length - 1) === '--';
    return (await import('./profile.ts')).profile(isFit ? words : [], options, io);
  },
});
