import { kernelName, knownNodes, type LayerFacts, nodesLabel } from './layer-facts.ts';
import { type LayerMatch, matchLayers } from './match-layers.ts';
import { compareTactics, describeTacticChange, withoutNumbers } from './layer-name.ts';
import { sumMs } from './real-precision.ts';

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

export type ChangedLayers = ReturnType<typeof changedLayers>;

export type LayersDiff = ReturnType<typeof diffLayers>;

/** Pairs the layers of two engines. Times are per query, with the profiler attached. */
export function diffLayers(base: readonly LayerFacts[], head: readonly LayerFacts[]) {
  const parts = matchLayers(base, head).map(changedLayers);
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
    commonPercent: commonChange(parts),
  };
}

function changedLayers(match: LayerMatch) {
  const [baseMs, headMs] = [sumMs(match.base), sumMs(match.head)];
  return { ...match, change: changeOf(match), baseMs, headMs, deltaMs: headMs - baseMs };
}

function changeOf({ base, head }: LayerMatch): LayerChange {
  const [was] = base;
  const [is] = head;
  if (was === undefined) return 'new';
  if (is === undefined) return 'gone';
  if (base.length > 1 && head.length > 1) return 'regrouped';
  if (head.length > 1) return 'split';
  if (base.length > 1) return 'merged';
  if (!isKernelKnown(was) || !isKernelKnown(is)) return 'unknown';
  if (was.precisionIn !== is.precisionIn && was.precisionIn !== null && is.precisionIn !== null) {
    return 'precision';
  }
  return compareTactics(was.tactic, is.tactic);
}

/** Why the kernels of some layers are unknown. */
export const NO_KERNELS = 'names only: build with --profilingVerbosity=detailed; opaque regions: use Nsight Systems';

function isKernelKnown({ isOpaque, tactic, type }: LayerFacts): boolean {
  return type !== null && (!isOpaque || Boolean(tactic));
}

/** The launch dominates shorter layers: their time varies by a step of the timer, and does not show a clock. */
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

function commonChange(parts: readonly ChangedLayers[]): number | null {
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

export type ChangeRow = ReturnType<typeof rowOf>;

export type ChangeRows = ReturnType<typeof changeRows>;

/** Groups the parts of a difference across blocks. The rows still add up to the total. */
export function changeRows(diff: LayersDiff) {
  const scatter = relativeScatter(diff.parts);
  const groups = Object.groupBy(diff.parts, (part) => {
    if (isLoose(part)) return 'loose';
    if (part.change !== 'same' && part.change !== 'unknown') return 'row';
    // With names only, an equal name proves nothing.
    const isListed = [...part.base, ...part.head].every(({ type }) => type !== null);
    return isListed && isOnItsOwn(part, diff, scatter) ? 'row' : part.change;
  });
  return {
    /** Largest contribution first. */
    rows: [...Map.groupBy(groups.row ?? [], rowKey).values()]
      .map((parts) => rowOf(parts, scatter))
      .toSorted((a, b) => Math.abs(b.deltaMs) - Math.abs(a.deltaMs)),
    /** Layers with unknown kernels on at least one side, whose times do not show the reason. */
    unknown: sumOfAll(groups.unknown),
    /** Other layers with the same kernel on both sides: the noise of the profiler, or an effect that scales them all. */
    unchanged: sumOfAll(groups.same),
    /** Layers on one side only that no ONNX node links to others, so that they cannot be attributed. */
    unattributed: sumOfAll(groups.loose),
  };
}

/** With this scatter, a sum is no cause. */
function sumOfAll(parts: readonly ChangedLayers[] | undefined) {
  return parts === undefined ? null : rowOf(parts, Infinity);
}

function isLoose({ change, base, head }: ChangedLayers): boolean {
  return (
    (change === 'new' || change === 'gone') &&
    [...base, ...head].every(({ kind, origins }) => kind === 'compute' && origins.length === 0)
  );
}

/** Least change, as a share of its time, for which a layer with the same kernel has a row. */
const LEAST_SAME_SHARE = 0.1;

/** Whether the time of a layer changed, and not by the factor that all layers share. */
function isOnItsOwn(part: ChangedLayers, { commonPercent }: LayersDiff, scatter: number): boolean {
  const { baseMs, deltaMs, headMs } = part;
  const apartMs = headMs - baseMs * (1 + (commonPercent ?? 0) / 100);
  const least = Math.max(noiseMs([part], scatter), LEAST_SAME_SHARE * baseMs, LEAST_MS);
  return Math.min(baseMs, headMs) > 0 && Math.min(Math.abs(deltaMs), Math.abs(apartMs)) >= least;
}

function rowKey(part: ChangedLayers): string {
  return `${part.change}\0${namesOf(part.base, true).join('\0')}\0\0${namesOf(part.head, true).join('\0')}`;
}

/** The names of some layers, each once. As a pattern, a name is equal for every block. */
function namesOf(layers: readonly LayerFacts[], isPattern: boolean): string[] {
  const names = layers.flatMap((layer) => {
    const known = knownNodes(layer);
    return known.length > 0 ? known : [layer.stableName];
  });
  return [...new Set(isPattern ? names.map(withoutNumbers) : names)].toSorted();
}

function rowOf(parts: readonly ChangedLayers[], scatter: number) {
  const sum = (value: (part: ChangedLayers) => number): number => parts.reduce((total, part) => total + value(part), 0);
  const [first] = parts;
  const change = first?.change ?? 'same';
  const deltaMs = sum((part) => part.deltaMs);
  const layers = first === undefined || first.base.length > 0 ? first?.base : first.head;
  return {
    change,
    /** The nodes of one part, or the common names of several: `blocks.*.attn: AV, QK, Scale, Softmax`. */
    label: nodesLabel(namesOf(layers ?? [], parts.length > 1)),
    /** How the kernels changed; null if there is nothing to report. */
    detail: first === undefined ? null : detailOf(first, parts),
    /** The time changed by more than that of equal kernels varies. Only such rows are causes. */
    isCause: Math.abs(deltaMs) > noiseMs(parts, scatter),
    baseLayers: sum(({ base }) => base.length),
    headLayers: sum(({ head }) => head.length),
    baseMs: sum(({ baseMs }) => baseMs),
    headMs: sum(({ headMs }) => headMs),
    deltaMs,
    parts,
  };
}

function detailOf({ base, change, head }: ChangedLayers, parts: readonly ChangedLayers[]): string | null {
  switch (change) {
    case 'same':
      return formatChange(parts[0]).join(', ') || null;
    case 'unknown':
    case 'new':
    case 'gone':
      return null;
    case 'split':
      return `${base.map(kernelName).join()} → ${head.length} layers: ${head.map(kernelName).join(', ')}`;
    case 'merged':
      return `${base.length} layers (${base.map(kernelName).join(', ')}) → ${head.map(kernelName).join()}`;
    case 'regrouped':
      return `${base.length} layers → ${head.length} layers, fused in another way`;
    case 'precision':
      return costliest(parts, precisionChange);
    case 'tactic':
    case 'otherHash':
      return costliest(parts, tacticChange);
  }
}

function precisionChange(part: ChangedLayers): string {
  const [was, is] = [part.base[0], part.head[0]];
  return `${was?.precisionIn ?? '?'} → ${is?.precisionIn ?? '?'}, ${tacticChange(part)}`;
}

function tacticChange(part: ChangedLayers): string {
  const { base, head } = part;
  const tactics = describeTacticChange(base[0]?.tactic ?? '', head[0]?.tactic ?? '');
  return [tactics, ...formatChange(part)].join(', ');
}

/** `inputs: Row major linear FP16 format → Channel major …`: other memory layouts of the first tensors. */
function formatChange(part: ChangedLayers | undefined): string[] {
  return (['inputs', 'outputs'] as const).flatMap((side) => {
    const [was, is] = [part?.base[0]?.[side][0]?.format, part?.head[0]?.[side][0]?.format];
    return was && is && was !== is ? [`${side}: ${was} → ${is}`] : [];
  });
}

/** The kernel change that costs most in a row, with its number of layers. */
function costliest(parts: readonly ChangedLayers[], textOf: (part: ChangedLayers) => string): string | null {
  const costOf = (own: readonly ChangedLayers[]): number =>
    Math.abs(own.reduce((sum, { deltaMs }) => sum + deltaMs, 0));
  const groups = [...Map.groupBy(parts, textOf)].toSorted(
    ([, a], [, b]) => costOf(b) - costOf(a) || b.length - a.length,
  );
  const [first] = groups;
  if (first === undefined) return null;
  const [text, own] = first;
  return groups.length === 1 ? text : `${text} (${own.length} of ${parts.length})`;
}

/** Default if too few layers kept their kernels. Equal layers of the recordings differ by 1 to 2 %. */
const USUAL_SCATTER = 0.02;
/** Number of standard deviations that is significant. */
const DEVIATIONS = 4;
/** Least share of the time of the layer that is significant. */
const LEAST_SHARE = 0.01;

/** Relative standard deviation of equal layers, from the median absolute change. */
function relativeScatter(parts: readonly ChangedLayers[]): number {
  const sizes = parts
    .filter(({ change, baseMs, headMs }) => change === 'same' && baseMs > LEAST_MS && headMs > 0)
    .map(({ baseMs, headMs }) => Math.abs(Math.log(headMs / baseMs)))
    .toSorted((a, b) => a - b);
  if (sizes.length < LEAST_LAYERS) return USUAL_SCATTER;
  return Math.max(0.005, 1.4826 * (sizes[Math.floor(sizes.length / 2)] ?? USUAL_SCATTER));
}

function noiseMs(parts: readonly ChangedLayers[], scatter: number): number {
  const squares = parts.reduce((sum, { baseMs, headMs }) => sum + Math.max(baseMs, headMs, LEAST_MS) ** 2, 0);
  const total = parts.reduce((sum, { baseMs, headMs }) => sum + Math.max(baseMs, headMs), 0);
  return Math.max(DEVIATIONS * scatter * Math.sqrt(squares), LEAST_SHARE * total);
}
