import { defineCommand, type OptionsOf, type PlainCommand } from '../../cli/define-command.ts';

const define = (command: PlainCommand) =>
  command
    .option('--matrix <file>', 'a matrix: the trtexec that it names, or none if it replays')
    .option('--trtexec <path>', 'the trtexec to look at (default: $TRTEXEC, else from PATH)');

export type DoctorOptions = OptionsOf<typeof define>;

export const doctorCommand = defineCommand({
  name: 'doctor',
  summary: 'what of this machine keeps bench from measuring, or spoils numbers',
  examples: ['bench doctor', 'bench doctor --matrix matrices/nightly.yaml --json'],
  outputs: { doctor: async () => (await import('./output.ts')).doctorOutput },
  define,
  run: async (_, options, io) => (await import('./doctor.ts')).doctor(options, io),
});
