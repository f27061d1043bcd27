import type { CommandUnknownOpts, Option } from '@commander-js/extra-typings';

import { commandsOf, optionName, optionsOf } from '../../cli/command-tree.ts';

interface Wanted {
  readonly fixed: readonly Candidate[];
  readonly kinds: readonly ValueKind[];
  /** What is before each value in the same word: `--metric=`. */
  readonly prefix: string;
  readonly db: string | undefined;
}

export interface Candidate {
  readonly value: string;
  readonly meaning: string;
}

/**
 * What may follow a command line.
 * @param words those before the cursor, without the program
 * @param current the word at the cursor, up to the cursor
 */
export function wantedAfter(program: CommandUnknownOpts, words: readonly string[], current: string): Wanted {
  const place = walk(program, words);
  const nothing = { fixed: [], kinds: [], prefix: '', db: place.db };
  const [, name, assigned] = /^(--[^=]+)=(.*)$/s.exec(current) ?? [];
  if (place.isPast) return { ...nothing, ...argumentValues(place, program) };
  if (name !== undefined && assigned !== undefined) {
    const option = optionsOf(place.command).find((each) => optionName(each) === name);
    return option === undefined ? nothing : { ...nothing, ...optionValues(option), prefix: `${name}=` };
  }
  if (place.open !== null && !(current.startsWith('-') && place.isFilled)) {
    const values = optionValues(place.open);
    const isNeeded = place.open.required && !place.isFilled;
    if (isNeeded || values.fixed.length + values.kinds.length > 0) return { ...nothing, ...values };
  }
  if (current.startsWith('-')) {
    const fixed = optionsOf(place.command).map((option) => ({
      value: optionName(option),
      meaning: option.description,
    }));
    return { ...nothing, fixed };
  }
  const { fixed, kinds } = argumentValues(place, program);
  return { ...nothing, fixed: [...(place.given === 0 ? commandNames(place.command) : []), ...fixed], kinds };
}

interface Place {
  readonly command: CommandUnknownOpts;
  /** Its words, behind the name of the program. */
  readonly path: readonly string[];
  readonly given: number;
  readonly open: Option | null;
  readonly isFilled: boolean;
  /** After `--` all words are arguments. */
  readonly isPast: boolean;
  readonly db: string | undefined;
}

function walk(program: CommandUnknownOpts, words: readonly string[]): Place {
  let command = program;
  const path: string[] = [];
  let given = 0;
  let open: Option | null = null;
  let isFilled = false;
  let isPast = false;
  let db: string | undefined;
  for (const word of words) {
    const inner: CommandUnknownOpts | undefined =
      given === 0 && !isPast ? commandsOf(command).find((each) => each.name() === word) : undefined;
    if (isPast) given += 1;
    else if (word === '--') isPast = true;
    else if (word.startsWith('-') && word !== '-') {
      const [name = '', value] = word.split('=', 2);
      if (name === '--db') db = value;
      const option = optionsOf(command).find((each) => optionName(each) === name);
      open = option === undefined || !(option.required || option.optional) || word.includes('=') ? null : option;
      isFilled = false;
    } else if (open !== null && (!isFilled || open.variadic)) {
      if (optionName(open) === '--db') db = word;
      isFilled = true;
      if (!open.variadic) open = null;
    } else if (inner !== undefined) {
      command = inner;
      path.push(word);
      open = null;
    } else {
      given += 1;
      open = null;
    }
  }
  return { command, path, given, open, isFilled, isPast, db };
}

type Values = Pick<Wanted, 'fixed' | 'kinds'>;

function optionValues(option: Option): Values {
  const kinds =
    option.argChoices === undefined
      ? (VALUES_OF_OPTIONS[option.flags] ?? VALUES_OF_OPTIONS[optionName(option)])
      : undefined;
  return { fixed: statedValues(option.argChoices), kinds: kinds ?? [] };
}

function statedValues(choices: readonly string[] = []): Candidate[] {
  return choices.map((value) => ({ value, meaning: '' }));
}

function argumentValues({ command, given, path }: Place, program: CommandUnknownOpts): Values {
  const last = command.registeredArguments.at(-1);
  const argument = command.registeredArguments[given] ?? (last?.variadic === true ? last : undefined);
  if (argument === undefined) return { fixed: [], kinds: [] };
  const name = argument.name();
  const kinds = VALUES_OF_ARGUMENTS[[...path, name].join(' ')] ?? VALUES_OF_ARGUMENTS[name] ?? [];
  const commands = kinds.includes('topic') && given === 0 ? commandNames(program) : [];
  return { fixed: [...commands, ...statedValues(argument.argChoices)], kinds };
}

function commandNames(command: CommandUnknownOpts): Candidate[] {
  return commandsOf(command).map((each) => ({ value: each.name(), meaning: each.description() }));
}

const VALUE_KINDS = [
  'matrix',
  'metric',
  'cell',
  'measured',
  'ref',
  'sweep',
  'baseline',
  'branch',
  'finding',
  'engine',
  'recording',
  'schema',
  'topic',
] as const;

export type ValueKind = (typeof VALUE_KINDS)[number];

type Kinds = Readonly<Record<string, readonly ValueKind[]>>;

/** By name of argument, or by command and argument. Others are files. */
const VALUES_OF_ARGUMENTS: Kinds = {
  matrix: ['matrix'],
  cell: ['cell'],
  cells: ['cell'],
  base: ['ref'],
  head: ['ref'],
  good: ['ref'],
  bad: ['ref'],
  ref: ['ref'],
  findings: ['finding'],
  sweeps: ['sweep'],
  topic: ['topic'],
  keys: ['engine'],
  'show what': ['sweep', 'cell'],
  'layers what': ['cell'],
  'profile command': [],
  'export what': ['cell'],
  'repro what': ['cell'],
  'model accuracy what': ['matrix'],
  'ab matrix': ['matrix', 'sweep'],
  'schema name': ['schema'],
  'baseline set name': ['baseline'],
  'baseline show name': ['baseline'],
  'baseline rm name': ['baseline'],
};

const VALUES_OF_OPTIONS: Kinds = {
  '--matrix': ['matrix'],
  '--cell': ['cell'],
  // Not of a matrix, whose cells may have no runs yet.
  '--filter <cells>': ['measured', 'cell'],
  '--at': ['ref'],
  '--against': ['ref'],
  '--diff': ['ref'],
  '--as-of': ['sweep'],
  // `bench import` names numbers of another harness with it.
  '--metric <name>': ['metric'],
  '--resume': ['sweep'],
  '--read': ['sweep'],
  '--branch': ['branch'],
  '--replay': ['recording'],
};
