import type { Command } from 'commander';

import { command, failOnOption, filterOption, metricOption, run } from './options.ts';

/** What writes files for people and for other tools. */
export function addReportCommands(program: Command): void {
  command(
    program,
    'report [base] [head]',
    'files for people and for other tools: pull requests, CI, dashboards, spreadsheets',
    [
      'bench report main HEAD --md comment.md           # for a pull request',
      'bench report --night --junit report.xml --md -   # what bench check says, for CI',
      'bench report latest~1 latest --github            # step summary and annotations',
      'bench report --csv runs.csv --openmetrics bench.prom',
    ],
  )
    .option('--md [file]', 'Markdown that fits the comment of a pull request')
    .option('--junit [file]', 'JUnit XML: a test case for each cell; slower ones fail')
    .option('--csv [file]', 'a line for each run')
    .option('--openmetrics [file]', 'OpenMetrics text, for Prometheus and GitLab')
    .option('--bmf [file]', 'Bencher Metric Format')
    .option('--google-benchmark [file]', "JSON for google-benchmark's compare.py")
    .option('--github', 'Markdown to the summary of the step, annotations to standard output')
    .option('--night', 'judged by the history, as bench check does; the first word is the night')
    .addOption(metricOption())
    .addOption(filterOption())
    .addOption(failOnOption())
    .action(async (base: string | undefined, head: string | undefined, options) => {
      await run(options, async (io) =>
        (await import('./analysis-bundle.ts')).report(base, head, options, io),
      );
    });
}
