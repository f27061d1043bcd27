import { InvalidArgumentError, Option } from '@commander-js/extra-typings';
import { defineCommand, type OptionsOf, type PlainCommand } from '../../cli/define-command.ts';
import { notEmpty, noteText, positiveInteger, statedShapes, parser, customMetricOf } from '../../cli/options.ts';
import { TIMERS } from '../../records/harness.ts';
import { PRECISIONS } from '../../records/cell.ts';
import { patternName } from '../../harnesses/number-pattern.ts';
import type { CustomMetricId } from '../../records/metric.ts';
import { readInstant } from '../../text/utc-instant.ts';

const define = (command: PlainCommand) =>
  command
    .arguments('<paths...>')
    .option('--sweep <name>', 'import everything as one sweep of this name (default: one sweep per folder)')
    .option('--commit <rev>', 'the commit that was measured', notEmpty)
    .option('--branch <name>', 'its branch', notEmpty)
    .option('--date <when>', 'when the runs were made, in UTC (default: from run.json or the log)', instant)
    .option('--model <name>', 'the model, for files that do not state it')
    .addOption(new Option('--precision <name>', 'the precision, for files that do not state it').choices(PRECISIONS))
    .option('--shapes <spec>', 'the shapes, such as input:8x3x224x224, for logs that do not state them', statedShapes)
    .option(
      '--as <harness>',
      'the harness that wrote the files, such as trtexec, or ./driver.js of a plug-in (default: by content)',
    )
    .option('--cuda-graph <on|off>', 'whether a CUDA graph was used, for files that do not state it', onOrOff)
    .addOption(
      new Option('--timer <timer>', 'the timer, for reports that do not state it').choices(
        TIMERS.filter((timer) => timer !== 'unknown'),
      ),
    )
    .option('--runs <n>', 'number of runs that a trace sums up', positiveInteger)
    .option(
      '--metric <name:lower|higher:unit>',
      'import your own numbers, one per line or a JSON field; e2e_ms means e2e_ms:lower:ms',
      ownMetric,
    )
    .option(
      '--pattern <text>',
      'where the number is in the lines of a log: "latency: {ms} ms"; without --metric, the braces contain its name',
      numberPattern,
    )
    .option('--telemetry <file>', 'what nvidia-smi dmon (or --query-gpu) printed during the only log', notEmpty)
    .option('--note <text>', 'a note on these runs, such as what their numbers include', noteText)
    .option('--into <sweep>', 'add to this import, by name or id, instead of a new sweep');

export type ImportOptions = OptionsOf<typeof define>;

export const importCommand = defineCommand({
  name: 'import',
  summary: 'import logs, exports and reports of runs made elsewhere',
  examples: [
    'bench import logs/2026-11-20/',
    'bench import --sweep v1.2 --commit v1.2 results/*.log',
    'bench import old.log --date 2026-03-01   # if the log has no date',
    'bench import torch-fp16.txt --model vit --precision fp16 --shapes input:128x3x224x224 --cuda-graph off',
    'bench import perf.csv --model vit --into v1.2   # adds to an existing import',
    'bench import app.log --pattern "latency: {ms} ms" --model vit --precision fp16 --shapes input:8x3x224x224',
    'bench import run.log --telemetry dmon.txt   # clocks, power and temperature with the log',
    'bench import artefacts/   # rebuilds a lost store',
  ],
  notes: 'Use import to store runs for comparison; bench parse only shows what bench reads in a file.',
  outputs: { import: async () => (await import('./text.ts')).importOutput },
  define,
  run: async ([paths], options, io) => (await import('./import.ts')).importRuns(paths, options, io),
});

const onOrOff = parser((text) => (text === 'on' || text === 'off' ? text === 'on' : null), 'must be on or off.');

/** Text with a name in braces in place of the number. */
const numberPattern = parser(
  (text) => (patternName(text) === null ? null : text),
  'must be text with one name in braces, such as "latency: {ms} ms".',
);

/** A custom metric. A suffix gives the unit of a time; rates (`images_per_s`) have none. */
function ownMetric(text: string): CustomMetricId {
  const id = customMetricOf(text);
  if (id !== null) return id;
  throw new InvalidArgumentError(
    `"${text}" does not say which way is better, and in which unit: write NAME:lower:UNIT or NAME:higher:UNIT.`,
  );
}

const instant = parser(
  readInstant,
  'It is not a date: write 2026-03-01 or 2026-03-01T02:30, in UTC, or with a zone as +01:00.',
);
