import { compareTexts } from '../../text/compare-texts.ts';
import type { Plan, PlannedCell } from '../../records/plan.ts';
import { BUILD_ESTIMATE_S } from './estimate.ts';
import { comparedTogether, planOfCells, secondsByCell } from './assign-gpus.ts';

export interface TimeEstimates {
  /** Wall seconds of one timed run, by cell key. */
  readonly runS: ReadonlyMap<string, number>;
  /** Seconds until an engine is ready, by `buildRef`: 0 when cached. */
  readonly buildS: ReadonlyMap<string, number>;
  /** Last measurement of each cell, ISO 8601, by cell key. */
  readonly measuredAt: ReadonlyMap<string, string>;
}

export interface FittedPlan {
  readonly plan: Plan;
  readonly leftOut: readonly PlannedCell[];
  readonly leftOutS: number;
}

/**
 * Leaves out whole cells until a plan fits into a time. Those that were measured longest ago, or never, come first: what
 * is left out today is measured tomorrow. One cell is always kept.
 * @param gpus number of GPUs that measure at the same time
 */
export function fitBudget(
  plan: Plan,
  budgetS: number,
  { buildS, measuredAt, runS }: TimeEstimates,
  gpus: number,
): FittedPlan {
  const runsS = secondsByCell(plan, runS);
  const built = new Set<string>();
  const buildsOf = Map.groupBy(plan.runs, ({ cellKey }) => cellKey);
  /** Several where builds are compared. */
  const missingBuilds = ({ cell, buildRef }: PlannedCell): string[] => {
    const needed = (buildsOf.get(cell.key) ?? []).map((run) => run.buildRef);
    return [...new Set([buildRef, ...needed])].filter((ref) => !built.has(ref));
  };
  const costOf = (entry: PlannedCell): number =>
    missingBuilds(entry).reduce(
      (sum, ref) => sum + (buildS.get(ref) ?? BUILD_ESTIMATE_S),
      runsS.get(entry.cell.key) ?? 0,
    );
  const kept = new Set<string>();
  const availableS = budgetS * gpus;
  let expectedS = 0;
  let leftOutS = 0;
  for (const entry of longestAgoFirst(plan.cells, measuredAt)) {
    const cost = costOf(entry);
    if (kept.size > 0 && expectedS + cost > availableS) {
      leftOutS += cost;
      continue;
    }
    kept.add(entry.cell.key);
    for (const ref of missingBuilds(entry)) built.add(ref);
    expectedS += cost;
  }
  return {
    plan: planOfCells(plan, kept),
    leftOut: plan.cells.filter(({ cell }) => !kept.has(cell.key)),
    leftOutS: leftOutS / gpus,
  };
}

/** Compared cells are adjacent, ordered by the one that waited longest. */
function longestAgoFirst(cells: readonly PlannedCell[], measuredAt: ReadonlyMap<string, string>): PlannedCell[] {
  const byKey = new Map(cells.map((entry) => [entry.cell.key, entry]));
  const at = (key: string): string => measuredAt.get(key) ?? '';
  return comparedTogether(cells.map(({ cell }) => cell))
    .map((group) => {
      const members = group.toSorted((a, b) => compareTexts(at(a.key), at(b.key)));
      return { members, since: at(members[0]?.key ?? '') };
    })
    .toSorted((a, b) => compareTexts(a.since, b.since))
    .flatMap(({ members }) => members.flatMap(({ key }) => byKey.get(key) ?? []));
}
