import { pairsNeeded } from '../../../judge/gate/judge-pairs.ts';
import type { Candidate } from '../../../judge/gate/verdict.ts';
import type { ConfirmBudget } from '../../../records/gate-settings.ts';
import type { CellKey } from '../../../records/scalars.ts';

/** A cell to measure in pairs, for itself or for its group. */
export interface Suspect extends Omit<Candidate, 'cellKeys' | 'group'> {
  readonly cellKey: CellKey;
  /** Whether it is measured regardless of the budget. */
  readonly isSure: boolean;
}

const DEFAULT_BUDGET: ConfirmBudget = { kind: 'share', percent: 10 };
/** Number of suspects that get five pairs regardless of the budget. */
const SURE_SUSPECTS = 3;
const WARM_UPS = 2;

/** @param sweepS duration of the sweep in seconds */
export function confirmBudgetS(stated: ConfirmBudget | null, sweepS: number): number {
  const budget = stated ?? DEFAULT_BUDGET;
  return budget.kind === 'time' ? budget.seconds : (budget.percent / 100) * sweepS;
}

/**
 * Suspects in the order of the candidates; those left out before come first. A cell of several candidates is measured
 * once.
 * @param carriedOver cells with an open finding that was never measured in pairs
 * @param runS duration of a run of a cell in seconds
 */
export function chooseSuspects(
  candidates: readonly Candidate[],
  carriedOver: ReadonlySet<CellKey>,
  budgetS: number,
  runS: (cellKey: CellKey) => number,
) {
  const isCarriedOver = ({ cellKeys }: Candidate): boolean => cellKeys.some((key) => carriedOver.has(key));
  const inOrder = [...candidates.filter(isCarriedOver), ...candidates.filter((candidate) => !isCarriedOver(candidate))];
  const all = new Map<CellKey, Omit<Suspect, 'isSure'>>();
  for (const { cellKeys, group: _, ...candidate } of inOrder) {
    for (const cellKey of cellKeys) if (!all.has(cellKey)) all.set(cellKey, { ...candidate, cellKey });
  }
  let leftS = budgetS;
  const suspects = [...all.values()].map((suspect, place): Suspect & { readonly fits: boolean } => {
    const { count } = pairsNeeded(suspect);
    leftS -= (2 * count + WARM_UPS) * runS(suspect.cellKey);
    const isSure = place < SURE_SUSPECTS;
    return { ...suspect, isSure, fits: isSure || leftS >= 0 };
  });
  return { chosen: suspects.filter(({ fits }) => fits), leftOut: suspects.filter(({ fits }) => !fits) };
}
