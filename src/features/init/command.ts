import { defineCommand, type OptionsOf, type PlainCommand } from '../../cli/define-command.ts';

const define = (command: PlainCommand) =>
  command
    .arguments('[places...]')
    .option('--output <file>', 'the matrix to write', 'matrix.yaml')
    .option('--force', 'overwrite an existing file')
    .option('--trtexec <path>', 'the trtexec to use (default: $TRTEXEC, else from PATH)');

export type InitOptions = OptionsOf<typeof define>;

export const initCommand = defineCommand({
  name: 'init',
  summary: 'write a first matrix for the ONNX models, trtexec and GPUs found here',
  examples: [
    'bench init                              # the models in this folder and below it',
    'bench init models/vit.onnx --output matrices/vit.yaml',
    'bench init && bench run matrix.yaml     # comments in the file mark guesses',
  ],
  outputs: { init: async () => (await import('./draft.ts')).initOutput },
  define,
  run: async ([places], options, io) => (await import('./init.ts')).init(places, options, io),
});
