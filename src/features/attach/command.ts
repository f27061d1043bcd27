import { defineCommand, type OptionsOf, type PlainCommand } from '../../cli/define-command.ts';

const define = (command: PlainCommand) =>
  command.arguments('<run> <files...>').option('--name <name>', 'keep the file under this name');

export type AttachOptions = OptionsOf<typeof define>;

export const attachCommand = defineCommand({
  name: 'attach',
  summary: 'keep files beside a run, by their hash',
  examples: [
    'bench attach 1a2b3c4d vit.nsys-rep vit.sqlite',
    'bench attach 1a2b3c4d notes.txt --name why-it-was-slow.txt',
  ],
  notes: 'bench show RUN lists them, bench db verify checks them, bench db prune --attachments-older-than drops them.',
  define,
  run: async ([id, files], options, io) => (await import('./attach.ts')).attach(id, files, options, io),
});
