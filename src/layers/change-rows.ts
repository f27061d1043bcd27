import type { ChangedLayers, LayerChange, LayersDiff } from './diff-layers.ts';
import { kernelName, knownNodes, type LayerFacts, nodesLabel } from './layer-facts.ts';
import { describeTacticChange, withoutNumbers } from './layer-name.ts';

export interface ChangeRow {
  readonly change: LayerChange;
  /** ONNX nodes with `*` for block numbers: `blocks.*.attn: AV, QK, Scale, Softmax`. */
  readonly label: string;
  readonly parts: readonly ChangedLayers[];
  readonly baseLayers: number;
  readonly headLayers: number;
  readonly baseMs: number;
  readonly headMs: number;
  readonly deltaMs: number;
  /** How the kernels changed; null if there is nothing to report. */
  readonly detail: string | null;
  /** The kernels changed, and the time changed by more than that of equal kernels varies. Only such rows are causes. */
  readonly isCause: boolean;
}

export interface ChangeRows {
  /** Largest contribution first. */
  readonly rows: readonly ChangeRow[];
  /** Layers with unknown kernels on at least one side, whose times do not show the reason. */
  readonly unknown: ChangeRow | null;
  /** Layers with the same kernel on both sides: the noise of the profiler, or an effect that scales all layers. */
  readonly unchanged: ChangeRow | null;
  /** Layers on one side only that no ONNX node links to others, so that they cannot be attributed. */
  readonly unattributed: ChangeRow | null;
}

/** Groups the parts of a difference across blocks. The rows still add up to the total. */
export function changeRows(diff: LayersDiff): ChangeRows {
  const scatter = relativeScatter(diff.parts);
  const unchanged = diff.parts.filter(({ change }) => change === 'same');
  const unknown = diff.parts.filter(({ change }) => change === 'unknown');
  const loose = diff.parts.filter(isLoose);
  const settled: readonly LayerChange[] = ['same', 'unknown'];
  const others = diff.parts.filter((part) => !settled.includes(part.change) && !isLoose(part));
  const rows = [...Map.groupBy(others, rowKey).values()].map((parts) => rowOf(parts, scatter));
  return {
    rows: rows.toSorted((a, b) => Math.abs(b.deltaMs) - Math.abs(a.deltaMs)),
    unknown: unknown.length === 0 ? null : rowOf(unknown, scatter),
    unchanged: unchanged.length === 0 ? null : rowOf(unchanged, scatter),
    unattributed: loose.length === 0 ? null : rowOf(loose, scatter),
  };
}

function isLoose({ change, base, head }: ChangedLayers): boolean {
  return (
    (change === 'new' || change === 'gone') &&
    [...base, ...head].every(({ kind, origins }) => kind === 'compute' && origins.length === 0)
  );
}

function rowKey(part: ChangedLayers): string {
  return `${part.change}\0${namesOf(part.base, true).join('\0')}\0\0${namesOf(part.head, true).join('\0')}`;
}

/** The names of some layers, each once. As a pattern, a name is equal for every block. */
function namesOf(layers: readonly LayerFacts[], isPattern: boolean): string[] {
  const names = layers.flatMap((layer) => {
    const known = knownNodes(layer);
    return known.length > 0 ? known : [isPattern ? layer.stableName : layer.name];
  });
  return [...new Set(isPattern ? names.map(withoutNumbers) : names)].toSorted();
}

/** The node names of a single part; for several parts, their common names. */
function labelOf(parts: readonly ChangedLayers[]): string {
  const [first] = parts;
  if (first === undefined) return '';
  const layers = first.base.length > 0 ? first.base : first.head;
  return nodesLabel(namesOf(layers, parts.length > 1));
}

function rowOf(parts: readonly ChangedLayers[], scatter: number): ChangeRow {
  const sum = (value: (part: ChangedLayers) => number): number => parts.reduce((total, part) => total + value(part), 0);
  const [first] = parts;
  const change = first?.change ?? 'same';
  const deltaMs = sum((part) => part.deltaMs);
  return {
    change,
    label: labelOf(parts),
    parts,
    baseLayers: sum(({ base }) => base.length),
    headLayers: sum(({ head }) => head.length),
    baseMs: sum(({ baseMs }) => baseMs),
    headMs: sum(({ headMs }) => headMs),
    deltaMs,
    detail: detailOf(parts),
    isCause: change !== 'same' && change !== 'unknown' && Math.abs(deltaMs) > noiseMs(parts, scatter),
  };
}

function detailOf(parts: readonly ChangedLayers[]): string | null {
  const [first] = parts;
  if (first === undefined) return null;
  switch (first.change) {
    case 'same':
    case 'unknown':
    case 'new':
    case 'gone':
      return null;
    case 'split':
      return `${first.base.map(kernelName).join()} → ${first.head.length} layers: ${first.head.map(kernelName).join(', ')}`;
    case 'merged':
      return `${first.base.length} layers (${first.base.map(kernelName).join(', ')}) → ${first.head.map(kernelName).join()}`;
    case 'regrouped':
      return `${first.base.length} layers → ${first.head.length} layers, fused in another way`;
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

function tacticChange({ base, head }: ChangedLayers): string {
  return describeTacticChange(base[0]?.tactic ?? '', head[0]?.tactic ?? '');
}

/** The kernel change that costs most in a row, with its number of layers. */
function costliest(parts: readonly ChangedLayers[], textOf: (part: ChangedLayers) => string): string | null {
  const groups = [...Map.groupBy(parts, textOf)].toSorted(([, a], [, b]) => sumOf(b) - sumOf(a) || b.length - a.length);
  const [first] = groups;
  if (first === undefined) return null;
  const [text, own] = first;
  return groups.length === 1 ? text : `${text} (${own.length} of ${parts.length})`;
}

/** Size of the change of some layers in ms. */
function sumOf(parts: readonly ChangedLayers[]): number {
  return Math.abs(parts.reduce((sum, { deltaMs }) => sum + deltaMs, 0));
}

/** Layers as short as a launch vary by one step of the timer. */
const LEAST_MS = 0.003;
const LEAST_LAYERS = 8;
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
