import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { engineName } from '../../engines/engine-note.ts';
import type { Plan } from '../../records/plan.ts';
import { printable } from '../../text/printable.ts';
import type { Provenance } from '../../records/sweep.ts';
import { fitBudget, type FittedPlan } from '../../matrix/plan/fit-budget.ts';
import { count, formatDuration } from '../../terminal/numbers.ts';
import type { OpenStore } from '../../store/file/open.ts';
import { lastBuildOf, pastRunsOf } from '../../store/runs/time-estimates.ts';

/** Leaves out what would not fit into the time, by what earlier nights took. */
export function fittedPlan(
  store: OpenStore,
  plan: Plan,
  provenance: Provenance,
  budgetS: number,
  gpus: number,
): FittedPlan {
  const past = pastRunsOf(
    store.db,
    plan.cells.map(({ cell }) => cell.key),
    provenance,
  );
  const engines = join(dirname(store.path), 'engines');
  const buildS = new Map(
    plan.builds.flatMap((build): [string, number][] => {
      if (build.enginePath !== null) return [[build.buildRef, 0]];
      const last = lastBuildOf(store.db, build.model, build.flags);
      if (last === null) return [];
      const isThere =
        last.engineKey !== null && existsSync(join(engines, `${engineName(last.engineKey, build.number)}.plan`));
      if (isThere) return [[build.buildRef, 0]];
      return last.wallS === null ? [] : [[build.buildRef, last.wallS]];
    }),
  );
  return fitBudget(plan, budgetS, { ...past, buildS }, gpus);
}

/** How many are named one by one. */
const NAMED = 6;

/** What a person is told of it; null when everything fits. */
export function budgetNote({ leftOut, leftOutS, plan }: FittedPlan, budgetS: number): string | null {
  if (leftOut.length === 0) return null;
  const names = leftOut.slice(0, NAMED).map(({ label }) => printable(label));
  const more = leftOut.length > NAMED ? [`${leftOut.length - NAMED} more`] : [];
  const total = plan.cells.length + leftOut.length;
  return `the budget of ${formatDuration(budgetS)} leaves out ${leftOut.length} of ${count(total, 'cell')} (about ${formatDuration(leftOutS)}); they come first next time: ${[...names, ...more].join(', ')}`;
}
