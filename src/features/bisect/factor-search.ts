import type { BisectOutput } from './output.ts';

type StepVerdict = BisectOutput['steps'][number]['verdict'];

/** `names`: the factors found, or those that remain; `together`: no single one makes the difference. */
export type NextFactors =
  | { readonly kind: 'test'; readonly candidate: readonly string[] }
  | { readonly kind: 'found' | 'range' | 'together'; readonly names: readonly string[] };

/** Consecutive unclear candidates after which the noise is too great to go on. */
const HOPELESS_IN_ROW = 6;

function isHopeless(judged: readonly JudgedFactors[]): boolean {
  const last = judged.slice(-HOPELESS_IN_ROW);
  return last.length === HOPELESS_IN_ROW && last.every(({ verdict }) => verdict === 'unclear');
}

/** These factors at their bad value, all others at their good one. */
export interface JudgedFactors {
  readonly bad: readonly string[];
  readonly verdict: StepVerdict;
}

/**
 * Which factors to set to bad next: half of the suspects. A factor left over at the end is tested alone, unless it was:
 * one that acts only together with others is not the cause. A half that cannot be judged is replaced by other halves,
 * then by single factors.
 */
export function searchFactors(factors: readonly string[], judged: readonly JudgedFactors[]): NextFactors {
  const verdicts = verdictsOf(judged);
  const { next, suspects } = narrowed(factors, verdicts);
  const [only] = suspects;
  if (next === null) return only === undefined ? { kind: 'range', names: [] } : lastOf(only, factors, verdicts);
  return next.kind === 'test' && isHopeless(judged) ? { kind: 'range', names: suspects } : next;
}

type Verdicts = ReadonlyMap<string, StepVerdict>;

function verdictsOf(judged: readonly JudgedFactors[]): Verdicts {
  return new Map(judged.map(({ bad, verdict }) => [keyOfFactors(bad), verdict]));
}

function narrowed(
  factors: readonly string[],
  verdicts: Verdicts,
): { readonly suspects: readonly string[]; readonly next: NextFactors | null } {
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

/** Halves, each starting one factor later, then single factors. */
function partsOf(suspects: readonly string[]): readonly string[][] {
  const half = Math.ceil(suspects.length / 2);
  const halves = suspects.map((_, start) =>
    suspects.filter((__, place) => (place - start + suspects.length) % suspects.length < half),
  );
  return [...halves, ...suspects.map((factor) => [factor])];
}

function lastOf(factor: string, factors: readonly string[], verdicts: Verdicts): NextFactors {
  // All factors bad is the bad end, which was measured first.
  if (factors.length === 1) return { kind: 'found', names: [factor] };
  const verdict = verdicts.get(keyOfFactors([factor]));
  if (verdict === undefined) return { kind: 'test', candidate: [factor] };
  if (verdict === 'bad') return { kind: 'found', names: [factor] };
  return verdict === 'good' ? { kind: 'together', names: factors } : { kind: 'range', names: [factor] };
}

function keyOfFactors(bad: readonly string[]): string {
  return JSON.stringify(bad.toSorted());
}
