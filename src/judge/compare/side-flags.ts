import type { MetricId } from '../../records/metric.ts';
import { FLAG_LABELS, type RunFlag, type RunFlagId } from '../../records/run-flag.ts';
import type { CellRun } from '../../records/run.ts';
import { median } from '../../statistics/median.ts';
import { clockOffLevel, leftOutFor, systematicErrorOf } from '../run-trust.ts';

type FlaggedRun = Pick<CellRun, 'flags' | 'smClockMhz'>;

/**
 * Leaves out the runs of one side that are not valid for this metric.
 * @param all all timed runs of the side, measured or not
 * @returns why runs are left out, one line per kind of flag with its first evidence; and the systematic error of a
 * typical kept run: standard deviation on the log scale
 */
export function fitSide<Run extends FlaggedRun & { readonly outcome: { readonly kind: string } }>(
  all: readonly Run[],
  metric: MetricId,
  levelMhz: number | null,
) {
  const kept: Run[] = [];
  const flags: RunFlag[] = [];
  for (const run of all) {
    const off = clockOffLevel(run, levelMhz);
    const flag = leftOutFor(off === null ? run.flags : [...run.flags, off], metric);
    if (flag !== null) flags.push(flag);
    else if (run.outcome.kind === 'measured') kept.push(run);
  }
  const leftOut = [...Map.groupBy(flags, ({ id }) => id)].map(
    ([id, same]) => `${same.length} of ${all.length} runs left out, ${FLAG_LABELS[id]}: ${same[0]?.evidence ?? ''}`,
  );
  return { kept, leftOut, systematicError: median(kept.map((run) => systematicErrorOf(run.flags, metric))) ?? 0 };
}

/** Reasons from flags of runs that count: suspicions on either side, and explanations that only one side has. */
export function flagReasons(base: readonly FlaggedRun[], head: readonly FlaggedRun[]): string[] {
  const sides = [
    { side: 'base', runs: base },
    { side: 'head', runs: head },
  ].map((one) => ({
    ...one,
    byId: Map.groupBy(
      one.runs.flatMap(({ flags }) => flags),
      ({ id }) => id,
    ),
  }));
  const ids = new Set(sides.flatMap(({ byId }) => [...byId.keys()]));
  return [...ids].flatMap((id) => {
    const having = sides.flatMap(({ byId, runs, side }) => {
      const flags = byId.get(id) ?? [];
      const isDoubted = flags.some(({ effect }) => effect === 'widened');
      const { evidence } = flags[0] ?? {};
      return evidence === undefined
        ? []
        : [{ evidence, isDoubted, of: `${flags.length} of ${runs.length} runs of ${side}` }];
    });
    // Reported for either side, because the other level inside its runs may be the change.
    if (id === 'bimodal')
      return having.map(
        ({ evidence, isDoubted, of }) =>
          `two levels inside runs${isDoubted ? ', trusted less' : ''}: ${evidence} (${of})`,
      );
    const isDoubted = having.some((one) => one.isDoubted);
    const label = isDoubted ? `${FLAG_LABELS[id]}, trusted less` : FLAG_LABELS[id];
    if (having.length > 1) return isDoubted ? [`${label} on both sides`] : [];
    return having.map(({ of }) => `${label}: ${of}`);
  });
}

/** Flags of the machine, which its cells share. */
const OF_MACHINE: readonly RunFlagId[] = [
  'powerLimited',
  'thermalSlowdown',
  'hardwareSlowdown',
  'clockOffLevel',
  'pcieReduced',
];
const CLOCK_SHARE = 0.005;

/**
 * Machine states of only one side, without numbers, so that cells with the same cause have equal texts: `thermal
 * slowdown in head`, `SM clock lower in head`.
 */
export function machineStates(base: readonly FlaggedRun[], head: readonly FlaggedRun[]): string[] {
  const mostHave = (runs: readonly FlaggedRun[], id: RunFlagId): boolean =>
    2 * runs.filter(({ flags }) => flags.some((flag) => flag.id === id)).length > runs.length;
  const states = OF_MACHINE.flatMap((id) => {
    const [before, after] = [mostHave(base, id), mostHave(head, id)];
    return before === after ? [] : [`${FLAG_LABELS[id]} in ${after ? 'head' : 'base'}`];
  });
  const [was = null, is = null] = [base, head].map((runs) =>
    median(runs.flatMap(({ smClockMhz }) => smClockMhz ?? [])),
  );
  if (was === null || is === null || Math.abs(is / was - 1) < CLOCK_SHARE) return states;
  return [...states, `SM clock ${is < was ? 'lower' : 'higher'} in head`];
}
