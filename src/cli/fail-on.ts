import { EXIT_CODES, type ExitCode } from '../exit-codes.ts';
import { isOneOf } from '../text/unknown-values.ts';

export const FAIL_ON_WORDS = ['regression', 'new', 'failed', 'unclear', 'warning', 'limit'] as const;

export type FailOnWord = (typeof FAIL_ON_WORDS)[number];

/** Words of the previous version, and their meaning in this one. */
export const EARLIER_WORDS = ['open', 'suspected'] as const;
export type EarlierWord = (typeof EARLIER_WORDS)[number];
const TAKEN_AS: Readonly<Record<EarlierWord, FailOnWord>> = { open: 'regression', suspected: 'unclear' };

/** `--fail-on`: findings that set the exit code. */
export type FailOn = readonly (FailOnWord | EarlierWord)[];

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
