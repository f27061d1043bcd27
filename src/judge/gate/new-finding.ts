import type { Finding } from '../../records/finding.ts';
import type { GatedMetricId } from '../../records/gated-metric.ts';
import { hashOf } from '../../text/canonical-json.ts';
import { environmentDifferences } from '../compare/differences.ts';
import { ALL_CELLS, type CellWords } from './cell-words.ts';
import type { SweepEvidence } from './evidence.ts';
import type { CellChange, FindingCell } from './metric-changes.ts';

/** Changes that begin within this number of sweeps have one cause. */
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

/** Changes of one direction and place, most likely of one cause: of one family of metrics, or of cells in common. */
export function clusterChanges(changes: readonly CellChange[]): CellChange[][] {
  const same = Map.groupBy(changes, (change) => `${change.direction} ${outcomeOf(change)}`);
  return [...same.values()].flatMap((own) => ofOnePlace(own).flatMap(connected));
}

function outcomeOf({ pairs }: CellChange): string {
  return pairs?.outcome === 'machine' || pairs?.outcome === 'cleared' ? pairs.outcome : '';
}

function ofOnePlace(changes: readonly CellChange[]): CellChange[][] {
  const places: CellChange[][] = [];
  for (const change of changes.toSorted((a, b) => a.place - b.place)) {
    const near = places.find(([first]) => first !== undefined && change.place - first.place <= SAME_CAUSE_SWEEPS);
    if (near === undefined) places.push([change]);
    else near.push(change);
  }
  return places;
}

function connected(changes: readonly CellChange[]): CellChange[][] {
  const parts: { readonly families: Set<Family>; readonly cells: Set<string>; readonly changes: CellChange[] }[] = [];
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

/** @param cluster at least one change */
export function newFinding(cluster: readonly CellChange[], evidence: SweepEvidence, words: CellWords): Finding {
  const { rules, sweeps } = evidence;
  const changes = cluster.toSorted((a, b) => b.margin - a.margin);
  const [clearest] = changes;
  const [judged, firstBad] = [sweeps.at(-1), sweeps[clearest?.place ?? -1]];
  if (judged === undefined || firstBad === undefined || clearest === undefined)
    throw new Error('a change outside the sweeps');
  const keys = [...new Set(changes.map(({ cellKey }) => cellKey))];
  const group = words.sharedBy(new Set(keys));
  const { branch, matrix, provenance } = judged;
  const { direction, lastGood } = clearest;
  const outcome = outcomeOf(clearest);
  const recorded = lastGood === null ? [] : environmentChanges(evidence, [lastGood, clearest.place], keys);
  const isBuildLuck = changes.every((change) => change.isBuildLuck);
  const about = { provenance, branch, matrix, direction, firstBadSweepId: firstBad.sweepId };
  return {
    ...about,
    findingId: hashOf({ finding: { ...about, cells: (group.length > 0 ? group : keys).toSorted() } }),
    kind: 'change',
    isWarning: isBuildLuck || changes.every(({ cellKey, metric }) => rules.isWarning(cellKey, metric)),
    state: outcome === 'cleared' ? 'recovered' : 'open',
    group,
    lasts: changes.find(({ lasts }) => lasts !== null)?.lasts ?? null,
    cause: isBuildLuck ? 'buildLuck' : causeOf(changes, recorded, group, outcome),
    environmentChanges: recorded,
    pairs: pairsOf(changes),
    lastGoodSweepId: lastGood === null ? null : (sweeps[lastGood]?.sweepId ?? null),
    lastBadSweepId: outcome === '' ? null : judged.sweepId,
    reportedSweepId: judged.sweepId,
    owner: rules.ownerOf(keys),
    cells: changes.map(findingCellOf),
  };
}

/** Changes of the machine recorded for all of these cells between two sweeps, in words: `driver 580.1 → 580.2`. */
function environmentChanges(
  { cells, environments }: SweepEvidence,
  places: readonly number[],
  keys: readonly string[],
): string[] {
  const ofEach = cells
    .filter(({ cell }) => keys.includes(cell.key))
    .map(({ environmentIds }) => {
      const [before, after] = places.map((place) => environments.get(environmentIds[place] ?? ''));
      return before === undefined || after === undefined ? [] : environmentDifferences(before, after);
    });
  const [first = [], ...others] = ofEach;
  return first.filter((change) => others.every((changes) => changes.includes(change)));
}

/** A machine that changed as recorded is the environment; without a record it is the machine. */
function causeOf(
  changes: readonly CellChange[],
  recorded: readonly string[],
  group: readonly string[],
  outcome: string,
): Finding['cause'] {
  if (recorded.some((change) => change.startsWith('TensorRT '))) return 'version';
  if (outcome === 'machine') return recorded.length > 0 ? 'environment' : 'machine';
  if (group.includes(ALL_CELLS) && recorded.length > 0) return 'environment';
  return changes.some(({ lasts }) => lasts === 'pairs') ? 'engine' : null;
}

/** Of several measured cells the one with the largest change. */
function pairsOf(changes: readonly CellChange[]): Finding['pairs'] {
  const all = changes.flatMap(({ pairs }) => pairs ?? []);
  const [largest] = all.toSorted((a, b) => Math.abs(b.changePercent) - Math.abs(a.changePercent));
  if (largest === undefined) return null;
  const { agreeing, changePercent, count, outcome } = largest;
  return { agreeing, changePercent, count, outcome, cells: [...new Set(all.map(({ cellKey }) => cellKey))] };
}

export function findingCellOf(change: CellChange): FindingCell {
  const { after, before, cellKey, changePercent, ciPercent, margin, metric } = change;
  return { after, before, cellKey, changePercent, ciPercent, margin, metric };
}
