import { environmentDifferences, buildDifferences } from '../../judge/compare/differences.ts';
import type { ChangeRow, LayerChange } from '../../layers/diff-layers.ts';
import type { ExplainedRun } from '../../store/runs/layer-runs.ts';
import { kernelName } from '../../layers/layer-facts.ts';
import type { Cause } from '../../records/cause.ts';
import { count, formatPercent } from '../../terminal/numbers.ts';
import { type CauseName, type WhyContext, cause, diffCommand, newest, round, uncounted } from './context.ts';
import type { WhyLayers, WhySides } from './why-sides.ts';

/**
 * Changed conditions that may be the cause but whose effect is unknown. They rank by how often such a change is the
 * cause, below evidence that explains most of the change.
 */
export function changedConditions({ sides }: WhyContext): Cause[] {
  const { base, cellDifference, head, isSameCell } = sides;
  const [was, is] = [newest(base), newest(head)];
  if (was === null || is === null) return [];
  const inputs = buildInputChanges(was, is);
  const options = [
    ...inputs.filter((change) => change.startsWith('build:')),
    ...listChange('run', was.runFlags, is.runFlags, (flags) => flags.join(' ') || 'no flag'),
    ...listChange('variables', was.variables, is.variables, (set) => set.join(' ') || 'none'),
    ...listChange('notes of the imports', was.importNotes, is.importNotes, quotedList),
  ];
  const [rebuilt = '', why = ''] = [was, is].every(isKnown)
    ? ['the engine was rebuilt from the same inputs', 'the builder may choose other kernels each time (build luck)']
    : ['the engine is different', 'its build inputs are unknown on one side or both'];
  const machine = environmentDifferences(was.environment, is.environment);
  const isRebuilt = inputs.length === 0 && sameEngine(was.engine, is.engine) === false;
  const otherInputs = JSON.stringify(was.inputs) !== JSON.stringify(is.inputs);
  const environment = machine.some((change) => change.startsWith('GPU ')) ? 'gpu' : 'environment';
  const conditions: readonly (readonly [CauseName, isChanged: boolean, title: string, evidence?: string[]])[] = [
    ['model', isSameCell && inputs.includes(MODEL_CHANGED), 'the model file changed', ['its content hash differs']],
    ['options', isSameCell && options.length > 0, `options changed: ${options.join('; ')}`],
    ['inputs', isSameCell && otherInputs, 'the input data changed'],
    ['engineBuild', isSameCell && isRebuilt, rebuilt, [why]],
    ['cellsDiffer', !isSameCell, `the cells differ by intent: ${cellDifference}`],
    [environment, machine.length > 0, `environment: ${machine.join('; ')}`],
  ];
  return conditions.flatMap(([name, isChanged, title, evidence]) =>
    isChanged ? [cause(name, null, title, evidence)] : [],
  );
}

/** `run: --fp16 → no flag`: what only one side has; empty if both have the same. */
function listChange(
  what: string,
  was: readonly string[],
  is: readonly string[],
  textOf: (texts: readonly string[]) => string,
): string[] {
  const [gone, come] = [was.filter((text) => !is.includes(text)), is.filter((text) => !was.includes(text))];
  return gone.length + come.length === 0 ? [] : [`${what}: ${textOf(gone)} → ${textOf(come)}`];
}

const quotedList = (texts: readonly string[]) => texts.map((text) => `"${text}"`).join(', ') || 'none';

/** Whether two engines are the same file; null if unknown. */
export function sameEngine(a: ExplainedRun['engine'], b: ExplainedRun['engine']): boolean | null {
  if (a.sha256 !== null && b.sha256 !== null) return a.sha256 === b.sha256;
  if (a.buildId !== null && b.buildId !== null) return a.buildId === b.buildId;
  // Two machines may give different engines the same name, so that only different names prove something.
  return a.path !== null && b.path !== null && a.path !== b.path ? false : null;
}

const MODEL_CHANGED = 'the model changed';

const isKnown = ({ engine }: ExplainedRun): boolean => engine.modelSha256 !== null && engine.flags !== null;

/** Differences between the inputs of the two builds, from base to head. Empty if the known inputs are equal. */
function buildInputChanges(base: ExplainedRun, head: ExplainedRun): string[] {
  const [a, b] = [base.engine, head.engine];
  const changes = buildDifferences({ ...a, flags: a.flags ?? [] }, { ...b, flags: b.flags ?? [] });
  const [was, is] = [base.environment.tensorrt, head.environment.tensorrt];
  return [
    ...changes.filter((change) => change === MODEL_CHANGED || (a.flags !== null && b.flags !== null)),
    ...(was !== null && is !== null && was !== is ? [`TensorRT ${was} → ${is}`] : []),
  ];
}

/** Why the engines differ, in one line; null when they are equal, or nothing is known. */
function engineRoot({ base, head, isSameCell }: WhySides): string | null {
  const [was, is] = [newest(base), newest(head)];
  if (!isSameCell || was === null || is === null || sameEngine(was.engine, is.engine) === true) return null;
  const changes = buildInputChanges(was, is);
  if (changes.length > 0) return `the engine was built from other inputs: ${changes.join('; ')}`;
  return [was, is].every(isKnown)
    ? 'the engine was rebuilt from the same known inputs: the builder chose differently (build luck)'
    : 'the engine was rebuilt, from inputs that are not known';
}

type LayerKind = 'fusion' | 'precision' | 'tactics' | 'sameKernel';

const KINDS: readonly (readonly [LayerKind | 'newLayers', readonly LayerChange[]])[] = [
  ['fusion', ['split', 'merged', 'regrouped']],
  ['newLayers', ['new', 'gone']],
  ['precision', ['precision']],
  ['tactics', ['tactic', 'otherHash']],
  ['sameKernel', ['same', 'unknown']],
];

/** Least share of the end-to-end change that a profile must show. */
const LEAST_PROFILE_SHARE = 0.2;
/** Least share of the change for a kind to be named in addition to a larger one. */
const LEAST_SHARE = 0.02;
/** New layers are named only if their net cost is at least this share of the whole change of the profile. */
const LEAST_NET_SHARE = 0.1;
const LISTED = 10;

/** Layers with other kernels or fusions, by ONNX origin, largest contribution first. */
export function layerCauses(context: WhyContext): Cause[] {
  const { layers } = context.sides;
  if (layers === null) return [];
  const root = engineRoot(context.sides);
  return groupsOf(context, layers).map(({ kind, rows, share, gained }) => {
    const evidence = [...(root === null ? [] : [root]), ...listed(rows, layers.isTimed, '')];
    const found = cause(kind, share * 100, titleOf(kind, rows), evidence, share > 1 ? gained * 100 : null);
    return layers.isTimed && layers.otherCell === null ? found : uncounted(found, layers.otherCell);
  });
}

/** Changed layers that no cause names, largest cost first. Without times, another hash of a kernel proves nothing. */
export function otherChangedLayers(context: WhyContext, isExplained: boolean): string[] {
  const { layers, names } = context.sides;
  if (layers === null) return [];
  const named = new Set(isExplained ? groupsOf(context, layers).flatMap(({ rows }) => rows) : []);
  const rows = byCost(layers, context.headIsSlow ? 1 : -1);
  const others = rows.filter((row) => !named.has(row) && (layers.isTimed || row.change !== 'otherHash'));
  return listed(others, layers.isTimed, `: ${diffCommand(names)}`);
}

function layersIn(rows: readonly ChangeRow[]): number {
  return sum(rows, ({ headLayers }) => headLayers);
}

/** Rows by cost, largest first; without times, by number of layers. */
function byCost({ isTimed, rows }: WhyLayers, sign: number): readonly ChangeRow[] {
  const costOf = (row: ChangeRow): number => (isTimed ? sign * row.deltaMs : Math.max(row.baseLayers, row.headLayers));
  return rows.rows.toSorted((a, b) => costOf(b) - costOf(a));
}

function groupsOf(context: WhyContext, layers: WhyLayers) {
  return layers.isTimed ? costingGroups(context, layers) : listedGroups(layers);
}

/** Groups of engines without layer times: layers with other kernels, except those that were only generated again. */
function listedGroups(layers: WhyLayers) {
  const changed = byCost(layers, 1).filter(({ change }) => change !== 'otherHash');
  return KINDS.flatMap(([kind, changes]) => {
    const rows = changed.filter(({ change }) => changes.includes(change));
    if (kind === 'newLayers' || rows.length === 0) return [];
    return [{ kind, rows, share: layersIn(rows) / Math.max(1, layersIn(changed)), gained: 0 }];
  });
}

/** Rows by cost, largest first, with the share of the change that they cost, and the share that all others gained. */
function costingGroups(context: WhyContext, layers: WhyLayers) {
  const sign = context.headIsSlow ? 1 : -1;
  const ofProfile = sign * layers.diff.deltaMs;
  const pace = Math.abs(Math.log(layers.diff.headMs / layers.diff.baseMs));
  if (ofProfile <= 0 || pace < LEAST_PROFILE_SHARE * context.gpuPart * context.slowdown) return [];
  // The profile may show a larger or smaller growth than the query.
  const wholeMs = Math.max(ofProfile, layers.otherCell === null ? context.gpuGrewMs : 0);
  const { rows: changed, unattributed, unchanged, unknown } = layers.rows;
  const all = [...changed, unattributed, unchanged, unknown].filter((row) => row !== null);
  const shareOf = (ms: number): number => (ms / wholeMs) * context.gpuPart;
  const costOf = (some: readonly ChangeRow[]): number => sign * sum(some, ({ deltaMs }) => deltaMs);
  const causing = byCost(layers, sign).filter(({ isCause }) => isCause);
  return KINDS.flatMap(([kind, changes]) => {
    const ofKind = causing.filter(({ change }) => changes.includes(change));
    const rows = ofKind.filter(({ deltaMs }) => sign * deltaMs > 0);
    // Removed and new layers do the same work, so only their difference is a change.
    const counted = kind === 'newLayers' ? ofKind : rows;
    const gaining = all.filter((row) => !counted.includes(row) && sign * row.deltaMs < 0);
    const [costMs, gainedMs] = [costOf(counted), -costOf(gaining)];
    const isNamed = kind === 'newLayers' ? costMs > LEAST_NET_SHARE * ofProfile : shareOf(costMs) >= LEAST_SHARE;
    if (!isNamed || rows.length === 0) return [];
    const named = kind === 'newLayers' ? ('fusion' as const) : kind;
    return [{ kind: named, rows, share: shareOf(costMs), gained: shareOf(gainedMs) }];
  });
}

function sum(rows: readonly ChangeRow[], value: (row: ChangeRow) => number): number {
  return rows.reduce((total, row) => total + value(row), 0);
}

function listed(rows: readonly ChangeRow[], isTimed: boolean, rest: string): string[] {
  const more = rows.length - LISTED;
  const lines = rows.slice(0, LISTED).map((row) => rowLine(row, isTimed));
  return more > 0 ? [...lines, `and ${more} more${rest}`] : lines;
}

function titleOf(kind: LayerKind, rows: readonly ChangeRow[]): string {
  const [first] = rows;
  if (first === undefined) return kind;
  if (kind === 'fusion') return fusionTitle(first);
  const [baseMs, headMs] = [sum(rows, (row) => row.baseMs), sum(rows, (row) => row.headMs)];
  const slower = `${formatPercent((headMs / baseMs - 1) * 100)} with ${first.change === 'unknown' ? 'unknown kernels' : 'the same kernel'}`;
  const what = kind === 'precision' ? 'other precision' : kind === 'tactics' ? 'other tactics' : slower;
  // The scope of the largest part, such as `blocks.*.mlp.fc1`.
  const where = short(first.label.split(' + ')[0]?.split(':')[0] ?? first.label);
  return `${what} in ${count(layersIn(rows), 'layer')}: ${where}`;
}

function fusionTitle({ change, parts, label }: ChangeRow): string {
  const [part] = parts;
  const times = parts.length > 1 ? ` (${parts.length} times)` : '';
  const fused = change === 'split' ? part?.base[0] : change === 'merged' ? part?.head[0] : undefined;
  const name = short(fused === undefined ? label : kernelName(fused));
  const what = /mha|attention/i.test(name) ? `fused attention ${name}` : `fusion ${name}`;
  const titles: Partial<Record<LayerChange, string>> = {
    split: `${what} was lost`,
    merged: `${what} is new`,
    new: `new layers: ${name}`,
    gone: `removed layers: ${name}`,
  };
  return `${titles[change] ?? `fused differently: ${name}`}${times}`;
}

/** Decimals of a millisecond that give nanoseconds. */
const NS_DECIMALS = 6;

function rowLine({ deltaMs, label, detail, headLayers, isCause }: ChangeRow, isTimed: boolean): string {
  const size = isTimed ? `${deltaMs > 0 ? '+' : ''}${round(Number(deltaMs.toFixed(NS_DECIMALS)))} ms ` : '';
  const layers = headLayers > 1 ? ` x${headLayers}` : '';
  const how = detail === null ? '' : `: ${short(detail)}`;
  return `${size}${short(label)}${layers}${how}${isTimed && !isCause ? ' (within noise)' : ''}`;
}

/** Names of layers may have thousands of characters, so they are shortened. */
const LONGEST_NAME = 120;

function short(name: string): string {
  return name.length <= LONGEST_NAME ? name : `${name.slice(0, LONGEST_NAME - 1)}…`;
}
