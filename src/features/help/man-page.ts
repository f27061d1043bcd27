import type { CommandInfo, OptionInfo } from '../../cli/command-info.ts';
import { EXIT_CODE_TEXTS } from './exit-code-texts.ts';
import { EXPLAINED_NUMBERS, metricText } from './metric-texts.ts';
import { WORD_TEXTS } from './word-texts.ts';

/** The manual page in roff (man macros), from the command tree and the texts of the topics. */
export function manPage(program: CommandInfo, version: string): string {
  const common = commonOptions(program);
  const lines = [
    `.TH BENCH 1 "" "trtbench ${roff(version)}" "User Commands"`,
    '.SH NAME',
    `bench \\- ${roff(program.description)}`,
    '.SH SYNOPSIS',
    '.B bench',
    roff('COMMAND [options]'),
    '.SH OPTIONS OF ALL COMMANDS',
    ...common.flatMap(optionLines),
    '.SH COMMANDS',
    ...commandsOf(program).flatMap((command) => commandLines(command, common)),
    '.SH NUMBERS',
    ...EXPLAINED_NUMBERS.flatMap((id) => {
      const { caveats, label, says, source, unit } = metricText(id);
      const texts = [`${label}, ${unit}.`, says, `From: ${source}.`, `What makes it lie: ${caveats}`];
      return item(id, texts.join(' '));
    }),
    '.SH WORDS',
    ...WORD_TEXTS.flatMap(([word, text]) => item(word, text)),
    '.SH EXIT STATUS',
    ...EXIT_CODE_TEXTS.flatMap(([code, text]) => item(String(code), text)),
    '.SH ENVIRONMENT',
    ...ENVIRONMENT.flatMap(([name, text]) => item(name, text)),
  ];
  return `${lines.join('\n')}\n`;
}

const ENVIRONMENT: readonly (readonly [string, string])[] = [
  ['BENCH_DB', 'The store, where --db does not name one.'],
  ['TRTEXEC', 'The trtexec to use, where neither --trtexec nor the matrix names one.'],
  ['BENCH_PYTHON', 'The Python with ModelOpt and onnxruntime; else python3.'],
  ['BENCH_LOCK_DIR', 'Where the locks of GPUs are; a folder in the temporary folder by default.'],
  ['BENCH_NODE', 'A newer Node to run under, where the one on PATH is too old.'],
  ['BENCH_DEBUG', 'Set to 1: errors show their stack.'],
  ['NO_COLOR, FORCE_COLOR', 'No colour; colour although the output is no terminal.'],
];

/** Those without commands of their own, and those inside of the others. */
function commandsOf(command: CommandInfo): CommandInfo[] {
  return command.commands.flatMap((each) => (each.commands.length === 0 ? [each] : commandsOf(each)));
}

/** Every command that has `--json` has these. */
function commonOptions(program: CommandInfo): OptionInfo[] {
  const lists = commandsOf(program)
    .map(({ options }) => options)
    .filter((options) => options.some(({ name }) => name === '--json'));
  const [first = [], ...others] = lists;
  return first.filter(({ flags }) => others.every((options) => options.some((each) => each.flags === flags)));
}

function commandLines(command: CommandInfo, common: readonly OptionInfo[]): string[] {
  const own = command.options.filter(({ flags }) => !common.some((each) => each.flags === flags));
  return [
    `.SS ${roff(`${command.path} ${command.usage}`)}`,
    roff(sentence(command.description)),
    ...own.flatMap(optionLines),
    ...(command.examples.length === 0
      ? []
      : ['.PP', 'Examples:', '.nf', ...command.examples.map((line) => `  ${literal(line)}`), '.fi']),
  ];
}

function optionLines({ choices, defaultText, description, flags }: OptionInfo): string[] {
  const more = [
    ...(choices.length === 0 ? [] : [`one of ${choices.join(', ')}`]),
    ...(defaultText === null ? [] : [`default: ${defaultText}`]),
  ];
  return item(flags, more.length === 0 ? description : `${description} (${more.join('; ')})`);
}

function item(term: string, text: string): string[] {
  return ['.TP', `.B ${roff(term)}`, roff(text)];
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

/** Text that roff takes for nothing but text: on one line, no request at its beginning, no escapes. */
function roff(text: string): string {
  return literal(text.replaceAll(/\s+/g, ' '));
}

/** The same with its blanks. What is no ASCII is written by its number: man may read the page in any encoding. */
function literal(text: string): string {
  return text
    .replaceAll('\\', String.raw`\e`)
    .replaceAll('-', String.raw`\-`)
    .replaceAll(/[^ -~]/gu, codePoint)
    .replace(/^(?=[.'])/, String.raw`\&`);
}

function codePoint(character: string): string {
  const number = character.codePointAt(0) ?? 0;
  return `\\[u${number.toString(16).toUpperCase().padStart(4, '0')}]`;
}
