import { readFileSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';

import type { CommandUnknownOpts } from '@commander-js/extra-typings';

import { commandsOf } from '../../cli/define-command.ts';
import { type Io, printLines } from '../../cli/io.ts';
import { packageFolder } from '../../files/folders.ts';
import { ensure, UsageError, EXIT_CODES, EXIT_CODE_WORDS, type ExitCode } from '../../errors.ts';
import {
  type GatedMetricId,
  gatedMetricOf,
  isJudgedOnly,
  JUDGED_ONLY_IDS,
  wordOf,
} from '../../records/gated-metric.ts';
import { METRIC_IDS, type OwnMetricId, metricDefinition, ownMetricNamed } from '../../records/metric.ts';
import { type Look, dotted, labelled, padEnd, textWidth, wrapWords } from '../../terminal/look.ts';
import { didYouMean } from '../../text/nearest.ts';
import { printable } from '../../text/printable.ts';

const WIDEST = 100;
const WORDS = join('reference', 'words.md');

/** `bench help [TOPIC...]`: a command, with the entry of a word that also names it, or another topic. */
export function showHelp(words: readonly string[], isJson: boolean, program: CommandUnknownOpts, io: Io): ExitCode {
  ensure(!isJson, 'bench help prints text only: leave --json out');
  const topic = words.join(' ');
  const command = commandNamed(program, words);
  if (command === null) printLines(io, pageOf(topic, program, io.look));
  else {
    io.out(helpText(command));
    const row = wordRow(topic, io.look);
    if (row !== null) printLines(io, ['', ...row]);
  }
  return EXIT_CODES.fine;
}

function pageOf(topic: string, program: CommandUnknownOpts, look: Look): string[] {
  if (topic === '') return overviewPage(program, look);
  if (topic === 'metrics') return metricsPage(look);
  const number = numberNamed(topic);
  // `buildS` is a metric, while `builds` is the plural of a build.
  const isNumber = number !== undefined && [number, metricText(number).word].includes(topic);
  const found = isNumber ? null : inDocuments(topic, look);
  if (found !== null) return found;
  if (number !== undefined) return metricPage(number, look);
  const judged = JUDGED_ONLY_IDS.find((id) => wordOf(id) === topic);
  if (judged !== undefined) return definitions([rowOf(judged)], look);
  const commands = commandsOf(program).map((command) => command.name());
  const numbers = METRIC_IDS.map((id) => metricText(id).word);
  const known = documents().flatMap(({ name, lines }) => [name, ...lines.flatMap((line) => wordsOf(line))]);
  const guess = didYouMean(topic, ['metrics', ...commands, ...numbers, ...known]);
  throw new UsageError(`no help on ${topic}${guess} (bench help lists commands and topics)`);
}

/** The files of `docs/`, that of the words first. */
function documents() {
  const folder = join(packageFolder(), 'docs');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => /[a-z]\.md$/.test(file));
  return [WORDS, ...files.filter((file) => file !== WORDS).toSorted()].map((file) => {
    const lines = readFileSync(join(folder, file), 'utf8').split('\n');
    return { name: basename(file, '.md'), title: lines[0]?.slice(2) ?? '', lines };
  });
}

/** A file by its name, a section by its heading, or an entry of `words.md`. */
function inDocuments(topic: string, look: Look): string[] | null {
  const wanted = plain(topic);
  const all = documents();
  const file = all.find(({ name }) => plain(name) === wanted);
  if (file !== undefined) return file.lines.map((line) => printable(line));
  const word = wordRow(topic, look);
  if (word !== null) return word;
  const isTitle = (line: string): boolean => /^##+ /.test(line) && plain(line.replace(/^#+/, '')) === wanted;
  const lines = all.find((document) => document.lines.some(isTitle))?.lines;
  if (lines === undefined) return null;
  const [title = '', ...rest] = lines.slice(lines.findIndex(isTitle));
  const end = rest.findIndex((line) => line.startsWith('#'));
  return [title, ...rest.slice(0, end === -1 ? undefined : end)].map((line) => printable(line));
}

/** The row of a word, in the singular or plural; ignores case and hyphens. */
export function wordRow(topic: string, look: Look): string[] | null {
  const wanted = plain(topic);
  const line = documents()[0]?.lines.find((one) => wordsOf(one).some((word) => formsOf(plain(word)).includes(wanted)));
  if (line === undefined) return null;
  const words = wordsOf(line).join(', ');
  return [look.style.strong(words), '', ...paragraph(line.slice(line.indexOf('**: ') + 4), look)];
}

/** The words in bold at the beginning of an entry. */
function wordsOf(line: string): string[] {
  return /^- \*\*(.+?)\*\*: /.exec(line)?.[1]?.split(', ') ?? [];
}

function plain(word: string): string {
  return word
    .trim()
    .toLowerCase()
    .replaceAll(/[-_ ]+/g, ' ');
}

function formsOf(word: string): string[] {
  return [word, `${word}s`, word.replace(/y$/, 'ies'), word.replace(/([sx])$/, '$1es')];
}

/** A metric by its word, its ID, its label, trtexec's name, or a unit such as items/s; ignores case. */
function numberNamed(topic: string): OwnMetricId | undefined {
  const wanted = topic.toLowerCase();
  const isNamed = (id: OwnMetricId): boolean => {
    const { label, source, unit, word } = metricText(id);
    const names = [word, id, label, unit.endsWith('/s') ? unit : word, /^[\w ]+(?=: )/.exec(source)?.[0] ?? label];
    return names.some((name) => name.toLowerCase() === wanted);
  };
  return ownMetricNamed(wanted) ?? METRIC_IDS.find(isNamed);
}

function metricsPage(look: Look): string[] {
  const where = '--metric and limits of a matrix take these names. Details of one: bench help gpu';
  return [...definitions([...METRIC_IDS, ...JUDGED_ONLY_IDS].map(rowOf), look), '', ...paragraph(where, look)];
}

function rowOf(id: GatedMetricId): [word: string, text: string] {
  return [wordOf(id), `${meaning(id).slice(2)}${isJudgedOnly(id) ? ' (of a sweep: only for limits)' : ''}`];
}

/** `: GPU compute time, ms`, or `, ms` if the word already says it. */
function meaning(id: GatedMetricId): string {
  const [{ label, unit }, word] = [gatedMetricOf(id), wordOf(id)];
  return word.replaceAll('-', ' ') === label ? `, ${unit}` : `: ${label}, ${unit}`;
}

function metricPage(id: OwnMetricId, look: Look): string[] {
  const { caveats, says, source, word } = metricText(id);
  const title = `${look.style.strong(word)}${meaning(id)}${word === id ? '' : ` (in JSON: ${id})`}`;
  return [title, ...[says, `From: ${source}`, `Caveats: ${caveats}`].flatMap((text) => ['', ...paragraph(text, look)])];
}

function overviewPage(program: CommandUnknownOpts, look: Look): string[] {
  const groups = Map.groupBy(commandsOf(program), (command) => command.helpGroup().replace(/:$/, ''));
  const topics = documents().flatMap(({ name, title }): [string, string][] => [[name, title]]);
  const numbers = METRIC_IDS.map((id) => metricText(id).word);
  return [
    ...[...groups].flatMap(([group, commands]) => {
      const rows = commands.map((command): [string, string] => [command.name(), command.summary()]);
      return [look.style.strong(group), ...definitions(rows, look, '  '), ''];
    }),
    'Each command: bench help COMMAND',
    '',
    ...labelled('Exit codes: ', dotted(EXIT_CODE_WORDS), Math.min(look.columns, WIDEST)),
    '',
    look.style.strong('Topics: bench help TOPIC'),
    ...definitions([['metrics', 'every metric, where it comes from, and its caveats'], ...topics], look, '  '),
    '',
    look.style.strong('Numbers: bench help NAME'),
    ...paragraph(numbers.join(' '), look, '  '),
  ];
}

/** Names with their texts to the right, or below on a narrow terminal. */
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

export function metricText(id: OwnMetricId) {
  const { shown, source, says, caveats } = metricDefinition(id);
  const [word, label, unit] = shown;
  return { word, label, unit, source, says, caveats };
}

export function helpText(command: CommandUnknownOpts): string {
  const before = command.configureOutput();
  let text = '';
  command.configureOutput({ writeOut: (part) => (text += part) });
  command.outputHelp();
  command.configureOutput(before);
  return text;
}

/** Finds a command by its words, such as `baseline set`; null if there is none. */
export function commandNamed(program: CommandUnknownOpts, words: readonly string[]): CommandUnknownOpts | null {
  const named = words.reduce<CommandUnknownOpts | undefined>(
    (command, word) => command?.commands.find((each) => each.name() === word),
    program,
  );
  return words.length === 0 ? null : (named ?? null);
}
