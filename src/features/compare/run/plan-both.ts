import { UsageError } from '../../../errors.ts';
import { planOfCells } from '../../../matrix/plan/assign-gpus.ts';
import type { OpenStore } from '../../../store/file/open.ts';
import { count } from '../../../terminal/numbers.ts';
import { type ModelsNeeded, type PrepareOptions } from '../../plan/index.ts';
import { withinBudget } from '../../run/index.ts';
import type { SideName, SidePlan, TurnSide } from './commit-side.ts';
import { defined } from '../../../text/unknown-values.ts';

export interface PlannedSide {
  readonly side: TurnSide;
  readonly planned: SidePlan;
}

export interface BothPlans extends Readonly<Record<SideName, PlannedSide>> {
  /** Safe to print. */
  readonly notes: readonly string[];
}

/**
 * Plans the cells that both sides have, each with the matrix of its own side.
 * @throws UsageError if the sides share no cell
 */
export async function planBoth(
  { base, head }: Readonly<Record<SideName, TurnSide>>,
  { filter, repeats, replay, untrusted }: PrepareOptions,
  models: ModelsNeeded,
): Promise<BothPlans> {
  const options = { builds: 1, profile: false, seed: 1, ...defined({ filter, replay, untrusted }) };
  const ofHead = await head.plan({ ...options, ...defined({ repeats }) }, models);
  // Both sides get the same number of repeats, even if the matrix changed it.
  const ofBase = await base.plan({ ...options, repeats: ofHead.plan.repeats }, models);
  const [inBase, inHead] = [ofBase, ofHead].map(({ plan }) => new Set(plan.cells.map(({ cell }) => cell.key)));
  const common = new Set([...(inHead ?? [])].filter((key) => inBase?.has(key)));
  if (common.size === 0) throw new UsageError(`${base.text} and ${head.text}: their matrices have no cell in common`);
  const notes = [ofBase, ofHead].flatMap(({ plan }, place) => {
    const own = plan.cells.length - common.size;
    return own === 0 ? [] : [`${count(own, 'cell')} only in ${place === 0 ? 'base' : 'head'}, not measured`];
  });
  const cut = (planned: SidePlan): SidePlan => {
    const plan = planOfCells(planned.plan, common);
    // A frozen engine would be the same on both sides.
    return { ...planned, plan: { ...plan, builds: plan.builds.map((build) => ({ ...build, isFrozen: false })) } };
  };
  return { base: { side: base, planned: cut(ofBase) }, head: { side: head, planned: cut(ofHead) }, notes };
}

/** Removes cells until both sides fit into the time budget. */
export async function bothWithinBudget(store: OpenStore, both: BothPlans, budgetS: number | null): Promise<BothPlans> {
  const { plan, program } = both.head.planned;
  const fitted = await withinBudget(store, plan, program.provenance, budgetS, { sides: 2 });
  const kept = new Set(fitted.plan.cells.map(({ cell }) => cell.key));
  const cut = ({ side, planned }: PlannedSide): PlannedSide => ({
    side,
    planned: { ...planned, plan: planOfCells(planned.plan, kept) },
  });
  return {
    base: cut(both.base),
    head: cut(both.head),
    notes: [...both.notes, ...(fitted.note === null ? [] : [fitted.note])],
  };
}
