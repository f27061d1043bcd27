import { EXIT_CODES, type ExitCode } from '../exit-codes.ts';

export const FAIL_ON_WORDS = ['regression', 'failed', 'unclear'] as const;

export type FailOnWord = (typeof FAIL_ON_WORDS)[number];

/** `--fail-on`: which findings make an exit code other than 0. */
export type FailOn = readonly FailOnWord[];

export const DEFAULT_FAIL_ON: FailOn = ['regression', 'failed'];

/** The exit code of what was found. A regression wins over failed runs. */
export function failOn(asked: FailOn | undefined, found: Readonly<Record<FailOnWord, boolean>>): ExitCode {
  const words = asked ?? DEFAULT_FAIL_ON;
  if (found.regression && words.includes('regression')) return EXIT_CODES.regression;
  if (found.failed && words.includes('failed')) return EXIT_CODES.incomplete;
  return found.unclear && words.includes('unclear') ? EXIT_CODES.unclear : EXIT_CODES.fine;
}
