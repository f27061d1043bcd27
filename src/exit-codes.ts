/** The exit codes of `bench`. */
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
