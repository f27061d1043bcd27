import type { Command } from 'commander';

import { UsageError } from '../domain/errors.ts';
import {
  command,
  filterOption,
  metricOption,
  portNumber,
  positiveInteger,
  run,
} from './options.ts';

/** Files for people and for other tools, and the report live. */
export function addReportCommands(program: Command): void {
  reportOptions(
    command(program, 'report', 'files for people and for other tools', [
      'bench report --html report.html                 # one file that works offline',
      "bench report --html vit.html --filter 'model=vit*' --last 90",
    ]),
  )
    .option('--html [file]', 'the whole report as one HTML file (default: standard output)')
    .option('--as-of <night>', 'a date, a sweep, a commit: as it was that night')
    .action(async ({ html, ...options }) => {
      // The report hides names itself: what it prints is no text to be changed.
      await run({ ...options, redact: false }, async (io) => {
        if (html === undefined) throw new UsageError('which report? --html FILE');
        const { reportHtml } = await import('../commands/report/html.ts');
        return reportHtml(html === true ? null : String(html), options, io);
      });
    });

  reportOptions(
    command(program, 'serve', 'the same report live from the store, for this machine only', [
      'bench serve                 # http://127.0.0.1:8737/',
      'bench serve --port 0        # any free port',
    ]),
  )
    .option('--port <n>', 'the port on 127.0.0.1', portNumber, 8737)
    .action(async (options) => {
      await run({ ...options, redact: false }, async (io) =>
        (await import('../commands/serve.ts')).serve(options, io),
      );
    });
}

function reportOptions(made: Command): Command {
  return made
    .addOption(metricOption())
    .addOption(filterOption())
    .option('--last <n>', 'so many sweeps, the newest (default: 400)', positiveInteger);
}
