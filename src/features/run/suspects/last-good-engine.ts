import type { CachedEngine, EngineCache } from '../../../engines/engine-cache.ts';
import { pairsNeeded } from '../../../judge/gate/judge-pairs.ts';
import type { Candidate } from '../../../judge/gate/judge-sweep.ts';
import type { ConfirmBudget } from '../../../records/gated-metric.ts';
import type { BuildId, CellKey } from '../../../records/scalars.ts';
import type { Sweep } from '../../../records/sweep.ts';
import { recordedOf } from '../../../run/run-sweep.ts';
import type { StoredPlan } from '../../../run/stored-plan.ts';
import type { StoreDatabase } from '../../../store/file/open.ts';
import { cellRunsOf } from '../../../store/runs/cell-runs.ts';

/** The build of a cell in a sweep; the first one if there are several. */
export function buildOf(db: StoreDatabase, { sweepId }: Pick<Sweep, 'sweepId'>, cellKey: CellKey): BuildId | null {
  const measured = cellRunsOf(db, [sweepId], [cellKey]).filter(({ outcome }) => outcome.kind === 'measured');
  return measured.toSorted((a, b) => a.repeat - b.repeat)[0]?.buildId ?? null;
}

/** The engine of a build, or why it cannot be used in a comparison. */
export async function keptEngine(
  cache: EngineCache,
  buildId: BuildId | null,
  { startedAt, sweepId }: Sweep,
): Promise<CachedEngine | string> {
  const name = `the engine of sweep ${sweepId.slice(0, 8)}${startedAt === null ? '' : ` of ${startedAt.slice(0, 10)}`}`;
  if (buildId === null) return `${name} is not known`;
  return (await cache.findBuild(buildId)) ?? `${name} is no longer in the cache`;
}

/** A recorded run is used once, so that there must be a run for each pair. */
export function recordedProblem({ plan, program }: StoredPlan, cellKey: CellKey, needed: number): string | null {
  const recorded = recordedOf(plan, program.replayFolder)(cellKey);
  return recorded >= needed ? null : `${recorded} runs of it were recorded, and ${needed} are needed`;
}

/** A cell to measure in pairs, for itself or for its group. */
export type Suspect = Omit<Candidate, 'cellKeys'> & { readonly cellKey: CellKey };

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
 * Suspects in the order of the candidates. A cell of several candidates is measured once.
 * @param runS duration of a run of a cell in seconds
 */
export function chooseSuspects(candidates: readonly Candidate[], budgetS: number, runS: (cellKey: CellKey) => number) {
  const all = new Map<CellKey, Suspect>();
  for (const { cellKeys, ...candidate } of candidates) {
    for (const cellKey of cellKeys) if (!all.has(cellKey)) all.set(cellKey, { ...candidate, cellKey });
  }
  let leftS = budgetS;
  const isChosen = new Map<Suspect, boolean>();
  for (const suspect of all.values()) {
    leftS -= (2 * pairsNeeded(suspect).count + WARM_UPS) * runS(suspect.cellKey);
    isChosen.set(suspect, isChosen.size < SURE_SUSPECTS || leftS >= 0);
  }
  const suspects = [...isChosen.keys()];
  return {
    chosen: suspects.filter((suspect) => isChosen.get(suspect)),
    leftOut: suspects.filter((suspect) => !isChosen.get(suspect)),
  };
}
