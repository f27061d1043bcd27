import { median } from '../statistics/median.ts';
import { FLAG_LABELS, type RunFlagId } from '../records/run-flag.ts';
import type { FlaggedRun } from './compare/side-flags.ts';

/** What a machine does to all of its cells. */
const OF_MACHINE: readonly RunFlagId[] = [
  'powerLimited',
  'thermalSlowdown',
  'hardwareSlowdown',
  'clockOffLevel',
  'pcieReduced',
];
/** Medians of the SM clock that differ by less are the same. */
const CLOCK_SHARE = 0.005;

/**
 * In what state the machine was on one side only, without the numbers of the cell, so that cells with the same cause have
 * the same words: `thermal slowdown in head`, `SM clock lower in head`.
 */
export function machineStates(base: readonly FlaggedRun[], head: readonly FlaggedRun[]): string[] {
  const states = OF_MACHINE.flatMap((id) => {
    const [before, after] = [mostHave(base, id), mostHave(head, id)];
    return before === after ? [] : [`${FLAG_LABELS[id]} in ${after ? 'head' : 'base'}`];
  });
  const [was, is] = [clockOf(base), clockOf(head)];
  if (was === null || is === null || Math.abs(is / was - 1) < CLOCK_SHARE) return states;
  return [...states, `SM clock ${is < was ? 'lower' : 'higher'} in head`];
}

function mostHave(runs: readonly FlaggedRun[], id: RunFlagId): boolean {
  const having = runs.filter(({ flags }) => flags.some((flag) => flag.id === id));
  return 2 * having.length > runs.length;
}

function clockOf(runs: readonly FlaggedRun[]): number | null {
  return median(runs.flatMap(({ smClockMhz }) => smClockMhz ?? []));
}
