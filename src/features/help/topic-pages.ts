import type { CommandInfo } from '../../cli/command-info.ts';
import type { Look } from '../../terminal/look.ts';
import { padEnd, textWidth, wrapWords } from '../../terminal/text-width.ts';
import { EXIT_CODE_TEXTS } from './exit-code-texts.ts';
import { EXPLAINED_NUMBERS, type ExplainedNumber, metricText } from './metric-texts.ts';
import { GENERAL_TOPICS, metricTopics } from './topics.ts';
import { WORD_TEXTS } from './word-texts.ts';

/** Longer lines are hard to read on any terminal. */
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
      '--fail-on LIST says what makes an exit code, of regression, failed and unclear; the default is regression,failed.',
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
    ...paragraph(`What makes it lie: ${caveats}`, look),
  ];
}

/** The commands and topics that there is help for. */
export function overviewPage(program: CommandInfo, look: Look): string[] {
  const groups = Map.groupBy(program.commands, ({ group }) => group);
  const topics = GENERAL_TOPICS.map((each): [string, string] => [each.name, each.description]);
  const numbers = metricTopics().map(({ name }) => name);
  return [
    ...[...groups].flatMap(([group, commands]) => [
      look.style.strong(group),
      ...definitions(
        commands.map(({ name, description }) => [name, description]),
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

/** Names with their texts beside them; below them where the terminal is narrow. */
export function definitions(rows: readonly (readonly [string, string])[], look: Look, indent = ''): string[] {
  const width = Math.max(...rows.map(([name]) => textWidth(name))) + 2;
  const room = Math.min(look.columns, WIDEST) - width - indent.length;
  if (room < 24) {
    return rows.flatMap(([name, text]) => [`${indent}${name}`, ...paragraph(text, look, `${indent}  `)]);
  }
  return rows.flatMap(([name, text]) =>
    wrapWords(text, room).map((line, index) => `${indent}${padEnd(index === 0 ? name : '', width)}${line}`),
  );
}

export function paragraph(text: string, { columns }: Look, indent = ''): string[] {
  const width = Math.min(columns, WIDEST) - indent.length;
  return wrapWords(text, width).map((line) => `${indent}${line}`);
}
