import { isHopeless, type StepVerdict } from './step.ts';

/** A configuration that was tested: these factors at their bad value, all others at their good one. */
export interface JudgedFactors {
  readonly bad: readonly string[];
  readonly verdict: StepVerdict;
}

export type FactorSearchState =
  | { readonly kind: 'test'; readonly bad: readonly string[] }
  | { readonly kind: 'found'; readonly factor: string }
  /** No single one makes the difference: they do so together. */
  | { readonly kind: 'together'; readonly factors: readonly string[] }
  /** What could not be told apart. */
  | { readonly kind: 'range'; readonly factors: readonly string[] };

/**
 * Which factors to switch to bad next: half of the suspects, so that each test clears half of them. What is left over
 * at the end is tested alone, unless it was: a factor that only does harm together with others is not taken for the
 * cause. A half that cannot be judged is answered by other halves, then by single factors.
 */
export function searchFactors(factors: readonly string[], judged: readonly JudgedFactors[]): FactorSearchState {
  let suspects = factors;
  const verdicts = new Map(judged.map(({ bad, verdict }) => [keyOf(bad), verdict]));
  for (;;) {
    const [only] = suspects;
    if (suspects.length <= 1 || only === undefined) {
      return only === undefined ? { kind: 'range', factors: [] } : lastOf(only, factors, verdicts);
    }
    const narrowed = narrow(suspects, verdicts);
    if (narrowed.kind === 'test' && isHopeless(judged)) return { kind: 'range', factors: suspects };
    if (narrowed.kind !== 'suspects') return narrowed;
    suspects = narrowed.factors;
  }
}

/** Tests that are still to come when every one of them can be judged, and the last one is made alone. */
export function factorTestsLeft(factors: readonly string[], judged: readonly JudgedFactors[]): number {
  let suspects = factors;
  const verdicts = new Map(judged.map(({ bad, verdict }) => [keyOf(bad), verdict]));
  while (suspects.length > 1) {
    const narrowed = narrow(suspects, verdicts);
    if (narrowed.kind !== 'suspects') break;
    suspects = narrowed.factors;
  }
  return Math.ceil(Math.log2(Math.max(1, suspects.length))) + 1;
}

function narrow(
  suspects: readonly string[],
  verdicts: ReadonlyMap<string, StepVerdict>,
):
  | { readonly kind: 'suspects'; readonly factors: readonly string[] }
  | Extract<FactorSearchState, { kind: 'test' | 'range' }> {
  for (const part of partsOf(suspects)) {
    const verdict = verdicts.get(keyOf(part));
    if (verdict === undefined) return { kind: 'test', bad: part };
    if (verdict === 'bad') return { kind: 'suspects', factors: part };
    if (verdict === 'good') {
      return { kind: 'suspects', factors: suspects.filter((factor) => !part.includes(factor)) };
    }
  }
  return { kind: 'range', factors: suspects };
}

/** Halves, each begun one factor further on, then the factors one by one. */
function partsOf(suspects: readonly string[]): readonly string[][] {
  const half = Math.ceil(suspects.length / 2);
  const halves = suspects.map((_, start) =>
    suspects.filter((__, place) => (place - start + suspects.length) % suspects.length < half),
  );
  return [...halves, ...suspects.map((factor) => [factor])];
}

function lastOf(
  factor: string,
  factors: readonly string[],
  verdicts: ReadonlyMap<string, StepVerdict>,
): FactorSearchState {
  // All of them bad is the bad end, which was measured before anything else.
  if (factors.length === 1) return { kind: 'found', factor };
  const verdict = verdicts.get(keyOf([factor]));
  if (verdict === undefined) return { kind: 'test', bad: [factor] };
  if (verdict === 'bad') return { kind: 'found', factor };
  return verdict === 'good' ? { kind: 'together', factors } : { kind: 'range', factors: [factor] };
}

function keyOf(factors: readonly string[]): string {
  return JSON.stringify(factors.toSorted());
}
