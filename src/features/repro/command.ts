import { positiveInteger, wholeNumber } from '../../cli/options.ts';
import { defineCommand, type OptionsOf, type PlainCommand } from '../../cli/define-command.ts';

const define = (command: PlainCommand) =>
  command
    .arguments('<what>')
    .option('--script [file]', 'a POSIX shell script, to a file or to standard output')
    .option(
      '--bundle <file>',
      'a zip file for a bug report: commands, logs, layers, environment; without private names and paths',
    )
    .option('--base <ref>', 'the good build, for the bundle: a commit, sweep or run to compare layers with')
    .option('--reduce <layer>', 'a smaller ONNX model around a changed layer, given by its name or ONNX node')
    .option('--around <n>', 'layers to keep on each side, so that it is fused as before', wholeNumber, 1)
    .option('--model <file>', 'the ONNX file to reduce (default: the one that was built)')
    .option('--python <path>', 'a Python with onnx, for --reduce (default: $BENCH_PYTHON, else python3)')
    .option('--max-mib <n>', 'size limit of the bundle, before compression', positiveInteger, 24)
    .option('--force', 'overwrite an existing bundle');

export type ReproOptions = OptionsOf<typeof define>;

export const reproCommand = defineCommand({
  name: 'repro',
  summary: 'show how to repeat a run: a standalone script, a bundle for a bug report',
  examples: [
    'bench repro 1a2b3c4d                      # commands, hashes, machine, clocks, unknowns',
    "bench repro 'model=vit & batch=8'          # the fastest run of a cell in its newest sweep",
    'bench repro 1a2b3c4d --script repro.sh    # a shell script that needs no bench',
    'TRTEXEC=/opt/trt/bin/trtexec MODEL=vit.onnx sh repro.sh',
    'bench repro 1a2b3c4d --bundle bug.zip --base latest~1   # to attach to a bug report',
    "bench repro vit --bundle bug.zip --base latest~1 --reduce 'patch_embed/Conv'",
  ],
  outputs: {
    repro: async () => (await import('./output.ts')).reproOutput,
    'repro-bundle': async () => (await import('./output.ts')).reproBundle,
  },
  define,
  // Redacts on its own, also in files.
  redact: ({ redact, script }) => redact === true && typeof script !== 'string',
  run: async ([name], options, io) => {
    if (options.bundle === undefined) return (await import('./repro.ts')).reproduce(name, options, io);
    return (await import('./bundle.ts')).writeBundle(name, options.bundle, options, io);
  },
});
