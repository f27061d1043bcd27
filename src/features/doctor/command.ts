import { matrixFilterOption } from '../../cli/options.ts';
import { defineCommand, type OptionsOf, type PlainCommand } from '../../cli/define-command.ts';

const define = (command: PlainCommand) =>
  command
    .option('--matrix <file>', 'check the trtexec that this matrix names (none if it replays)')
    .option('--measure', 'run a reference (default: a small one) and compare it with earlier ones on this GPU')
    .addOption(matrixFilterOption())
    .option('--trtexec <path>', 'the trtexec to check (default: $TRTEXEC, else from PATH)');

export type DoctorOptions = OptionsOf<typeof define>;

export const doctorCommand = defineCommand({
  name: 'doctor',
  summary: 'check that this machine can measure reliably',
  examples: [
    'bench doctor',
    'bench doctor --matrix matrices/nightly.yaml --json',
    'bench doctor --measure                # is this machine as fast as before?',
    "bench doctor --measure --matrix matrices/nightly.yaml --filter 'vit fp16 b8'",
  ],
  outputs: { doctor: async () => (await import('./output.ts')).doctorOutput },
  define,
  run: async (_, options, io) => (await import('./doctor.ts')).doctor(options, io),
});
