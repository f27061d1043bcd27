/** What `bench` tells its caller. */
export const EXIT_CODES = {
  fine: 0,
  regression: 1,
  wrongUse: 2,
  environmentLacking: 3,
  incomplete: 4,
  unclear: 5,
  /** A defect in bench itself (EX_SOFTWARE of sysexits.h); never used for anything a user did. */
  internalError: 70,
  interrupted: 130,
} as const;

/** As help prints them; a defect has no place there. */
export const EXIT_CODE_WORDS =
  '0 fine · 1 regression · 2 wrong use or bad input · 3 the environment lacks something · 4 some runs failed · 5 unclear, with --fail-on unclear · 130 interrupted';

export type ExitCode = (typeof EXIT_CODES)[keyof typeof EXIT_CODES];
