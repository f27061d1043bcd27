import type { Finding } from '../../records/finding.ts';
import { median } from '../../statistics/median.ts';
import { changePercentOf, mainOf } from './cell-change.ts';
import type { CellEvidence, MetricHistory } from './evidence.ts';
import type { CellStatus, JudgedCell } from './verdict.ts';

/** Newest values that say where the level of a cell without a finding lies. */
export const LEVEL_SWEEPS = 7;

const ALIVE: readonly Finding['state'][] = ['confirmed', 'open', 'suspected'];

/**
 * What the judged sweep says of each cell, in the order of the cells; nothing of a cell without any metric.
 * @param acknowledged findings whose levels are the expected ones
 * @param metricOf which metric of a cell; default: the one that it is compared by
 */
export function judgedCells(
  cells: readonly CellEvidence[],
  findings: readonly Finding[],
  acknowledged: Pick<ReadonlyMap<string, unknown>, 'has'>,
  judged: number,
  metricOf: (evidence: CellEvidence) => MetricHistory | undefined = mainOf,
): JudgedCell[] {
  const entries = findings
    .filter(({ kind, findingId, state }) => kind !== 'limit' && ALIVE.includes(state) && !acknowledged.has(findingId))
    .flatMap((finding) => [...new Set(finding.cells.map(({ cellKey }) => cellKey))].map((key) => ({ key, finding })));
  const ofCell = Map.groupBy(entries, ({ key }) => key);
  return cells.flatMap((evidence) => {
    const measured = metricOf(evidence);
    const own = (ofCell.get(evidence.cell.key) ?? []).map(({ finding }) => finding);
    return measured === undefined ? [] : [judgedCell(evidence, measured, own, judged)];
  });
}

function judgedCell(
  { cell, failures, isPlanned }: CellEvidence,
  { history, metric }: MetricHistory,
  findings: readonly Finding[],
  judged: number,
): JudgedCell {
  const isMeasured = history.nights.at(-1) === judged;
  const [worst] = findings.toSorted((a, b) => severity(b) - severity(a));
  const past = [...history.values].slice(0, isMeasured ? -1 : undefined);
  const now = isMeasured ? (history.values.at(-1) ?? null) : null;
  const found = worst?.cells.find((one) => one.cellKey === cell.key && one.metric === metric);
  const before = found?.before ?? median(past.slice(-LEVEL_SWEEPS));
  const newest = before === null || now === null ? null : changePercentOf(metric, { before, after: now });
  // A finding has one size, wherever it is shown.
  const changePercent = now === null ? null : (found?.changePercent ?? newest);
  const missing = isPlanned ? 'failed' : 'missing';
  const measured = past.length === 0 ? 'new' : statusBy(worst);
  return { cellKey: cell.key, status: isMeasured ? measured : missing, metric, before, now, changePercent, failures };
}

function statusBy(finding: Finding | undefined): CellStatus {
  if (finding === undefined) return 'steady';
  return finding.state === 'suspected' ? 'suspected' : finding.direction;
}

function severity({ direction, state }: Finding): number {
  return (direction === 'slower' ? 2 : 0) + (state === 'suspected' ? 0 : 1);
}
