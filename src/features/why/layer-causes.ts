import type { Cause } from '../../records/cause.ts';
import type { ChangeRow } from '../../layers/change-rows.ts';
import type { LayerChange } from '../../layers/diff-layers.ts';
import { kernelName } from '../../layers/layer-label.ts';
import { count } from '../../terminal/numbers.ts';
import { cause, seenInOtherCell } from './causes.ts';
import { type CauseDetector, diffCommand, round, type WhyContext } from './context.ts';
import { engineRoot } from './changed-conditions.ts';

type LayerKind = 'fusion' | 'precision' | 'tactics';

const KINDS: readonly (readonly [LayerKind | 'newLayers', readonly LayerChange[]])[] = [
  ['fusion', ['split', 'merged', 'regrouped']],
  ['newLayers', ['new', 'gone']],
  ['precision', ['precision']],
  ['tactics', ['tactic', 'otherHash']],
];

/** Least share of the end-to-end change that a profile must show. */
const LEAST_PROFILE_SHARE = 0.2;
const LISTED = 5;
/** Of the largest; smaller ones are counted. */
const LISTED_SHARE = 0.03;

/** Layers with other kernels or fusions: by ONNX origin, largest contribution first. */
export const layerCauses: CauseDetector = (context) => {
  const { layers } = context.sides;
  if (layers === null) return [];
  const sign = context.headIsSlow ? 1 : -1;
  const whole = sign * layers.diff.deltaMs;
  const pace = Math.abs(Math.log(layers.diff.headMs / layers.diff.baseMs));
  if (whole <= 0 || pace < LEAST_PROFILE_SHARE * context.gpuPart * context.slowdown) return [];
  const groups = KINDS.map(([kind, changes]) => {
    const ofKind = layers.rows.rows.filter(({ change, isCause }) => changes.includes(change) && isCause);
    const rows = ofKind.filter(({ deltaMs }) => sign * deltaMs > 0);
    return { kind, rows, sumMs: sumOf(rows, sign), netMs: sumOf(ofKind, sign) };
  });
  // Removed and new layers are the same work: only their difference is a change.
  const counted = groups.filter(({ kind, rows, netMs }) =>
    kind === 'newLayers' ? netMs > LEAST_NET_SHARE * whole : rows.length > 0,
  );
  const amount = ({ kind, sumMs, netMs }: (typeof groups)[number]): number => (kind === 'newLayers' ? netMs : sumMs);
  const gains = counted.reduce((sum, group) => sum + amount(group), 0);
  return counted.map((group) => {
    const ofProfile = amount(group) / Math.max(whole, gains);
    // A profile may show more or less than the query: shares are capped by both.
    const ofQuery = layers.otherCell === null && context.gpuGrewMs > 0 ? amount(group) / context.gpuGrewMs : 1;
    const share = Math.min(ofProfile, ofQuery) * context.gpuPart;
    const kind = group.kind === 'newLayers' ? 'fusion' : group.kind;
    const found = causeOf(context, kind, group.rows, Math.min(100, share * 100));
    return layers.otherCell === null ? found : seenInOtherCell(found, layers.otherCell);
  });
};

/** Of the whole change of the profile. */
const LEAST_NET_SHARE = 0.1;

function sumOf(rows: readonly ChangeRow[], sign: number): number {
  return rows.reduce((total, { deltaMs }) => total + sign * deltaMs, 0);
}

function causeOf(context: WhyContext, kind: LayerKind, rows: readonly ChangeRow[], explainsPercent: number): Cause {
  const root = engineRoot(context.sides);
  const largest = Math.abs(rows[0]?.deltaMs ?? 0);
  const listed = rows
    .slice(0, LISTED)
    .filter(({ deltaMs }) => Math.abs(deltaMs) >= LISTED_SHARE * largest)
    .map(rowLine);
  const more = rows.length - listed.length;
  return cause(kind, explainsPercent, {
    title: titleOf(kind, rows),
    evidence: [...(root === null ? [] : [root]), ...listed, ...(more > 0 ? [`and ${more} more`] : [])],
    confirm: diffCommand(context.sides.names),
  });
}

function titleOf(kind: LayerKind, rows: readonly ChangeRow[]): string {
  const [first] = rows;
  if (first === undefined) return kind;
  if (kind === 'fusion') return fusionTitle(first);
  const layers = rows.reduce((sum, { headLayers }) => sum + headLayers, 0);
  const what = kind === 'precision' ? 'other precision' : 'other tactics';
  // The place of the largest part: `blocks.*.mlp.fc1`.
  const where = short(first.label.split(' + ')[0]?.split(':')[0] ?? first.label);
  return `${what} in ${count(layers, 'layer')}: ${where}`;
}

function fusionTitle({ change, parts, label }: ChangeRow): string {
  const [part] = parts;
  const times = parts.length > 1 ? ` (${parts.length} times)` : '';
  const fused = (change === 'split' ? part?.base[0] : part?.head[0]) ?? null;
  const name = short(fused === null ? label : kernelName(fused));
  const what = /mha|attention/i.test(name) ? `fused attention ${name}` : `fusion ${name}`;
  switch (change) {
    case 'split':
      return `${what} was lost${times}`;
    case 'merged':
      return `${what} is new${times}`;
    case 'new':
      return `new layers: ${short(label)}${times}`;
    case 'gone':
      return `layers are gone: ${short(label)}${times}`;
    default:
      return `fused in another way: ${short(label)}${times}`;
  }
}

function rowLine({ deltaMs, label, detail, headLayers }: ChangeRow): string {
  const layers = headLayers > 1 ? ` x${headLayers}` : '';
  const how = detail === null ? '' : `: ${short(detail)}`;
  return `${deltaMs > 0 ? '+' : ''}${round(deltaMs)} ms ${short(label)}${layers}${how}`;
}

/** Names of layers may have thousands of characters. */
const LONGEST_NAME = 120;

function short(name: string): string {
  return name.length <= LONGEST_NAME ? name : `${name.slice(0, LONGEST_NAME - 1)}…`;
}
