import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';

/** What each code tells the caller. */
export const EXIT_CODE_TEXTS: readonly (readonly [ExitCode, string])[] = [
  [EXIT_CODES.fine, 'Fine: nothing got slower, or nothing was asked that could fail.'],
  [EXIT_CODES.regression, 'A regression: something got slower. It wins over 4.'],
  [EXIT_CODES.wrongUse, 'Wrong use or bad input: the line on standard error says what and where.'],
  [
    EXIT_CODES.environmentLacking,
    'The environment lacks something: trtexec, a GPU, ModelOpt, a disk that may be written, the store that a sweep writes into. Also in place of 0: the results could not be written to standard output. `bench doctor` says what to do.',
  ],
  [
    EXIT_CODES.incomplete,
    'Some runs failed, so the answer is not complete. Also: nothing is within the limits of `bench choose`, a store or an engine is not as it was left (`bench db verify`, `bench engines verify`), stores contradict each other (`bench db merge`).',
  ],
  [EXIT_CODES.unclear, 'Unclear, with --fail-on unclear: more runs would be needed.'],
  [EXIT_CODES.internalError, 'A defect in bench itself; BENCH_DEBUG=1 shows the stack.'],
  [EXIT_CODES.interrupted, 'Interrupted; what was measured is kept, and `bench run --resume` goes on.'],
];
