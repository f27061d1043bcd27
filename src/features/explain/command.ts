import { defineCommand, type OptionsOf, type PlainCommand } from '../../cli/define-command.ts';

const define = (command: PlainCommand) => command.arguments('<what>');

export type ExplainOptions = OptionsOf<typeof define>;

export const explainCommand = defineCommand({
  name: 'explain',
  summary: 'what a run says, and which profiler to take next',
  examples: [
    'bench explain 1a2b3c4d                # a run, by the start of its id',
    "bench explain 'model=vit & batch=8'    # a cell: the fastest run of its newest sweep",
    'bench explain 1a2b3c4d --json | jq .next',
  ],
  define,
  run: async ([what], options, io) => (await import('./explain-run.ts')).explainRun(what, options, io),
});
