import type { Command } from 'commander';

import { command, run } from './options.ts';

/** What leaves bench: one run for a trtexec alone, its times for other viewers. */
export function addExportCommands(program: Command): void {
  command(program, 'repro <run>', 'what it takes to run one run again, with trtexec alone', [
    'bench repro 1a2b3c4d                      # commands, hashes, machine, clocks, what nobody knows',
    'bench repro 1a2b3c4d --script repro.sh    # a shell script that needs no bench',
    'TRTEXEC=/opt/trt/bin/trtexec MODEL=vit.onnx sh repro.sh',
  ])
    .option('--script [file]', 'a POSIX shell script, to a file or to standard output')
    .action(async (name: string, options) => {
      // It hides names itself, in files as well.
      const redact = options.redact === true && typeof options.script !== 'string';
      await run({ ...options, redact }, async (io) =>
        (await import('./export-bundle.ts')).repro(name, options, io),
      );
    });
}
