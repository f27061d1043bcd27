import type { Cause, CauseKind } from '../../domain/cause.ts';
import type { ChangeRow } from '../layers/change-rows.ts';
import type { LayerChange } from '../layers/diff-layers.ts';
import { kernelName } from '../layers/layer-label.ts';
import { type CauseDetector, round, type WhyContext } from './context.ts';
import { engineRoot } from './engine-root.ts';

const KINDS: readonly (readonly [CauseKind, readonly LayerChange[]])[] = [
  ['fusion', ['split', 'merged', 'regrouped', 'new', 'gone']],
  ['precision', ['precision']],
  ['tactics', ['tactic', 'otherHash']],
];

/** A profile must move by this share of what the end-to-end time moved, to speak of it. */
const LEAST_PROFILE_SHARE = 0.2;
const LISTED = 5;
/** Of the largest; smaller ones are counted. */
const LISTED_SHARE = 0.03;

/** Layers that run other kernels, or are fused in another way: by ONNX origin, largest contribution first. */
export const layerCauses: CauseDetector = (context) => {
  const { layers } = context.sides;
  if (layers === null) return [];
  const sign = context.headIsSlow ? 1 : -1;
  const whole = sign * layers.diff.deltaMs;
  const pace = Math.abs(Math.log(layers.diff.headMs / layers.diff.baseMs));
  if (whole <= 0 || pace < LEAST_PROFILE_SHARE * context.slowdown) return [];
  return KINDS.flatMap(([kind, changes]) => {
    const rows = layers.rows.rows.filter(
      ({ change, isCause, deltaMs }) => changes.includes(change) && isCause && sign * deltaMs > 0,
    );
    const sum = rows.reduce((total, { deltaMs }) => total + sign * deltaMs, 0);
    if (sum <= 0) return [];
    return [causeOf(context, kind, rows, Math.min(100, (sum / whole) * 100))];
  });
};

function causeOf(
  context: WhyContext,
  kind: CauseKind,
  rows: readonly ChangeRow[],
  explainsPercent: number,
): Cause {
  const { names } = context.sides;
  const layers = rows.reduce((sum, { headLayers }) => sum + headLayers, 0);
  const root = engineRoot(context.sides);
  const largest = Math.abs(rows[0]?.deltaMs ?? 0);
  const listed = rows
    .slice(0, LISTED)
    .filter(({ deltaMs }) => Math.abs(deltaMs) >= LISTED_SHARE * largest)
    .map(rowLine);
  const more = rows.length - listed.length;
  return {
    kind,
    certainty: 'shown',
    title: titleOf(kind, rows, layers),
    evidence: [
      ...(root === null ? [] : [root]),
      ...listed,
      ...(more > 0 ? [`and ${more} more`] : []),
    ],
    explainsPercent,
    confirm: `bench layers ${names.cell} --diff ${names.base} ${names.head}`,
    rank: 0.95 * explainsPercent,
  };
}

function titleOf(kind: CauseKind, rows: readonly ChangeRow[], layers: number): string {
  const [first] = rows;
  if (first === undefined) return kind;
  const where = `${layers} ${layers === 1 ? 'layer' : 'layers'}`;
  switch (kind) {
    case 'fusion':
      return fusionTitle(first);
    case 'precision':
      return `other precision in ${where}: ${shortLabel(first)}`;
    default:
      return `other tactics in ${where}: ${shortLabel(first)}`;
  }
}

/** Where the largest part is: `blocks.*.mlp.fc1`. */
function shortLabel({ label }: ChangeRow): string {
  return label.split(' + ')[0]?.split(':')[0] ?? label;
}

function fusionTitle({ change, parts, label }: ChangeRow): string {
  const [part] = parts;
  const times = parts.length > 1 ? ` (${parts.length} times)` : '';
  const fused = (change === 'split' ? part?.base[0] : part?.head[0]) ?? null;
  const name = fused === null ? label : kernelName(fused);
  const what = /mha|attention/i.test(name) ? `fused attention ${name}` : `fusion ${name}`;
  switch (change) {
    case 'split':
      return `${what} was lost${times}`;
    case 'merged':
      return `${what} is new${times}`;
    case 'new':
      return `new layers: ${label}${times}`;
    case 'gone':
      return `layers are gone: ${label}${times}`;
    default:
      return `fused in another way: ${label}${times}`;
  }
}

function rowLine({ deltaMs, label, detail, headLayers }: ChangeRow): string {
  const layers = headLayers > 1 ? ` x${headLayers}` : '';
  return `${deltaMs > 0 ? '+' : ''}${round(deltaMs)} ms ${label}${layers}${detail === null ? '' : `: ${detail}`}`;
}
