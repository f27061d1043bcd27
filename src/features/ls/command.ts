import { defineCommand, type OptionsOf, type PlainCommand } from '../../cli/define-command.ts';
import { age, filterOption, positiveInteger } from '../../cli/options.ts';

const newestOptions = (command: PlainCommand) => command.option('--last <n>', 'show the newest N', positiveInteger, 20);

export type NewestOptions = OptionsOf<typeof newestOptions>;

export const sweepsCommand = defineCommand({
  name: 'sweeps',
  summary: 'list the sweeps, newest first',
  examples: ['bench ls sweeps', 'bench ls sweeps --last 5 --json'],
  outputs: { sweeps: async () => (await import('./output.ts')).sweepsOutput },
  define: newestOptions,
  run: async (_, options, io) => (await import('./ls.ts')).listStoredSweeps(options, io),
});

const cellsOptions = (command: PlainCommand) => command.addOption(filterOption());

export type CellsOptions = OptionsOf<typeof cellsOptions>;

export const cellsCommand = defineCommand({
  name: 'cells',
  summary: 'list the cells',
  examples: ['bench ls cells', "bench ls cells --filter 'precision=fp8'"],
  outputs: { cells: async () => (await import('./output.ts')).cellsOutput },
  define: cellsOptions,
  run: async (_, options, io) => (await import('./ls.ts')).listCells(options, io),
});

const machinesOptions = (command: PlainCommand) =>
  command
    .addOption(filterOption())
    .option('--since <age>', 'leave out machines unused for this long (default: 30d)', age);

export type MachinesOptions = OptionsOf<typeof machinesOptions>;

export const machinesCommand = defineCommand({
  name: 'machines',
  summary: 'list the machines that measured',
  examples: ['bench ls machines', "bench ls machines --since 7d --filter 'model=vit*'"],
  outputs: { machines: async () => (await import('./output.ts')).machinesOutput },
  define: machinesOptions,
  run: async (_, options, io) => (await import('./ls.ts')).listMachines(options, io),
});

export const findingsCommand = defineCommand({
  name: 'findings',
  summary: 'list the findings of bench check, newest first',
  examples: ['bench ls findings', 'bench ls findings --last 5 --json'],
  outputs: { findings: async () => (await import('./output.ts')).findingsOutput },
  define: newestOptions,
  run: async (_, options, io) => (await import('./ls.ts')).listStoredFindings(options, io),
});
