import type { Finding } from '../../records/gate-finding.ts';
import type { CellChange } from './cell-change.ts';
import type { CellWords } from './cell-words.ts';
import type { SweepEvidence } from './evidence.ts';
import type { KnownFinding, KnownFindings } from './known-findings.ts';
import { clusterChanges, findingCellOf, newFinding, pairsOf, type WeighedChange } from './new-findings.ts';
import { nextState, type WeighedCell } from './next-state.ts';

interface Judged {
  readonly cells: readonly WeighedCell[];
  readonly reopened: ReadonlySet<string>;
  readonly judged: number;
}

/** Known findings with the changes that are part of them, and new findings of the other changes. */
export function mergeFindings(
  changes: readonly WeighedChange[],
  evidence: SweepEvidence,
  known: KnownFindings,
  words: CellWords,
  { cells, judged, reopened }: Judged,
): Finding[] {
  const covered = new Map<string, WeighedChange[]>();
  const fresh: WeighedChange[] = [];
  for (const change of changes) {
    const found = known.covering(change, words);
    if (found === null) fresh.push(change);
    else covered.set(found.finding.findingId, [...(covered.get(found.finding.findingId) ?? []), change]);
  }
  const byKey = new Map(cells.map((cell) => [cell.evidence.cell.key, cell]));
  const updated = known.all
    .filter(({ finding }) => finding.kind !== 'limit')
    .map((entry) =>
      updatedFinding(entry, covered.get(entry.finding.findingId) ?? [], byKey, evidence, reopened, judged),
    );
  const created = clusterChanges(fresh, words).map((cluster) =>
    newFinding(cluster, evidence, words, machineSweeps(cluster, known, judged)),
  );
  return [...updated, ...created];
}

function updatedFinding(
  entry: KnownFinding,
  attached: readonly WeighedChange[],
  cells: ReadonlyMap<string, WeighedCell>,
  { sweeps }: SweepEvidence,
  reopened: ReadonlySet<string>,
  judged: number,
): Finding {
  const { finding } = entry;
  const newest = sweeps[judged]?.sweepId ?? finding.reportedSweepId;
  const isAgain = reopened.has(finding.findingId);
  const state = isAgain ? 'confirmed' : (stateByPairs(attached) ?? nextState(entry, attached, cells, judged));
  const has = (change: CellChange): boolean =>
    finding.cells.some(({ cellKey, metric }) => cellKey === change.cellKey && metric === change.metric);
  const isReported = isAgain || (state === 'confirmed' && finding.state !== 'confirmed');
  const isEnded = state !== finding.state && (state === 'cleared' || state === 'recovered');
  const confirmedBy = attached.find((change) => change.confirmedBy !== null)?.confirmedBy ?? null;
  return {
    ...finding,
    state,
    confirmedBy: finding.confirmedBy ?? confirmedBy,
    probability:
      state === 'suspected'
        ? (attached.find(({ probability }) => probability !== null)?.probability ?? finding.probability)
        : null,
    pairs: pairsOf(attached) ?? finding.pairs,
    reportedSweepId: isReported ? newest : finding.reportedSweepId,
    lastBadSweepId: isEnded
      ? (sweeps[judged - 1]?.sweepId ?? null)
      : state === 'cleared' || state === 'recovered'
        ? finding.lastBadSweepId
        : null,
    cells: [...finding.cells, ...attached.filter((change) => !has(change)).map(findingCellOf)],
  };
}

function stateByPairs(attached: readonly WeighedChange[]): Finding['state'] | null {
  const outcomes = attached.flatMap(({ pairs }) => pairs?.outcome ?? []);
  if (outcomes.length === 0 || outcomes.includes('confirmed') || outcomes.includes('buildLuck')) return null;
  return outcomes.includes('machine') ? 'machine' : outcomes.includes('cleared') ? 'cleared' : null;
}

/** For how many sweeps running these cells were slow because of the machine, the judged one included. */
function machineSweeps(cluster: readonly WeighedChange[], known: KnownFindings, judged: number): number {
  const places = new Set(cluster.flatMap(({ cellKey }) => known.machinePlaces(cellKey)));
  let running = 1;
  while (places.has(judged - running)) running += 1;
  return running;
}
