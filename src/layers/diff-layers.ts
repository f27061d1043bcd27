import type { LayerFacts } from './layer-facts.ts';
import { type LayerMatch, matchLayers } from './match-layers.ts';
import { sumMs } from './summarize-layers.ts';
import { compareTactics } from './layer-name.ts';

export const LAYER_CHANGES = [
  'same',
  'unknown',
  'otherHash',
  'tactic',
  'precision',
  'split',
  'merged',
  'regrouped',
  'new',
  'gone',
] as const;

export type LayerChange = (typeof LAYER_CHANGES)[number];

export interface ChangedLayers extends LayerMatch {
  readonly change: LayerChange;
  readonly baseMs: number;
  readonly headMs: number;
  readonly deltaMs: number;
}

export type LayersDiff = ReturnType<typeof diffLayers>;

/** Pairs the layers of two engines. Times are per query, with the profiler attached. */
export function diffLayers(base: readonly LayerFacts[], head: readonly LayerFacts[]) {
  const parts = matchLayers(base, head).map((match): ChangedLayers => {
    const baseMs = sumMs(match.base);
    const headMs = sumMs(match.head);
    return { ...match, change: changeOf(match), baseMs, headMs, deltaMs: headMs - baseMs };
  });
  const baseMs = sumMs(base);
  const headMs = sumMs(head);
  return {
    baseMs,
    headMs,
    deltaMs: headMs - baseMs,
    /** Every layer of both sides is in exactly one part, so that the deltas add up to the total. */
    parts: parts.toSorted((a, b) => Math.abs(b.deltaMs) - Math.abs(a.deltaMs)),
    /**
     * Median change, in percent, of the layers that kept their kernels, if all changed by the same factor, such as with
     * a clock; else null.
     */
    commonPercent: commonPercent(parts),
  };
}

function changeOf({ base, head }: LayerMatch): LayerChange {
  const [was] = base;
  const [is] = head;
  if (was === undefined) return 'new';
  if (is === undefined) return 'gone';
  if (base.length > 1 && head.length > 1) return 'regrouped';
  if (head.length > 1) return 'split';
  if (base.length > 1) return 'merged';
  // Only names are known; the kernels are not.
  if (was.type === null || is.type === null) return 'unknown';
  if (was.precisionIn !== is.precisionIn && was.precisionIn !== null && is.precisionIn !== null) {
    return 'precision';
  }
  const tactics = compareTactics(was.tactic, is.tactic);
  if (tactics === 'same') return 'same';
  return tactics === 'other hash' ? 'otherHash' : 'tactic';
}

/** The launch dominates shorter layers, so that their time does not show a change of the clock. */
const LEAST_MS = 0.003;
/** Fewer layers show only a common change beyond `UNIFORM`, and one layer shows none. */
const LEAST_LAYERS = 8;
/**
 * A clock changes all layers by the same factor: this share of them is within `UNIFORM` of the median, or within
 * `UNIFORM_SHARE` of the shift.
 */
const UNIFORM_LAYERS = 0.75;
const UNIFORM = 0.03;
const UNIFORM_SHARE = 0.4;

function commonPercent(parts: readonly ChangedLayers[]): number | null {
  const ratios = parts
    .filter(({ change, baseMs }) => change === 'same' && baseMs >= LEAST_MS)
    .flatMap(({ baseMs, headMs }) => (headMs > 0 ? [headMs / baseMs] : []))
    .toSorted((a, b) => a - b);
  const middle = ratios[Math.floor(ratios.length / 2)] ?? 1;
  const size = Math.abs(Math.log(middle));
  if (ratios.length < 2 || (ratios.length < LEAST_LAYERS && size <= UNIFORM)) return null;
  const tolerance = Math.max(UNIFORM, UNIFORM_SHARE * size);
  const uniform = ratios.filter((ratio) => Math.abs(Math.log(ratio / middle)) <= tolerance);
  return uniform.length >= UNIFORM_LAYERS * ratios.length ? (middle - 1) * 100 : null;
}
