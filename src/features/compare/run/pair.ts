import { readdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { makeOwnFolder } from '../../../files/folders.ts';
import type { Io } from '../../../cli/io.ts';
import { UsageError } from '../../../errors.ts';
import { planOfCells } from '../../../matrix/plan/assign-gpus.ts';
import { isId } from '../../../records/scalars.ts';
import type { Sweep } from '../../../records/sweep.ts';
import { lockSweep, sweepLockHolder } from '../../../run/planned-sweep.ts';
import type { OpenStore, StoreDatabase } from '../../../store/file/open.ts';
import { findSweep } from '../../../store/sweeps/sweeps.ts';
import { count } from '../../../terminal/numbers.ts';
import { hashOf } from '../../../text/canonical-json.ts';
import { defined } from '../../../text/unknown-values.ts';
import { removeWorktrees } from '../../../tools/git/git.ts';
import { withinBudget } from '../../run/index.ts';
import type { CompareOptions } from '../command.ts';
import { type SideName, type SidePlan, type TurnSide, ownEnginesOf, worktreesOf } from './commit-side.ts';

export type MeasureOptions = Partial<CompareOptions> & { readonly matrix: string };

/** The two sweeps of one measurement of two sides. */
export interface Pair extends ReturnType<typeof pairIds> {
  /** Null for a side that was not begun. */
  readonly stored: Readonly<Record<SideName, Sweep | null>>;
}

/**
 * Finds the newest measurement for the request, finished or not; without one, begins a new one.
 * @param again true to always begin a new one
 */
export function findPair(db: StoreDatabase, request: unknown, again: boolean): Pair {
  let newest: Pair | null = null;
  for (let number = 1; ; number += 1) {
    const ids = pairIds(request, number);
    const pair = { ...ids, stored: { base: findSweep(db, ids.base), head: findSweep(db, ids.head) } };
    if (pair.stored.base === null) return again ? pair : (newest ?? pair);
    newest = pair;
  }
}

/** @param number number of the measurement of this request, from 1 */
export function pairIds(request: unknown, number: number) {
  const pairId = hashOf({ request, number });
  return { pairId, base: hashOf({ pairId, side: 'base' }), head: hashOf({ pairId, side: 'head' }) };
}

/**
 * Gives `work` a folder for worktrees, logs and engines next to the store. Afterwards only the logs of failures stay in
 * it, until the next call.
 * @throws UsageError when another process measures the same two commits
 */
export async function inPairFolder<Result>(
  storePath: string,
  { pairId }: Pair,
  repository: string,
  io: Io,
  work: (folder: string) => Promise<Result>,
): Promise<Result> {
  const all = join(dirname(storePath), 'compare-run');
  await makeOwnFolder(all);
  const folder = join(all, pairId);
  const unlock = lockSweep(all, pairId);
  try {
    await removeLeftovers(all, repository, io);
    const result = await work(folder);
    await removeWorktrees(repository, worktreesOf(folder));
    await rm(folder, { recursive: true, force: true });
    // Remove the parent folder, too, if no other measurement uses it.
    if ((await readdir(all)).every((name) => name === '.gitignore')) await rm(all, { recursive: true });
    return result;
  } finally {
    await removeWorktrees(repository, worktreesOf(folder));
    await rm(ownEnginesOf(folder), { recursive: true, force: true });
    unlock();
  }
}

/** Removes the leftovers of killed processes. */
async function removeLeftovers(all: string, repository: string, io: Io): Promise<void> {
  for (const name of await readdir(all)) {
    if (!isId(name) || sweepLockHolder(all, name) !== null) continue;
    io.signal.throwIfAborted();
    await removeWorktrees(repository, worktreesOf(join(all, name)));
    await rm(join(all, name), { recursive: true, force: true });
  }
}

/** A side with the cells that are measured. */
export interface PlannedSide extends SidePlan {
  readonly side: TurnSide;
}

export interface BothPlans extends Readonly<Record<SideName, PlannedSide>> {
  /** Safe to print. */
  readonly notes: readonly string[];
}

/**
 * Plans the cells that both sides have, each with the matrix of its own side, as many as fit into the time budget.
 * @throws UsageError if the sides share no cell
 */
export async function planBoth(
  store: OpenStore,
  { base, head }: Readonly<Record<SideName, TurnSide>>,
  { budget, filter, repeats, replay, untrusted }: MeasureOptions,
): Promise<BothPlans> {
  const options = { builds: 1, profile: false, seed: 1, ...defined({ filter, replay, untrusted }) };
  const ofHead = await head.plan({ ...options, ...defined({ repeats }) }, 'models needed');
  // Both sides get the same number of repeats, even if the matrix changed it.
  const ofBase = await base.plan({ ...options, repeats: ofHead.plan.repeats }, 'models needed');
  const [inBase, inHead] = [ofBase, ofHead].map(({ plan }) => new Set(plan.cells.map(({ cell }) => cell.key)));
  const common = new Set([...(inHead ?? [])].filter((key) => inBase?.has(key)));
  if (common.size === 0) throw new UsageError(`${base.text} and ${head.text}: their matrices have no cell in common`);
  const notes = [ofBase, ofHead].flatMap(({ plan }, place) => {
    const own = plan.cells.length - common.size;
    return own === 0 ? [] : [`${count(own, 'cell')} only in ${place === 0 ? 'base' : 'head'}, not measured`];
  });
  const { provenance } = ofHead.program;
  const fitted = await withinBudget(store, planOfCells(ofHead.plan, common), provenance, budget, { sides: 2 });
  const kept = new Set(fitted.plan.cells.map(({ cell }) => cell.key));
  const cut = (side: TurnSide, planned: SidePlan): PlannedSide => {
    const plan = planOfCells(planned.plan, kept);
    // A frozen engine would be the same on both sides.
    const builds = plan.builds.map((build) => ({ ...build, isFrozen: false }));
    return { ...planned, side, plan: { ...plan, builds } };
  };
  return {
    base: cut(base, ofBase),
    head: cut(head, ofHead),
    notes: [...notes, ...(fitted.note === null ? [] : [fitted.note])],
  };
}
