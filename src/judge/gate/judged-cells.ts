import type { Finding } from '../../records/gate-finding.ts';
import type { CellKey } from '../../records/scalars.ts';
import { median } from '../../statistics/median.ts';
import { changePercentOf, mainOf } from './cell-change.ts';
import type { CellEvidence } from './evidence.ts';
import type { CellStatus, JudgedCell } from './verdict.ts';

/** Newest values that say where the level of a cell without a finding lies. */
export const LEVEL_SWEEPS = 7;

const ALIVE: readonly Finding['state'][] = ['confirmed', 'open', 'suspected'];

/**
 * What the judged sweep says of each cell, in the order of the cells.
 * @param acknowledged findings whose levels are the expected ones
 */
export function judgedCells(
  cells: readonly CellEvidence[],
  findings: readonly Finding[],
  acknowledged: ReadonlySet<string>,
  judged: number,
): JudgedCell[] {
  const entries = findings
    .filter(({ kind, findingId, state }) => kind !== 'limit' && ALIVE.includes(state) && !acknowledged.has(findingId))
    .flatMap((finding) => [...new Set(finding.cells.map(({ cellKey }) => cellKey))].map((key) => ({ key, finding })));
  const ofCell = Map.groupBy(entries, ({ key }) => key);
  return cells.flatMap((evidence) => {
    const own = (ofCell.get(evidence.cell.key) ?? []).map(({ finding }) => finding);
    return judgedCell(evidence, own, judged) ?? [];
  });
}

/** Null for a cell without any metric. */
function judgedCell(evidence: CellEvidence, findings: readonly Finding[], judged: number): JudgedCell | null {
  const { cell, failures, isPlanned } = evidence;
  const main = mainOf(evidence);
  if (main === undefined) return null;
  const { history, metric } = main;
  const isMeasured = history.nights.at(-1) === judged;
  const [worst] = findings.toSorted((a, b) => severity(b) - severity(a));
  const past = [...history.values].slice(0, isMeasured ? -1 : undefined);
  const now = isMeasured ? (history.values.at(-1) ?? null) : null;
  const before = levelBefore(cell.key, metric, worst) ?? median(past.slice(-LEVEL_SWEEPS));
  const changePercent = before === null || now === null ? null : changePercentOf(metric, { before, after: now });
  const missing = isPlanned ? 'failed' : 'missing';
  const measured = past.length === 0 ? 'new' : statusBy(worst);
  return { cellKey: cell.key, status: isMeasured ? measured : missing, metric, before, now, changePercent, failures };
}

function levelBefore(key: CellKey, metric: string, finding: Finding | undefined): number | undefined {
  return finding?.cells.find((cell) => cell.cellKey === key && cell.metric === metric)?.before;
}

function statusBy(finding: Finding | undefined): CellStatus {
  if (finding === undefined) return 'steady';
  return finding.state === 'suspected' ? 'suspected' : finding.direction;
}

function severity({ direction, state }: Finding): number {
  return (direction === 'slower' ? 2 : 0) + (state === 'suspected' ? 0 : 1);
}
