import { defineCommand, type OptionsOf, type PlainCommand } from '../../cli/define-command.ts';

const define = (command: PlainCommand) =>
  command.arguments('<what>').option('--script [file]', 'a POSIX shell script, to a file or to standard output');

export type ReproOptions = OptionsOf<typeof define>;

export const reproCommand = defineCommand({
  name: 'repro',
  summary: 'print a standalone script that reproduces a run',
  examples: [
    'bench repro 1a2b3c4d                      # commands, hashes, machine, clocks, unknowns',
    "bench repro 'model=vit & batch=8'          # the fastest run of a cell in its newest sweep",
    'bench repro 1a2b3c4d --script repro.sh    # a shell script that needs no bench',
    'TRTEXEC=/opt/trt/bin/trtexec MODEL=vit.onnx sh repro.sh',
  ],
  outputs: { repro: async () => (await import('./output.ts')).reproOutput },
  define,
  // Redacts by itself, also in files.
  redact: ({ redact, script }) => redact === true && typeof script !== 'string',
  run: async ([name], options, io) => (await import('./repro.ts')).reproduce(name, options, io),
});
