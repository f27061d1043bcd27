import { defineCommand, outputsOf } from '../../cli/define-command.ts';

export const schemaCommand = defineCommand({
  name: 'schema',
  summary: 'print the JSON Schema of the matrix file or of a --json output',
  examples: [
    'bench schema matrix > matrix.schema.json',
    'bench schema compare     # what `bench compare --json` prints',
  ],
  isPlain: true,
  define: (command) => command.arguments('<name>'),
  run: async ([name], _options, io, program) => (await import('./schema.ts')).schema(name, outputsOf(program), io),
});
