import { isHopeless, type NextStep, type StepVerdict } from './turns.ts';

/** A configuration that was tested: these factors at their bad value, all others at their good one. */
export interface JudgedFactors {
  readonly bad: readonly string[];
  readonly verdict: StepVerdict;
}

/**
 * Which factors to switch to bad next: half of the suspects, so that each test clears half of them. What is left over
 * at the end is tested alone, unless it was: a factor that only does harm together with others is not taken for the
 * cause. A half that cannot be judged is answered by other halves, then by single factors.
 */
export function searchFactors(
  factors: readonly string[],
  judged: readonly JudgedFactors[],
): NextStep<readonly string[]> {
  const verdicts = verdictsOf(judged);
  const { next, suspects } = narrowed(factors, verdicts);
  const [only] = suspects;
  if (next === null) return only === undefined ? { kind: 'range', names: [] } : lastOf(only, factors, verdicts);
  return next.kind === 'test' && isHopeless(judged) ? { kind: 'range', names: suspects } : next;
}

/** Tests that are still to come when every one of them can be judged, and the last one is made alone. */
export function factorTestsLeft(factors: readonly string[], judged: readonly JudgedFactors[]): number {
  const { suspects } = narrowed(factors, verdictsOf(judged));
  return Math.ceil(Math.log2(Math.max(1, suspects.length))) + 1;
}

type Verdicts = ReadonlyMap<string, StepVerdict>;

function verdictsOf(judged: readonly JudgedFactors[]): Verdicts {
  return new Map(judged.map(({ bad, verdict }) => [keyOfFactors(bad), verdict]));
}

/** What is left of the factors, and what comes next when that is more than one. */
function narrowed(
  factors: readonly string[],
  verdicts: Verdicts,
): { readonly suspects: readonly string[]; readonly next: NextStep<readonly string[]> | null } {
  let suspects = factors;
  while (suspects.length > 1) {
    const decided = partsOf(suspects).find((part) => {
      const verdict = verdicts.get(keyOfFactors(part));
      return verdict === undefined || verdict === 'bad' || verdict === 'good';
    });
    if (decided === undefined) return { suspects, next: { kind: 'range', names: suspects } };
    const verdict = verdicts.get(keyOfFactors(decided));
    if (verdict === undefined) return { suspects, next: { kind: 'test', candidate: decided } };
    suspects = verdict === 'bad' ? decided : suspects.filter((factor) => !decided.includes(factor));
  }
  return { suspects, next: null };
}

/** Halves, each begun one factor further on, then the factors one by one. */
function partsOf(suspects: readonly string[]): readonly string[][] {
  const half = Math.ceil(suspects.length / 2);
  const halves = suspects.map((_, start) =>
    suspects.filter((__, place) => (place - start + suspects.length) % suspects.length < half),
  );
  return [...halves, ...suspects.map((factor) => [factor])];
}

function lastOf(factor: string, factors: readonly string[], verdicts: Verdicts): NextStep<readonly string[]> {
  // All of them bad is the bad end, which was measured before anything else.
  if (factors.length === 1) return { kind: 'found', names: [factor] };
  const verdict = verdicts.get(keyOfFactors([factor]));
  if (verdict === undefined) return { kind: 'test', candidate: [factor] };
  if (verdict === 'bad') return { kind: 'found', names: [factor] };
  return verdict === 'good' ? { kind: 'together', names: factors } : { kind: 'range', names: [factor] };
}

/** The key of a setting: the factors that are at their bad value. */
export function keyOfFactors(bad: readonly string[]): string {
  return JSON.stringify(bad.toSorted());
}
