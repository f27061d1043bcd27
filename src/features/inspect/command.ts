import { defineCommand, type OptionsOf, type PlainCommand } from '../../cli/define-command.ts';

const define = (command: PlainCommand) => command.arguments('<model>');

export type InspectOptions = OptionsOf<typeof define>;

export const inspectCommand = defineCommand({
  name: 'inspect',
  summary: 'what an ONNX model takes and gives, and what stands in it',
  examples: [
    'bench model inspect models/vit.onnx      # reads no weights: any size takes milliseconds',
    'bench model inspect models/vit.onnx --json | jq .inputs',
  ],
  outputs: { inspect: async () => (await import('./output.ts')).inspectOutput },
  define,
  run: async ([model], options, io) => (await import('./inspect.ts')).inspect(model, options, io),
});
