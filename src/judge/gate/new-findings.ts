import type { Finding } from '../../records/finding.ts';
import type { GatedMetricId } from '../../records/gated-metric.ts';
import { hashOf } from '../../text/canonical-json.ts';
import type { CellChange } from './cell-change.ts';
import { ALL_CELLS, type CellWords } from './cell-words.ts';
import type { PairResult, SweepEvidence } from './evidence.ts';
import { environmentChanges } from './environment-changes.ts';

/** A change with what the pairs of the judged sweep made of it. */
export interface WeighedChange extends CellChange {
  readonly pairs: PairResult | null;
  readonly fate: 'change' | 'machine' | 'cleared';
}

/** Changes that begin within this many sweeps have one cause. */
const SAME_CAUSE_SWEEPS = 1;

type Family = 'time' | 'memory' | 'precision' | 'accuracy' | 'build';

const FAMILIES: Readonly<Partial<Record<GatedMetricId, Family>>> = {
  engineMib: 'memory',
  buildMemoryMib: 'memory',
  contextMib: 'memory',
  memoryMib: 'memory',
  precisionSharePercent: 'precision',
  sqnrDb: 'accuracy',
  outputErrorPercent: 'accuracy',
  buildS: 'build',
};

/** Changes of one direction and place, most likely of one cause: those of one family of metrics, and of cells in common. */
export function clusterChanges(changes: readonly WeighedChange[], words: CellWords): WeighedChange[][] {
  const byState = Map.groupBy(changes, ({ direction, fate }) => `${direction} ${fate}`);
  return [...byState.values()]
    .flatMap((same) => ofOnePlace(same).flatMap(connected))
    .flatMap((cluster) => withoutStrangers(cluster, words));
}

function ofOnePlace(changes: readonly WeighedChange[]): WeighedChange[][] {
  const places: WeighedChange[][] = [];
  for (const change of changes.toSorted((a, b) => a.place - b.place)) {
    const same = places.find(([first]) => first !== undefined && change.place - first.place <= SAME_CAUSE_SWEEPS);
    if (same === undefined) places.push([change]);
    else same.push(change);
  }
  return places;
}

function connected(changes: readonly WeighedChange[]): WeighedChange[][] {
  const parts: { readonly families: Set<Family>; readonly cells: Set<string>; readonly changes: WeighedChange[] }[] =
    [];
  for (const change of changes) {
    const family = FAMILIES[change.metric] ?? 'time';
    const joined = parts.filter(({ cells, families }) => families.has(family) || cells.has(change.cellKey));
    const [first = { families: new Set<Family>(), cells: new Set<string>(), changes: [] }, ...others] = joined;
    if (joined.length === 0) parts.push(first);
    for (const other of others) {
      for (const each of other.families) first.families.add(each);
      for (const each of other.cells) first.cells.add(each);
      first.changes.push(...other.changes);
      parts.splice(parts.indexOf(other), 1);
    }
    first.families.add(family);
    first.cells.add(change.cellKey);
    first.changes.push(change);
  }
  return parts.map((part) => part.changes);
}

/** A suspected cell is part of a confirmed finding only if it is one of its cells, or shares what all of these share. */
function withoutStrangers(cluster: WeighedChange[], words: CellWords): WeighedChange[][] {
  const confirmed = new Set(cluster.filter(({ confirmedBy }) => confirmedBy !== null).map(({ cellKey }) => cellKey));
  if (confirmed.size === 0) return [cluster];
  const group = words.sharedBy(confirmed);
  const [own, strangers] = [true, false].map((isOwn) =>
    cluster.filter(({ cellKey }) => (confirmed.has(cellKey) || words.hasAll(cellKey, group)) === isOwn),
  );
  return [own ?? [], strangers ?? []].filter(({ length }) => length > 0);
}

const CONFIRMATIONS = ['pairs', 'measured', 'history', 'previousSweep'] as const;

/** The machine is to blame when it was so for this many sweeps running, the judged one included. */
const MACHINE_SWEEPS = 3;

/**
 * @param cluster at least one
 * @param machineSweeps for how many sweeps running the cells were slow because of the machine, the judged one included
 */
export function newFinding(
  cluster: readonly WeighedChange[],
  evidence: SweepEvidence,
  words: CellWords,
  machineSweeps: number,
): Finding {
  const { rules, sweeps } = evidence;
  const changes = cluster.toSorted((a, b) => b.margin - a.margin);
  const [clearest] = changes.toSorted((a, b) => rankOf(a) - rankOf(b));
  const judged = sweeps.at(-1);
  const firstBad = sweeps[clearest?.place ?? -1];
  if (judged === undefined || firstBad === undefined || clearest === undefined)
    throw new Error('a change outside the sweeps');
  const lastGood = clearest.lastGood === null ? undefined : sweeps[clearest.lastGood];
  const keys = [...new Set(changes.map(({ cellKey }) => cellKey))];
  const group = words.sharedBy(new Set(keys));
  const { branch, matrix, provenance } = judged;
  const { direction } = clearest;
  const recorded =
    clearest.lastGood === null ? [] : environmentChanges(evidence, clearest.lastGood, clearest.place, new Set(keys));
  const { fate } = clearest;
  const isOfAll = group.includes(ALL_CELLS) && changes.every(({ confirmedBy: by }) => by !== null && by !== 'pairs');
  const isEnvironment =
    fate === 'machine' ? recorded.length > 0 || machineSweeps >= MACHINE_SWEEPS : isOfAll && recorded.length > 0;
  const confirmedBy =
    isEnvironment && fate === 'machine'
      ? 'pairs'
      : (CONFIRMATIONS.find((by) => fate === 'change' && changes.some((change) => change.confirmedBy === by)) ?? null);
  const isBuildLuck = changes.every((change) => change.isBuildLuck);
  const about = { provenance, branch, matrix, direction, firstBadSweepId: firstBad.sweepId };
  const state = confirmedBy !== null ? ('confirmed' as const) : fate === 'change' ? ('suspected' as const) : fate;
  const isGroup = state === 'confirmed' && group.length > 0;
  return {
    ...about,
    findingId: findingIdOf(about, isGroup ? group : keys),
    kind: isEnvironment ? 'environment' : 'change',
    isWarning: isBuildLuck || changes.every(({ cellKey, metric }) => rules.isWarning(cellKey, metric)),
    state,
    group,
    confirmedBy,
    cause: causeOf(isBuildLuck, recorded, isEnvironment, confirmedBy),
    environmentChanges: recorded,
    probability: confirmedBy === null ? highest(changes.map(({ probability }) => probability)) : null,
    pairs: pairsOf(changes),
    lastGoodSweepId: lastGood?.sweepId ?? null,
    lastBadSweepId: fate === 'change' ? null : judged.sweepId,
    reportedSweepId: judged.sweepId,
    owner: rules.ownerOf(keys),
    cells: changes.map(findingCellOf),
  };
}

/** @param cells their keys, or the words of a group */
export function findingIdOf(
  {
    branch,
    direction,
    firstBadSweepId,
    matrix,
    provenance,
  }: Pick<Finding, 'branch' | 'direction' | 'firstBadSweepId' | 'matrix' | 'provenance'>,
  cells: readonly string[],
): string {
  const about = { provenance, branch, matrix, direction, cells: cells.toSorted(), firstBadSweepId };
  return hashOf({ finding: about });
}

function causeOf(
  isBuildLuck: boolean,
  recorded: readonly string[],
  isEnvironment: boolean,
  confirmedBy: Finding['confirmedBy'],
): Finding['cause'] {
  if (isBuildLuck) return 'buildLuck';
  if (recorded.some((change) => change.startsWith('TensorRT '))) return 'version';
  if (isEnvironment) return 'environment';
  return confirmedBy === 'pairs' ? 'engine' : null;
}

/** Confirmed ones before suspected ones. */
function rankOf({ confirmedBy }: CellChange): number {
  return confirmedBy === null ? 1 : 0;
}

function highest(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : Math.max(...known);
}

/** Of several measured cells the one with the largest change. */
function pairsOf(changes: readonly WeighedChange[]): Finding['pairs'] {
  const all = changes.flatMap(({ pairs }) => pairs ?? []);
  const [largest] = all.toSorted((a, b) => Math.abs(b.changePercent) - Math.abs(a.changePercent));
  if (largest === undefined) return null;
  const { agreeing, changePercent, count, outcome } = largest;
  return { agreeing, changePercent, count, outcome, cells: [...new Set(all.map(({ cellKey }) => cellKey))] };
}

export function findingCellOf(change: CellChange): Finding['cells'][number] {
  const { after, before, cellKey, changePercent, ciPercent, margin, metric } = change;
  return { after, before, cellKey, changePercent, ciPercent, margin, metric };
}
