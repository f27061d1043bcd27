import type { CommandUnknownOpts } from '@commander-js/extra-typings';

import { commandsOf } from '../../cli/command-tree.ts';
import { UsageError } from '../../errors.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import { didYouMean } from '../../text/nearest.ts';
import { printable } from '../../text/printable.ts';
import { GLOSSARY, termNamed } from './glossary.ts';
import { EXPLAINED_NUMBERS, type ExplainedNumber, metricText } from './metric-texts.ts';
import { manPage } from './man-page.ts';
import {
  exitCodesPage,
  metricPage,
  metricsPage,
  overviewPage,
  wordPage,
  wordsPage,
  GENERAL_TOPICS,
} from './topic-pages.ts';
import { ownMetricNamed } from '../../records/metric.ts';
import { type Io, printLines } from '../../cli/io.ts';
import type { Look } from '../../terminal/look.ts';

export async function help(topic: string | undefined, program: CommandUnknownOpts, io: Io): Promise<ExitCode> {
  const number = numberNamed(topic ?? '');
  // `buildS` is a metric, `builds` is several of a build.
  const isNumber = number !== undefined && [number, metricText(number).word].includes(topic ?? '');
  const term = isNumber ? undefined : termNamed(topic ?? '');
  if (topic === undefined) printLines(io, overviewPage(program, io.look));
  else if (topic === 'words') printLines(io, wordsPage(io.look));
  else if (topic === 'metrics') printLines(io, metricsPage(io.look));
  else if (topic === 'exit-codes') printLines(io, exitCodesPage(io.look));
  else if (topic === 'man') printLines(io, manPage(program));
  else if (topic === 'matrix') printLines(io, await matrixPage(io));
  else if (term !== undefined) printLines(io, wordPage(term, io.look));
  else if (number !== undefined) printLines(io, metricPage(number, io.look));
  else {
    const known = [
      ...commandsOf(program).map((command) => command.name()),
      ...GENERAL_TOPICS.map(({ name }) => name),
      ...EXPLAINED_NUMBERS.map((id) => metricText(id).word),
      ...GLOSSARY.flatMap(({ words }) => words),
    ];
    throw new UsageError(`no help on ${printable(topic)}${didYouMean(topic, known)} (bench help lists what there is)`);
  }
  return EXIT_CODES.fine;
}

/** What a word that is also a command means; nothing for other commands. */
export function wordLines(topic: string, look: Look): string[] {
  const term = termNamed(topic);
  return term === undefined ? [] : ['', 'As a word:', '', ...wordPage(term, look)];
}

async function matrixPage(io: Io): Promise<string[]> {
  const [{ matrixPage: page }, { matrixJsonSchema }] = await Promise.all([
    import('./topic-pages.ts'),
    import('../../matrix/schema/schema.ts'),
  ]);
  return page(matrixJsonSchema(), io.look);
}

/** By its word, by its id, by trtexec's name, or by an unambiguous prefix; case-insensitive. */
function numberNamed(topic: string): ExplainedNumber | undefined {
  const word = topic.toLowerCase();
  const begun = EXPLAINED_NUMBERS.filter((id) =>
    [id, metricText(id).word].some((name) => name.toLowerCase().startsWith(word)),
  );
  if (/^p\d\d$/.test(word) && begun.length === 0) return 'percentiles';
  return (
    ownMetricNamed(word) ??
    EXPLAINED_NUMBERS.find((id) => namesOf(id).some((name) => name.toLowerCase() === word)) ??
    (begun.length === 1 ? begun[0] : undefined)
  );
}

function namesOf(id: ExplainedNumber): string[] {
  const { label, source, word } = metricText(id);
  return [word, id, label, /^[\w ]+(?=: )/.exec(source)?.[0] ?? label];
}
