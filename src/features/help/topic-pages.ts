import type { CommandUnknownOpts } from '@commander-js/extra-typings';

import { commandsOf } from '../../cli/command-tree.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import type { Look } from '../../terminal/look.ts';
import { padEnd, textWidth, wrapWords } from '../../terminal/text-width.ts';
import { EXPLAINED_NUMBERS, type ExplainedNumber, metricText } from './metric-texts.ts';
import { isRecord } from '../../text/unknown-values.ts';
import { MATRIX_DEFAULTS } from '../../matrix/schema/defaults.ts';

const WIDEST = 100;

export function wordsPage(look: Look): string[] {
  return WORD_TEXTS.flatMap(([word, text]) => [look.style.strong(word), ...paragraph(text, look, '  ')]);
}

export function exitCodesPage(look: Look): string[] {
  const rows = EXIT_CODE_TEXTS.map(([code, text]): [string, string] => [String(code), text]);
  return [
    ...definitions(rows, look),
    '',
    ...paragraph(
      '--fail-on LIST selects what makes a nonzero exit code, of regression, failed and unclear; the default is regression,failed.',
      look,
    ),
  ];
}

export function metricsPage(look: Look): string[] {
  const rows = EXPLAINED_NUMBERS.map((id): [string, string] => {
    const { label, unit } = metricText(id);
    return [id, `${label}, ${unit}`];
  });
  return [...definitions(rows, look), '', 'Each of them: bench help gpuComputeMs'];
}

export function metricPage(id: ExplainedNumber, look: Look): string[] {
  const { caveats, label, says, source, unit } = metricText(id);
  return [
    `${look.style.strong(id)}: ${label}, ${unit}`,
    '',
    ...paragraph(says, look),
    '',
    ...paragraph(`From: ${source}`, look),
    '',
    ...paragraph(`Caveats: ${caveats}`, look),
  ];
}

export function overviewPage(program: CommandUnknownOpts, look: Look): string[] {
  const groups = Map.groupBy(commandsOf(program), (command) => command.helpGroup().replace(/:$/, ''));
  const topics = GENERAL_TOPICS.map((each): [string, string] => [each.name, each.description]);
  const numbers = metricTopics().map(({ name }) => name);
  return [
    ...[...groups].flatMap(([group, commands]) => [
      look.style.strong(group),
      ...definitions(
        commands.map((command) => [command.name(), command.description()]),
        look,
        '  ',
      ),
      '',
    ]),
    'Each command: bench help COMMAND',
    '',
    look.style.strong('Topics: bench help TOPIC'),
    ...definitions(topics, look, '  '),
    '',
    look.style.strong('Numbers: bench help NAME'),
    ...paragraph(numbers.join(' '), look, '  '),
  ];
}

/** Names with their texts next to them; below them where the terminal is narrow. */
function definitions(rows: readonly (readonly [string, string])[], look: Look, indent = ''): string[] {
  const width = Math.max(...rows.map(([name]) => textWidth(name))) + 2;
  const room = Math.min(look.columns, WIDEST) - width - indent.length;
  if (room < 24) {
    return rows.flatMap(([name, text]) => [`${indent}${name}`, ...paragraph(text, look, `${indent}  `)]);
  }
  return rows.flatMap(([name, text]) =>
    wrapWords(text, room).map((line, index) => `${indent}${padEnd(index === 0 ? name : '', width)}${line}`),
  );
}

function paragraph(text: string, { columns }: Look, indent = ''): string[] {
  const width = Math.min(columns, WIDEST) - indent.length;
  return wrapWords(text, width).map((line) => `${indent}${line}`);
}

const EXIT_CODE_TEXTS: readonly (readonly [ExitCode, string])[] = [
  [EXIT_CODES.fine, 'Fine: nothing got slower, or there was nothing to judge.'],
  [EXIT_CODES.regression, 'A regression: something got slower. It wins over 4.'],
  [EXIT_CODES.wrongUse, 'Wrong use or bad input: the line on standard error says what and where.'],
  [
    EXIT_CODES.environmentLacking,
    'The environment lacks something: trtexec, a GPU, ModelOpt, a disk that may be written, the store that a sweep writes into. Also in place of 0: the results could not be written to standard output. `bench doctor` says what to do.',
  ],
  [
    EXIT_CODES.incomplete,
    'Some runs failed, so the answer is not complete. Also: nothing is within the limits of `bench choose`, a store or an engine is damaged (`bench db verify`, `bench engines verify`), stores contradict each other (`bench db merge`).',
  ],
  [EXIT_CODES.unclear, 'Unclear, with --fail-on unclear: more runs would be needed.'],
  [EXIT_CODES.internalError, 'An internal error in bench; BENCH_DEBUG=1 shows the stack.'],
  [EXIT_CODES.interrupted, 'Interrupted; what was measured is kept, and `bench run --resume` goes on.'],
];

const WORD_TEXTS: readonly (readonly [string, string])[] = [
  [
    'cell',
    'One point of a matrix: a model in a precision, with its shapes, CUDA graph, transfers, streams, spin wait, inputs, and every flag on an axis. A cell keeps its history when its engine is rebuilt or its model is exported again.',
  ],
  [
    'run',
    'One trtexec process of one cell. The run is the unit of evidence, not the single query: a thousand queries of one process share its clock, its memory layout and its luck.',
  ],
  ['query', 'One inference of the whole batch inside of a run, as trtexec counts.'],
  ['repeat', 'One of several runs of the same cell. They are spread over the sweep in shuffled order.'],
  [
    'sweep',
    'One `bench run` or one import: its plan, commit, branch, machine, start and end. A night is mostly one sweep.',
  ],
  [
    'engine',
    'A built plan file. It is built once for all runs of a cell, and kept for the next sweep as long as model, flags, TensorRT, GPU and driver are the same.',
  ],
  ['build', 'One building of an engine. Two builds of the same engine may choose other tactics, and differ in speed.'],
  [
    'variant',
    'An ONNX file of another precision, made from the base model by ModelOpt: AutoCast for FP16 and BF16, quantization for FP8, INT8 and INT4.',
  ],
  [
    'provenance',
    'Where results come from: measured (here), recorded (answered from recordings), simulated, imported. Results of different provenance are never compared or charted together unless requested by name.',
  ],
  [
    'measured, unfit, failed',
    'The outcome of a run. Unfit: it printed numbers, but not of what was requested, as with a graph that was not captured. Failed: no numbers. Both are kept with their reason and the lines of the log.',
  ],
  [
    'verdict',
    'What a comparison says of a cell: slower, faster, same, unclear (with the detectable effect, and how many runs would settle it), missing, failed, or incomparable.',
  ],
  ['base, head', 'The two sides of a comparison: before and after.'],
  ['baseline', 'A name for a sweep, such as a release: bench compare baseline:v1.2.'],
  [
    'finding',
    'A lasting change of a cell. `bench check` reports it once, as soon as it is certain. `bench ack` acknowledges it.',
  ],
  [
    'environment',
    'The machine as far as it decides numbers: GPU, driver, CUDA, TensorRT, clocks, host. A change of it is named with what changed at the same time.',
  ],
  [
    'detectable',
    'The smallest change that would have been found nine times in ten. A verdict without it would be worth little.',
  ],
  [
    'cause',
    'What `bench why` names for a change, with its evidence: kernels, fusions, clocks, power, the host, options.',
  ],
  [
    'layer, fusion',
    'A step of an engine, and several nodes of the ONNX graph that became one. A fusion that is lost is a frequent cause of a slower engine.',
  ],
];

const EXAMPLE = [
  'models:',
  '  vit:',
  '    onnx: models/vit.onnx',
  '    shapes: { input: [batch, 3, 224, 224] }   # a word is an axis',
  'axes:',
  '  precision: [fp32, fp16]',
  '  batch: [1, 8, 32]',
  'build: { opt: { batch: 8 } }',
];

export function matrixPage(schema: object, look: Look): string[] {
  const top = new Set(Object.keys(propertiesOf(schema)));
  return [
    ...paragraph(
      `A matrix is a YAML file: models, axes, how engines are built, how cells are measured. Each combination of axis values is a cell, and each cell is measured \`repeats\` times (default: ${MATRIX_DEFAULTS.repeats}).`,
      look,
    ),
    '',
    ...EXAMPLE.map((line) => `    ${line}`),
    '',
    ...definitions(keys(schema, '', top), look),
    '',
    ...paragraph(
      '`bench init` writes one, `bench plan` shows what it means, and `bench schema matrix` prints the schema for editors.',
      look,
    ),
  ];
}

/**
 * Dotted names of what is described, down to what is under a name that a person chooses.
 * @param top what is at the top of the file is described there, also where a model may have its own
 */
function keys(schema: unknown, path: string, top: ReadonlySet<string>): [string, string][] {
  const own = Object.entries(propertiesOf(schema)).flatMap(([name, inner]): [string, string][] => {
    const here = path === '' ? name : `${path}.${name}`;
    const isDescribedAtTop = path !== '' && top.has(name);
    return [[here, descriptionOf(inner)], ...(isDescribedAtTop ? [] : keys(inner, here, top))];
  });
  const named = isRecord(schema) ? schema['additionalProperties'] : null;
  const isModel = Object.keys(propertiesOf(named)).length > 0;
  return [...own, ...(isModel ? keys(named, `${path}.NAME`, top) : [])];
}

function propertiesOf(schema: unknown): Readonly<Record<string, unknown>> {
  const properties = isRecord(schema) ? schema['properties'] : null;
  return isRecord(properties) ? properties : {};
}

function descriptionOf(schema: unknown): string {
  if (!isRecord(schema)) return '';
  const text = schema['description'];
  return typeof text === 'string' ? text : descriptionOf(schema['items']);
}

export const GENERAL_TOPICS = [
  { name: 'words', description: 'glossary' },
  { name: 'metrics', description: 'every metric, where it comes from, and its caveats' },
  { name: 'matrix', description: 'every key of a matrix file' },
  { name: 'exit-codes', description: 'meaning of the exit codes' },
];

export function metricTopics() {
  return EXPLAINED_NUMBERS.map((name) => ({ name, description: metricText(name).label }));
}
