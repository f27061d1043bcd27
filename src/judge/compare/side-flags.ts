import type { CellRun } from '../../records/run.ts';
import { median } from '../../statistics/median.ts';
import type { MetricId } from '../../records/metric.ts';
import { FLAG_LABELS, type RunFlag, type RunFlagId } from '../../records/run-flag.ts';
import { clockOffLevel, systematicErrorOf, leftOutFor } from '../run-trust.ts';

export type FlaggedRun = Pick<CellRun, 'flags' | 'smClockMhz'>;

/**
 * Leaves out the runs of one side that say nothing of this metric.
 * @param all its timed runs, measured or not
 * @returns why runs are left out, each with its evidence, the same text once; and the doubt of the typical run that is
 * kept, as a standard deviation in logarithms
 */
export function fitSide<Run extends FlaggedRun & { readonly outcome: { readonly kind: string } }>(
  all: readonly Run[],
  metric: MetricId,
  levelMhz: number | null,
) {
  const kept: Run[] = [];
  const leftOut: RunFlag[] = [];
  for (const run of all) {
    const off = clockOffLevel(run, levelMhz);
    const flag = leftOutFor(off === null ? run.flags : [...run.flags, off], metric);
    if (flag !== null) leftOut.push(flag);
    else if (run.outcome.kind === 'measured') kept.push(run);
  }
  const systematicErrors = kept.map(({ flags }) => systematicErrorOf(flags, metric));
  return { kept, leftOut: leftOutTexts(leftOut, all.length), systematicError: median(systematicErrors) ?? 0 };
}

/** One line per kind of flag, with the first evidence. */
function leftOutTexts(flags: readonly RunFlag[], runs: number): string[] {
  return [...Map.groupBy(flags, ({ id }) => id)].map(
    ([id, same]) => `${same.length} of ${runs} runs left out, ${FLAG_LABELS[id]}: ${same[0]?.evidence ?? ''}`,
  );
}

/** Flags on runs that count: suspicions on either side, and explanations on one side only. */
export function flagReasons(base: readonly FlaggedRun[], head: readonly FlaggedRun[]): string[] {
  const [inBase, inHead] = [countFlags(base), countFlags(head)];
  const ids = new Set([...inBase.keys(), ...inHead.keys()]);
  return [...ids].flatMap((id) => {
    if (id === 'bimodal') return [...levelReasons('base', base), ...levelReasons('head', head)];
    const [a, b] = [inBase.get(id), inHead.get(id)];
    const isDoubted = a?.isDoubted === true || b?.isDoubted === true;
    const label = isDoubted ? `${FLAG_LABELS[id]}, trusted less` : FLAG_LABELS[id];
    if (a !== undefined && b !== undefined) return isDoubted ? [`${label} on both sides`] : [];
    const [side, runs, found] = a === undefined ? ['head', head, b] : ['base', base, a];
    return [`${label}: ${found?.times ?? 0} of ${runs.length} runs of ${side}`];
  });
}

/** Of either side: the level that a median is of may be the change itself. */
function levelReasons(side: string, runs: readonly FlaggedRun[]): string[] {
  const found = runs.flatMap(({ flags }) => flags.filter(({ id }) => id === 'bimodal'));
  const [first] = found;
  if (first === undefined) return [];
  const doubt = found.some(({ effect }) => effect === 'widened') ? ', trusted less' : '';
  return [`two levels inside runs${doubt}: ${first.evidence} (${found.length} of ${runs.length} runs of ${side})`];
}

/** How many runs have each flag, and whether any of them is doubted for it. */
function countFlags(runs: readonly FlaggedRun[]) {
  const all = runs.flatMap(({ flags }) => flags);
  const byId = Map.groupBy(all, ({ id }) => id);
  return new Map(
    [...byId].map(([id, same]) => [
      id,
      { times: same.length, isDoubted: same.some(({ effect }) => effect === 'widened') },
    ]),
  );
}

/** Flags of the machine, shared by its cells. */
const OF_MACHINE: readonly RunFlagId[] = [
  'powerLimited',
  'thermalSlowdown',
  'hardwareSlowdown',
  'clockOffLevel',
  'pcieReduced',
];
/** Smaller relative differences of median SM clocks do not count. */
const CLOCK_SHARE = 0.005;

/**
 * Machine states of one side only, without numbers, so that cells with the same cause have the same words: `thermal
 * slowdown in head`, `SM clock lower in head`.
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
