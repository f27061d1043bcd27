/** What `bench` tells its caller. The table is in the README and in `bench --help`. */
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

export type ExitCode = (typeof EXIT_CODES)[keyof typeof EXIT_CODES];
