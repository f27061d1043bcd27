import type { Command } from 'commander';

import type { Execute } from '../cli/execute.ts';
import {
  branchOption,
  command,
  failOnOption,
  filterOption,
  metricOption,
  portNumber,
  positiveInteger,
} from '../cli/options.ts';

/** Files for people and for other tools, and the report live. */
export function addReportCommands(program: Command, run: Execute): void {
  historyOptions(
    command(
      program,
      'report [base] [head]',
      'files for people and for other tools: pull requests, CI, dashboards, spreadsheets',
      [
        'bench report --html report.html                  # one file that works offline',
        "bench report --html vit.html --filter 'model=vit*' --last 90",
        'bench report main HEAD --md comment.md           # for a pull request',
        'bench report --night --junit report.xml --md -   # what bench check says, for CI',
        'bench report latest~1 latest --github            # step summary and annotations',
        'bench report --csv runs.csv --openmetrics bench.prom',
      ],
    ),
  )
    .option('--as-of <night>', 'with --html and --night: a date, a sweep, a commit')
    .option('--night', 'judged by the history, as bench check does, not against another side')
    .addOption(failOnOption())
    .optionsGroup('Formats, each to a file or to standard output:')
    .option('--html [file]', 'the whole report as one page: findings, trends, layers, samples')
    .option('--md [file]', 'Markdown that fits the comment of a pull request')
    .option('--junit [file]', 'JUnit XML: a test case for each cell; slower ones fail')
    .option('--csv [file]', 'a line for each run')
    .option('--openmetrics [file]', 'OpenMetrics text, for Prometheus and GitLab')
    .option('--bmf [file]', 'Bencher Metric Format')
    .option('--google-benchmark [file]', "JSON for google-benchmark's compare.py")
    .option('--github', 'Markdown to the summary of the step, annotations to standard output')
    .action(async (base: string | undefined, head: string | undefined, options) => {
      // It hides names itself, in files as well.
      await run({ ...options, redact: false }, async (io) =>
        (await import('../features/report/report.ts')).report(base, head, options, io),
      );
    });

  historyOptions(
    command(program, 'serve', 'the HTML report live from the store, for this machine only', [
      'bench serve                 # http://127.0.0.1:8737/',
      'bench serve --port 0        # any free port',
    ]),
  )
    .option('--port <n>', 'the port on 127.0.0.1', portNumber, 8737)
    .action(async (options) => {
      await run({ ...options, redact: false }, async (io) =>
        (await import('../features/report/serve.ts')).serve(options, io),
      );
    });
}

function historyOptions(made: Command): Command {
  return made
    .addOption(metricOption())
    .addOption(filterOption())
    .addOption(branchOption())
    .option('--last <n>', 'of the page: so many sweeps, the newest (default: 400)', positiveInteger);
}
