import { type CellComparison, isCalled, isShownByThroughput, type Verdict } from '../../records/verdict.ts';
import { median } from '../../statistics/order-statistics.ts';
import { meanLog, percentOfLog } from '../../statistics/special-functions.ts';
import type { GateRules } from '../gate/evidence.ts';
import { LEAST_PERCENT } from '../run-noise.ts';
import type { AssembledCell } from './assemble-sides.ts';
import { compareCells } from './compare-cells.ts';

export interface JudgedCell extends Pick<AssembledCell, 'cell' | 'metric'> {
  readonly comparison: CellComparison;
}

/** A recorded difference may be the cause of a shift if this share of the affected cells has it. */
const SHARED_SHARE = 0.8;

export function compareMatrix(assembled: readonly AssembledCell[], { minChangeOf }: Pick<GateRules, 'minChangeOf'>) {
  const { cells, shift, sharing, ratios } = compareCells(
    assembled.flatMap(({ settled, sides }) => (settled === null ? sides : [])),
  );
  const compared = new Map(cells.map((comparison) => [comparison.cellKey, comparison]));
  const judged = assembled.map(({ cell, metric, reasons, settled, sides }): JudgedCell => {
    // Medians, as `bench run` and `bench trend` show them. The change is that of the means, which estimate it better.
    const [base, head] = [median(sides.base), median(sides.head)];
    const isMeasured = base !== null && head !== null;
    const changePercent = isMeasured ? percentOfLog(meanLog(sides.head) - meanLog(sides.base)) : null;
    const bare = { cellKey: cell.key, verdict: settled ?? 'unclear', base, head, changePercent, ciPercent: null };
    const runs: [number, number] = [sides.base.length, sides.head.length];
    const unknown = { mdePercent: null, runs, moreRunsNeeded: null, noise: null, reasons: [] };
    const known = compared.get(cell.key) ?? { ...bare, ...unknown };
    const comparison = { ...known, base, head, reasons: [...known.reasons, ...reasons] };
    return { cell, metric, comparison: withMinChange(comparison, minChangeOf(cell.key, metric)) };
  });
  const size = Math.abs(shift?.percent ?? 0);
  const isSmall = judged.every(({ cell, metric }) => size < minChangeOf(cell.key, metric));
  const shared = assembled.filter(({ cell }) => sharing.has(cell.key));
  const isShared = (cause: string): boolean =>
    shared.filter(({ machine }) => machine.includes(cause)).length >= SHARED_SHARE * shared.length;
  const recorded = [...new Set(shared.flatMap(({ machine }) => machine))].filter(isShared);
  return {
    cells: judged.toSorted(byWeight),
    shift: shift === null ? null : { ...shift, verdict: isSmall ? null : shift.verdict, recorded },
    ratios,
    across: [...new Set(assembled.flatMap((cell) => cell.across))],
  };
}

type ComparedMatrix = ReturnType<typeof compareMatrix>;

export function withThroughput(own: ComparedMatrix, throughput: ComparedMatrix): ComparedMatrix {
  const byKey = new Map(throughput.cells.map((entry) => [entry.cell.key, entry]));
  const cells = own.cells.map((entry) => {
    const other = byKey.get(entry.cell.key);
    return other !== undefined && saysMore(entry.comparison, other.comparison) ? other : entry;
  });
  const { shift } = throughput;
  return {
    ...own,
    cells: cells.toSorted(byWeight),
    shift: own.shift ?? (shift === null ? null : { ...shift, metric: 'throughputQps' }),
  };
}

/** An unclear throughput counts only if its change is as large as the detectable one; none where nothing was compared. */
function saysMore(own: CellComparison, { changePercent, mdePercent, verdict }: CellComparison): boolean {
  const [change, detectable] = [changePercent, mdePercent].map((percent) => Math.abs(Math.log1p((percent ?? 0) / 100)));
  const isSmall = verdict === 'unclear' && (change ?? 0) < (detectable ?? 0) - 1e-9;
  return own.noise !== null && !isSmall && isShownByThroughput(own.verdict, verdict);
}

/** A change below the smallest relevant one is "same", and so is an unclear one whose interval lies within it. */
function withMinChange(comparison: CellComparison, least: number): CellComparison {
  const { changePercent, ciPercent, reasons, verdict } = comparison;
  const [low, high] = ciPercent ?? [-Infinity, Infinity];
  const reach = verdict === 'unclear' ? Math.max(-low, high) : Infinity;
  if (reach < least || (isCalled(comparison) && Math.abs(changePercent ?? 0) < least))
    return { ...comparison, verdict: 'same', reasons: [...reasons, 'belowMinChange'] };
  // More runs show nothing that is ever reported.
  return reach < LEAST_PERCENT ? { ...comparison, verdict: 'same', moreRunsNeeded: null } : comparison;
}

function byWeight(a: JudgedCell, b: JudgedCell): number {
  const rank = ORDER.indexOf(a.comparison.verdict) - ORDER.indexOf(b.comparison.verdict);
  return rank || Math.abs(b.comparison.changePercent ?? 0) - Math.abs(a.comparison.changePercent ?? 0);
}

const ORDER: readonly Verdict[] = ['slower', 'failed', 'faster', 'unclear', 'incomparable', 'same', 'missing'];
