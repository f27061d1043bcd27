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

/** As `bench help` prints them; a defect has no place there. */
export const EXIT_CODE_WORDS = [
  `${EXIT_CODES.fine} fine`,
  `${EXIT_CODES.regression} regression`,
  `${EXIT_CODES.wrongUse} wrong use or bad input`,
  `${EXIT_CODES.environmentLacking} the environment lacks something`,
  `${EXIT_CODES.incomplete} some runs failed`,
  `${EXIT_CODES.unclear} unclear, with --fail-on unclear`,
  `${EXIT_CODES.interrupted} interrupted`,
];

export type ExitCode = (typeof EXIT_CODES)[keyof typeof EXIT_CODES];
