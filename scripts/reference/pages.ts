import { Help, type CommandUnknownOpts, type Option } from '@commander-js/extra-typings';

import { makeProgram } from '../../src/cli.ts';
import { COMMON_OPTIONS, commandsOf } from '../../src/cli/define-command.ts';
import { EXIT_CODE_TEXTS } from '../../src/errors.ts';
import { metricText } from '../../src/features/help/help.ts';
import { METRIC_IDS } from '../../src/records/metric.ts';
import { BOUND_ADVICE } from '../../src/judge/bound.ts';
import { matrixJsonSchema } from '../../src/matrix/schema/schema.ts';
import { BOUND_WORDS, BOUNDS } from '../../src/records/bound.ts';
import { FAILURE_REASONS, UNFIT_REASONS, FLAG_LABELS, RUN_FLAGS } from '../../src/records/outcome.ts';
import { adviceOf, REASON_TEXT } from '../../src/terminal/words.ts';
import { matrixReference } from './matrix-keys.ts';
import { processIo } from '../../src/cli/process-io.ts';

/** An option of at least this many commands is described once. */
const SHARED_BY = 3;

/** The text of each page by its file name. */
export function referencePages(): Readonly<Record<string, string>> {
  return {
    'matrix-keys.md': matrixReference(matrixJsonSchema()),
    'commands.md': commandsPage(makeProgram(processIo(), async () => {})),
    'outcomes.md': outcomesPage(),
  };
}

function headOf(title: string, text: string): string[] {
  return [`# ${title}`, '', text, '', 'This page is written by `node scripts/reference.ts` from strings in `src/`.'];
}

function commandsPage(program: CommandUnknownOpts): string {
  const groups = Map.groupBy(commandsOf(program), (command) => command.helpGroup().replace(/:$/, ''));
  const all = [...groups].map(([title, commands]) => ({ title, commands: commands.flatMap(withInner) }));
  const uses = Map.groupBy(
    all.flatMap(({ commands }) => commands.flatMap(ownOptions)),
    optionLine,
  );
  const isShared = (option: Option): boolean => (uses.get(optionLine(option)) ?? []).length >= SHARED_BY;
  const common = commandsOf(program)[0]?.options.filter((option) => option.helpGroupHeading === COMMON_OPTIONS) ?? [];
  return [
    ...headOf('Commands, options and exit codes', '`bench COMMAND --help` prints the same with examples.'),
    '\n## Exit codes\n',
    ...Object.entries(EXIT_CODE_TEXTS).map(([code, [short, full]]) => `- \`${code}\`: ${short}. ${full}`),
    '\n## Options of every command\n',
    ...common.map(optionLine),
    '\n## Options of several commands\n',
    ...[...uses].filter(([, users]) => users.length >= SHARED_BY).map(([line]) => line),
    ...all.flatMap(({ title, commands }) => [
      `\n## ${title}`,
      ...commands.flatMap((command) => commandLines(command, isShared)),
    ]),
    '',
  ].join('\n');
}

/** A command, or the commands of a group. */
function withInner(command: CommandUnknownOpts): CommandUnknownOpts[] {
  return command.commands.length === 0 ? [command] : commandsOf(command);
}

/** Without the common ones, and `--all`, which only shows more help. */
function ownOptions({ options }: CommandUnknownOpts): Option[] {
  return options.filter(
    ({ description, helpGroupHeading, hidden }) =>
      !hidden && helpGroupHeading !== COMMON_OPTIONS && !description.startsWith('with --help'),
  );
}

function commandLines(command: CommandUnknownOpts, isShared: (option: Option) => boolean): string[] {
  const group = command.parent?.parent === null ? '' : `${command.parent?.name()} `;
  const usage = command.usage().replace(/^\[options\] ?/, '');
  const { false: own = [], true: shared = [] } = Object.groupBy(ownOptions(command), (one) => `${isShared(one)}`);
  const names = shared.map(({ long, flags }) => `\`${long ?? flags}\``).join(' ');
  return [
    `\n### ${`bench ${group}${command.name()} ${usage}`.trim()}\n`,
    command.description().replace('\n\n', '. ').replace(/\.?$/, '.'),
    ...(own.length === 0 ? [] : ['', ...own.map(optionLine)]),
    ...(shared.length === 0 ? [] : [`\nAlso: ${names}`]),
  ];
}

function optionLine(option: Option): string {
  return `- \`${option.flags}\`: ${new Help().optionDescription(option)}`;
}

function outcomesPage(): string {
  return [
    ...headOf('Outcomes, flags and metrics', '[Runs](../explanation/runs.md) explains outcomes and flags.'),
    '\n## Reasons of unfit runs\n',
    ...table(['reason', 'meaning'], UNFIT_REASONS.map(reasonRow)),
    '\n## Reasons of failed runs\n',
    ...table(['reason', 'meaning'], FAILURE_REASONS.map(reasonRow)),
    '\n## Flags of runs\n',
    ...table(
      ['flag', 'in tables', 'advice'],
      RUN_FLAGS.map((id) => [`\`${id}\``, FLAG_LABELS[id], ...adviceOf({ id }, null)]),
    ),
    '\n## Bottlenecks\n',
    ...table(
      ['bound by', 'meaning', 'advice'],
      BOUNDS.map((id) => [`\`${id}\``, BOUND_WORDS[id], BOUND_ADVICE[id]]),
    ),
    '\n## Metrics\n\n`bench help NAME` adds the source and the caveats of a metric.\n',
    ...METRIC_IDS.map((id) => {
      const { label, says, unit, word } = metricText(id);
      return `- \`${word}\`: ${label}, ${unit} (in JSON \`${id}\`). ${says}`;
    }),
    '',
  ].join('\n');
}

function reasonRow(name: keyof typeof REASON_TEXT): string[] {
  return [`\`${name}\``, REASON_TEXT[name]];
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`);
}
