export const STEP_VERDICTS = ['good', 'bad', 'unclear', 'broken'] as const;

/** What became of one candidate: `unclear` after all the runs it may have, `broken` when it could not be measured. */
export type StepVerdict = (typeof STEP_VERDICTS)[number];

/** A candidate that was tested, by its id. */
export interface Judged {
  readonly candidate: string;
  readonly verdict: StepVerdict;
}

/** What a search ends with. `names` are commits or factors: the one, or those that it may be. */
export interface SearchResult {
  /** `together`: no single factor makes the difference. */
  readonly kind: 'found' | 'range' | 'together';
  readonly names: readonly string[];
}

/** What to do after all that is known so far. */
export type NextStep<Candidate> = { readonly kind: 'test'; readonly candidate: Candidate } | SearchResult;

export function isSkipped({ verdict }: Judged): boolean {
  return verdict === 'unclear' || verdict === 'broken';
}

/** Unclear candidates in a row after which more of them would only cost runs: the noise is too great. */
const HOPELESS_IN_ROW = 6;

export function isHopeless(judged: readonly { readonly verdict: StepVerdict }[]): boolean {
  const last = judged.slice(-HOPELESS_IN_ROW);
  return last.length === HOPELESS_IN_ROW && last.every(({ verdict }) => verdict === 'unclear');
}
