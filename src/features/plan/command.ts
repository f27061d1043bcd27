import { defineCommand, type OptionsOf, type PlainCommand } from '../../cli/define-command.ts';
import { planOptions } from '../../cli/options.ts';

const define = (command: PlainCommand) =>
  planOptions(command.arguments('<matrix>')).option('--tensorrt <version>', 'plan for this version, without a trtexec');

export type PlanOptions = OptionsOf<typeof define>;

export const planCommand = defineCommand({
  name: 'plan',
  summary: 'show the cells, builds and runs of a matrix with their exact command lines',
  examples: [
    'bench plan matrices/nightly.yaml',
    'bench plan matrices/nightly.yaml --tensorrt 11.0   # no trtexec needed',
    "bench plan matrices/nightly.yaml --filter 'precision=fp8 & batch>=8' --json",
  ],
  outputs: { plan: async () => (await import('./plan.ts')).planOutput },
  define,
  run: async ([matrix], options, io) => (await import('./plan.ts')).plan(matrix, options, io),
});
