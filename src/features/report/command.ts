import type { Command } from '@commander-js/extra-typings';
import { type CommonOptions, defineCommand, type OptionsOf, type PlainCommand } from '../../cli/define-command.ts';
import * as shared from '../../cli/options.ts';

function historyOptions<Arguments extends unknown[]>(command: Command<Arguments, CommonOptions>) {
  return command
    .addOption(shared.metricOption())
    .addOption(shared.filterOption())
    .addOption(shared.branchOption())
    .option('--last <n>', 'use the newest N sweeps for the page (default: 400)', shared.positiveInteger);
}

const reportOptions = (command: PlainCommand) =>
  historyOptions(command.arguments('[base] [head]'))
    .option('--as-of <sweep>', 'judge an earlier sweep (date, sweep or commit)')
    .option('--upgrade', 'compare two installations, drivers or containers: is an upgrade from BASE to HEAD safe?')
    .option('--night', 'the newest sweep as bench check judges it: the default without sides')
    .addOption(shared.failOnOption())
    .optionsGroup('Formats, each to a file or to standard output:')
    .option('--html [file]', 'the whole report as one page: findings, trends, layers, samples')
    .option('--md [file]', 'Markdown that fits the comment of a pull request')
    .option('--junit [file]', 'JUnit XML: a test case for each cell and finding; slower ones fail')
    .option('--csv [file]', 'a line for each run')
    .option('--openmetrics [file]', 'OpenMetrics text, for Prometheus and GitLab')
    .option('--bmf [file]', 'Bencher Metric Format')
    .option(
      '--reporter <name=file>',
      'a plug-in that the matrix names; without =FILE to standard output',
      shared.collected,
    )
    .option('--github', 'Markdown to the summary of the step, annotations to standard output');

export type ReportOptions = OptionsOf<typeof reportOptions>;

export const reportCommand = defineCommand({
  name: 'report',
  summary: 'write reports: HTML, Markdown, JUnit, CSV, OpenMetrics and others',
  examples: [
    'bench report --html report.html                  # one file that works offline',
    "bench report --html vit.html --filter 'model=vit*' --last 90",
    'bench report main HEAD --md comment.md           # for a pull request',
    'bench report --junit report.xml --md -           # what bench check says, for CI',
    'bench report latest~1 latest --github            # step summary and annotations',
    'bench report --upgrade trt=10.6 trt=10.16 --md -      # can we move to 10.16?',
    'bench report --csv runs.csv --openmetrics bench.prom',
  ],
  notes: 'Use report for files that CI and people read; bench check prints the same verdicts.',
  outputs: {
    report: async () => (await import('./output.ts')).report,
    upgrade: async () => (await import('./output.ts')).upgrade,
    'report-html': async () => (await import('./output.ts')).reportHtml,
  },
  define: reportOptions,
  // Writing to files and other formats redacts on its own.
  redact: ({ redact, upgrade }) => upgrade === true && redact === true,
  run: async ([base, head], options, io) => (await import('./report.ts')).report(base, head, options, io),
});

const serveOptions = (command: PlainCommand) =>
  historyOptions(command).option('--port <n>', 'the port on 127.0.0.1', portNumber, 8737);

export type ServeOptions = OptionsOf<typeof serveOptions>;

export const serveCommand = defineCommand({
  name: 'serve',
  summary: 'serve the live HTML report on this machine',
  examples: ['bench serve                 # http://127.0.0.1:8737/', 'bench serve --port 0        # any free port'],
  outputs: { serve: async () => (await import('./output.ts')).serve },
  define: serveOptions,
  redact: () => false,
  run: async (_, options, io) => (await import('./serve.ts')).serve(options, io),
});

const portNumber = shared.parser(
  (text) => (/^\d{1,5}$/.test(text) && Number(text) <= 65_535 ? Number(text) : null),
  'must be from 0 to 65535.',
);
