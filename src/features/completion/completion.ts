import type { CommandUnknownOpts as Program, Option } from '@commander-js/extra-typings';

import { commandsOf, optionName, optionsOf } from '../../cli/command-tree.ts';
import type { Io } from '../../cli/io.ts';
import { storePath } from '../../cli/store-location.ts';
import { UsageError } from '../../errors.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import { METRIC_IDS, metricOf, metricWord } from '../../records/metric.ts';
import { allCells } from '../../store/cells.ts';
import { peekIntoStore } from '../../store/sweeps/find-sweeps.ts';
import { cellLabel } from '../../text/cell-label.ts';
import { didYouMean } from '../../text/nearest.ts';
import { printable } from '../../text/printable.ts';
import { shellLine } from '../../text/shell-quote.ts';
import { isOneOf } from '../../text/unknown-values.ts';
import { SCRIPTS, SHELLS } from './scripts.ts';

/** @param program command line of this bench */
export function completion(shell: string, program: readonly string[], io: Io): ExitCode {
  if (!isOneOf(SHELLS, shell)) {
    const there = `no completion for ${printable(shell)} (there is ${SHELLS.join(', ')})`;
    throw new UsageError(`${there}${didYouMean(shell, SHELLS)}`);
  }
  io.out(SCRIPTS[shell].replaceAll('PROGRAM', () => shellLine(program)));
  return EXIT_CODES.fine;
}

interface Candidate {
  readonly value: string;
  readonly meaning: string;
}

/**
 * `bench completion --complete SHELL -- bench WORD...`: the last word is the one at the cursor. Prints the possible
 * words, one per line with its meaning. If none is known, the shell offers files.
 */
export function complete(program: Program, words: readonly string[], io: Io): ExitCode {
  const found = candidates(program, words.slice(1, -1), words.at(-1) ?? '', io);
  // Names that are unsafe to print are omitted; their keys remain.
  const safe = found.filter(({ value }) => value !== '' && printable(value) === value);
  const lines = new Map(safe.map(({ meaning, value }) => [value, `${value}\t${printable(meaning)}\n`]));
  io.out([...lines.values()].join(''));
  return EXIT_CODES.fine;
}

function candidates(program: Program, words: readonly string[], current: string, io: Io): Candidate[] {
  if (words.includes('--')) return [];
  let command = program;
  for (const word of words) command = commandsOf(command).find((each) => each.name() === word) ?? command;
  const named = words.indexOf('--db');
  const stored = (): Candidate[] => storedCells(named === -1 ? undefined : words[named + 1], io);
  const [, assigned, value] = /^(--[^=]+)=(.*)$/s.exec(current) ?? [];
  const option = optionsOf(command).find((each) => optionName(each) === (assigned ?? words.at(-1)));
  if (value !== undefined) {
    const known = option === undefined ? [] : valuesOf(option, stored);
    return known.map((each) => ({ ...each, value: `${assigned}=${each.value}` }));
  }
  if (option !== undefined && (option.required || (option.optional && !current.startsWith('-')))) {
    const known = valuesOf(option, stored);
    if (option.required || known.length > 0) return known;
  }
  if (current.startsWith('-')) {
    return optionsOf(command).map((each) => ({ value: optionName(each), meaning: each.description }));
  }
  const names = command.registeredArguments.map((argument) => argument.name());
  return [
    ...namesOf(command),
    ...(names.includes('topic') ? [...namesOf(program), ...metrics()] : []),
    ...(names.some((name) => CELLS.has(name)) ? stored() : []),
  ];
}

/** Arguments and options that take a cell, and the options that take a metric. */
const CELLS = new Set(['cell', 'cells', 'what', '--cell', '--filter']);
const METRIC = '--metric';

function valuesOf(option: Option, stored: () => Candidate[]): Candidate[] {
  if (option.argChoices !== undefined) return option.argChoices.map((value) => ({ value, meaning: '' }));
  const name = optionName(option);
  return name === METRIC ? metrics() : CELLS.has(name) ? stored() : [];
}

function namesOf(command: Program): Candidate[] {
  return commandsOf(command).map((each) => ({ value: each.name(), meaning: each.summary() }));
}

function metrics(): Candidate[] {
  return METRIC_IDS.map((id) => ({ value: metricWord(id), meaning: metricOf(id).label }));
}

const MOST = 200;

function storedCells(db: string | undefined, io: Io): Candidate[] {
  const known = peekIntoStore(storePath(db, io), allCells) ?? [];
  const models = [...new Set(known.map(({ model }) => model))];
  return [
    ...models.map((value) => ({ value, meaning: 'all cells of the model' })),
    ...known.slice(0, MOST).map((cell) => ({ value: cellLabel(cell), meaning: cell.key.slice(0, 8) })),
  ];
}
