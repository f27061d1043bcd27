import type { CommandUnknownOpts } from '@commander-js/extra-typings';

import { commandsOf } from '../../cli/command-tree.ts';
import { DEFAULT_FAIL_ON, FAIL_ON_WORDS } from '../../cli/fail-on.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import type { Look } from '../../terminal/look.ts';
import { padEnd, textWidth, wrapWords } from '../../terminal/text-width.ts';
import { GLOSSARY, type Term } from './glossary.ts';
import { EXPLAINED_NUMBERS, type ExplainedNumber, metricText } from './metric-texts.ts';
import { isOwnMetric } from '../../records/metric.ts';
import { isRecord } from '../../text/unknown-values.ts';
import { MATRIX_DEFAULTS } from '../../matrix/schema/defaults.ts';

const WIDEST = 100;

export function wordsPage(look: Look): string[] {
  return [
    ...GLOSSARY.flatMap(({ text, words }) => [look.style.strong(words.join(', ')), ...paragraph(text, look, '  ')]),
    '',
    'Each of them: bench help WORD',
  ];
}

export function wordPage({ see, text, words }: Term, look: Look): string[] {
  const also = see === undefined ? [] : ['', ...paragraph(`See also: ${see.join(', ')}`, look)];
  return [look.style.strong(words.join(', ')), '', ...paragraph(text, look), ...also];
}

export function exitCodesPage(look: Look): string[] {
  const rows = EXIT_CODE_TEXTS.map(([code, text]): [string, string] => [String(code), text]);
  return [
    ...definitions(rows, look),
    '',
    ...paragraph(
      `--fail-on LIST selects what makes a nonzero exit code, of ${FAIL_ON_WORDS.join(', ')}; the default is ${DEFAULT_FAIL_ON.join(',')}.`,
      look,
    ),
  ];
}

export function metricsPage(look: Look): string[] {
  const rows = EXPLAINED_NUMBERS.map((id): [string, string] => {
    return [metricText(id).word, `${meaning(id).slice(2)}${isOwnMetric(id) ? '' : ' (shown only)'}`];
  });
  return [
    ...definitions(rows, look),
    '',
    ...paragraph('--metric and limits of a matrix take these names, but for those that are only shown.', look),
    'Each of them: bench help gpu',
  ];
}

/** `: GPU compute time, ms`; `, ms` where the word says it all. */
function meaning(id: ExplainedNumber): string {
  const { label, unit, word } = metricText(id);
  return word.replaceAll('-', ' ') === label ? `, ${unit}` : `: ${label}, ${unit}`;
}

export function metricPage(id: ExplainedNumber, look: Look): string[] {
  const { caveats, says, source, word } = metricText(id);
  return [
    `${look.style.strong(word)}${meaning(id)}${word === id ? '' : ` (in JSON: ${id})`}`,
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

export const EXIT_CODE_TEXTS: readonly (readonly [ExitCode, string])[] = [
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
  { name: 'man', description: 'all of it as a page for man: bench help man > bench.1' },
];

export function metricTopics() {
  return EXPLAINED_NUMBERS.map(metricText).map(({ label, word }) => ({ name: word, description: label }));
}
