import { type Command, Option } from 'commander';

import { EXPORT_FORMATS } from '../features/export/format.ts';
import type { Execute } from '../cli/execute.ts';
import { command } from '../cli/options.ts';

/** What leaves bench: one run to be repeated without it, its times for other viewers. */
export function addExportCommands(program: Command, run: Execute): void {
  command(program, 'repro <what>', 'what it takes to run one run again, without bench', [
    'bench repro 1a2b3c4d                      # commands, hashes, machine, clocks, what nobody knows',
    "bench repro 'model=vit & batch=8'          # the fastest run of a cell in its newest sweep",
    'bench repro 1a2b3c4d --script repro.sh    # a shell script that needs no bench',
    'TRTEXEC=/opt/trt/bin/trtexec MODEL=vit.onnx sh repro.sh',
  ])
    .option('--script [file]', 'a POSIX shell script, to a file or to standard output')
    .action(async (name: string, options) => {
      // It hides names itself, in files as well.
      const redact = options.redact === true && typeof options.script !== 'string';
      await run({ ...options, redact }, async (io) => (await import('./export-bundle.ts')).repro(name, options, io));
    });

  command(program, 'export <what>', 'the queries and layers of a run for viewers of traces; a cell for Triton', [
    'bench export 1a2b3c4d --format chrome-trace --output run.json   # chrome://tracing, ui.perfetto.dev',
    'bench export 1a2b3c4d --format perfetto --output run.pftrace    # ui.perfetto.dev',
    'bench export vit --format triton-config > config.pbtxt          # of the fastest run of a cell',
  ])
    .addOption(new Option('--format <name>', 'what it becomes').choices(EXPORT_FORMATS).makeOptionMandatory())
    .option('--output <file>', 'a file (default: standard output)')
    .action(async (what: string, options) => {
      await run(options, async (io) => (await import('./export-bundle.ts')).exportRun(what, options, io));
    });
}
