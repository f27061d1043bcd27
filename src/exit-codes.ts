import { isOneOf } from './text/unknown-values.ts';

export const EXIT_CODES = {
  fine: 0,
  regression: 1,
  wrongUse: 2,
  environmentLacking: 3,
  incomplete: 4,
  unclear: 5,
  /** A defect in bench itself (EX_SOFTWARE of sysexits.h), never a mistake of the user. */
  internalError: 70,
  interrupted: 130,
} as const;

export type ExitCode = (typeof EXIT_CODES)[keyof typeof EXIT_CODES];

/** Each code in a few words for `bench --help`, and in full for docs/reference/commands.md. */
export const EXIT_CODE_TEXTS: Readonly<Record<ExitCode, readonly [short: string, full: string]>> = {
  0: ['fine', 'Nothing got slower, or there was nothing to judge.'],
  1: ['regression', 'Something got slower, or broke a limit, and nobody acknowledged it. Takes precedence over 4.'],
  2: ['wrong use or bad input', 'The line on standard error names the mistake and its position.'],
  3: [
    'the environment lacks something',
    'Examples: no trtexec, no GPU, no ModelOpt, a full disk, a store that cannot be written. `bench doctor` shows how to fix it. Also in place of 0, if standard output could not be written.',
  ],
  4: [
    'some runs failed',
    'The answer is incomplete. Also: no deployment is within the limits of `bench choose`; a store or an engine is damaged (`bench db verify`, `bench engines verify`); two stores contradict each other (`bench db merge`).',
  ],
  5: ['unclear, with --fail-on unclear', 'More runs are needed for a verdict.'],
  70: ['internal error', 'A bug in bench; `BENCH_DEBUG=1` shows the stack.'],
  130: ['interrupted', '`bench run --resume` continues.'],
};

/** The list in `bench help`. It omits `70`, which no user can cause. */
export const EXIT_CODE_WORDS = Object.entries(EXIT_CODE_TEXTS)
  .filter(([code]) => Number(code) !== EXIT_CODES.internalError)
  .map(([code, [short]]) => `${code} ${short}`);

export const FAIL_ON_WORDS = ['regression', 'new', 'failed', 'unclear', 'warning', 'limit'] as const;

export type FailOnWord = (typeof FAIL_ON_WORDS)[number];

/** Words of the previous version, and their meaning in this one. */
export const EARLIER_WORDS = ['open', 'suspected'] as const;
export type EarlierWord = (typeof EARLIER_WORDS)[number];
const TAKEN_AS: Readonly<Record<EarlierWord, FailOnWord>> = { open: 'regression', suspected: 'unclear' };

/** `--fail-on`: findings that set the exit code. */
type FailOn = readonly (FailOnWord | EarlierWord)[];

/** A note about words of the previous version; empty if none was used. */
export function earlierWordsNote(requested: readonly string[] = []): string {
  const taken = EARLIER_WORDS.filter((word) => requested.includes(word)).map((word) => `${word} as ${TAKEN_AS[word]}`);
  return taken.length === 0 ? '' : `note: --fail-on takes ${taken.join(', and ')}, in this version only\n`;
}

export const DEFAULT_FAIL_ON: FailOn = ['regression', 'failed', 'limit'];

/** Words for results that are worse than they should be; the others are for failed and unclear results. */
const WORSE: readonly FailOnWord[] = ['regression', 'new', 'warning', 'limit'];

/** Worse results take precedence over failed runs, and failed runs over unclear results. */
export function failOn(requested: FailOn | undefined, found: Readonly<Partial<Record<FailOnWord, boolean>>>): ExitCode {
  const asked = (requested ?? DEFAULT_FAIL_ON).map((word) => (isOneOf(EARLIER_WORDS, word) ? TAKEN_AS[word] : word));
  const words = asked.filter((word) => found[word] === true);
  if (words.some((word) => WORSE.includes(word))) return EXIT_CODES.regression;
  if (words.includes('failed')) return EXIT_CODES.incomplete;
  return words.includes('unclear') ? EXIT_CODES.unclear : EXIT_CODES.fine;
}
