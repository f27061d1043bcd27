import { type CellComparison, isCalled, isShownByThroughput, type Verdict } from '../../records/verdict.ts';
import { median } from '../../statistics/order-statistics.ts';
import { meanLog, percentOfLog } from '../../statistics/special-functions.ts';
import type { GateRules } from '../gate/evidence.ts';
import { LEAST_PERCENT } from '../run-noise.ts';
import type { AssembledCell } from './assemble-sides.ts';
import { compareCells } from './compare-cells.ts';

export type JudgedCell = CellComparison & Pick<AssembledCell, 'cell' | 'metric'>;

export function compareMatrix(assembled: readonly AssembledCell[], { minChangeOf }: Pick<GateRules, 'minChangeOf'>) {
  const open = assembled.filter(({ settled }) => settled === null);
  const { cells, shift, ratios } = compareCells(open.map(({ sides }) => sides));
  const compared = new Map(cells.map((comparison) => [comparison.cellKey, comparison]));
  const judged = assembled.map(({ cell, metric, reasons, settled, sides }): JudgedCell => {
    // Medians, as `bench run` and `bench trend` show them. The change is that of the means, which estimate it better.
    const [base, head] = [median(sides.base), median(sides.head)];
    const isMeasured = base !== null && head !== null;
    const changePercent = isMeasured ? percentOfLog(meanLog(sides.head) - meanLog(sides.base)) : null;
    const runs = [sides.base.length, sides.head.length] as const;
    const bare = { cellKey: cell.key, verdict: settled ?? 'unclear', changePercent, ciPercent: null } as const;
    const unknown = { mdePercent: null, runs, moreRunsNeeded: null, noise: null, reasons: [] };
    const known = compared.get(cell.key) ?? { ...bare, ...unknown };
    const values = { verdict: known.verdict, base, head };
    const comparison = { cell, metric, ...values, ...known, reasons: [...known.reasons, ...reasons] };
    return withMinChange(comparison, minChangeOf(cell.key, metric));
  });
  const size = Math.abs(shift?.percent ?? 0);
  const isSmall = judged.every(({ cell, metric }) => size < minChangeOf(cell.key, metric));
  return {
    cells: judged.toSorted(byWeight),
    shift: shift && { ...shift, verdict: isSmall ? null : shift.verdict },
    ratios,
    across: [...new Set(assembled.flatMap((cell) => cell.across))],
  };
}

type ComparedMatrix = ReturnType<typeof compareMatrix>;

export function withThroughput(own: ComparedMatrix, throughput: ComparedMatrix): ComparedMatrix {
  const byKey = new Map(throughput.cells.map((entry) => [entry.cell.key, entry]));
  const cells = own.cells.map((entry) => {
    const other = byKey.get(entry.cell.key);
    return other !== undefined && saysMore(entry, other) ? other : entry;
  });
  const { shift } = throughput;
  return {
    ...own,
    cells: cells.toSorted(byWeight),
    shift: own.shift ?? (shift && { ...shift, metric: 'throughputQps' }),
  };
}

/** An unclear throughput counts only if its change is as large as the detectable one; none where nothing was compared. */
function saysMore(own: CellComparison, { changePercent, mdePercent, verdict }: CellComparison): boolean {
  const [change, detectable] = [changePercent, mdePercent].map((percent) => Math.abs(Math.log1p((percent ?? 0) / 100)));
  const isSmall = verdict === 'unclear' && (change ?? 0) < (detectable ?? 0) - 1e-9;
  return own.noise !== null && !isSmall && isShownByThroughput(own.verdict, verdict);
}

/** A change below the smallest relevant one is "same", and so is an unclear one whose interval lies within it. */
function withMinChange(comparison: JudgedCell, least: number): JudgedCell {
  const { changePercent, ciPercent, reasons, verdict } = comparison;
  const [low, high] = ciPercent ?? [-Infinity, Infinity];
  const reach = verdict === 'unclear' ? Math.max(-low, high) : Infinity;
  if (reach < least || (isCalled(comparison) && Math.abs(changePercent ?? 0) < least))
    return { ...comparison, verdict: 'same', reasons: [...reasons, 'belowMinChange'] };
  // More runs show nothing that is ever reported.
  return reach < LEAST_PERCENT ? { ...comparison, verdict: 'same', moreRunsNeeded: null } : comparison;
}

function byWeight(a: JudgedCell, b: JudgedCell): number {
  const rank = ORDER.indexOf(a.verdict) - ORDER.indexOf(b.verdict);
  return rank || Math.abs(b.changePercent ?? 0) - Math.abs(a.changePercent ?? 0);
}

const ORDER: readonly Verdict[] = ['slower', 'failed', 'faster', 'unclear', 'incomparable', 'same', 'missing'];
