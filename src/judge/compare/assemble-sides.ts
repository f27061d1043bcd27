import { lockOf } from '../../machine/requests.ts';
import { type KeyedCell, noiseKindOf } from '../../records/cell.ts';
import type { Environment } from '../../records/environment.ts';
import { type MetricId, gateMetric, isOfBuild, metricOf } from '../../records/metric.ts';
import { failureSentences } from '../../records/outcome.ts';
import { FLAG_LABELS, type RunFlag, type RunFlagId, isIneligible } from '../../records/run-flag.ts';
import type { CellRun } from '../../records/run.ts';
import type { Provenance } from '../../records/sweep.ts';
import type { CellComparison, Verdict } from '../../records/verdict.ts';
import { median } from '../../statistics/order-statistics.ts';
import { boundReasons } from '../bound.ts';
import { clockOffLevel, leftOutFor, systematicErrorOf } from '../run-trust.ts';
import { valueRule } from '../value-rule.ts';
import type { TwoSides } from './compare-cells.ts';
import { type Across, type ComparedBuild, differencesOf } from './differences.ts';

export interface ComparedSide {
  readonly runs: readonly CellRun[];
  readonly planned: ReadonlySet<string>;
  readonly provenances: ReadonlySet<Provenance>;
}

interface Facts {
  readonly environments: ReadonlyMap<string, Environment>;
  readonly builds: ReadonlyMap<string, ComparedBuild>;
  /** SM clocks in MHz by cell key, if known. */
  readonly clockLevels: ReadonlyMap<string, number>;
}

export interface AssembledCell {
  readonly cell: KeyedCell;
  readonly metric: MetricId;
  /** Null when `settled` holds the reason why nothing can be compared. */
  readonly sides: TwoSides | null;
  readonly settled: CellComparison | null;
  readonly reasons: readonly string[];
  /** Recorded differences in clocks, power, temperature, driver and machine between the two sides. */
  readonly machine: readonly string[];
  /** Differences that make the cell incomparable unless the user allows them. */
  readonly across: readonly string[];
}

/** Pairs the runs of each cell, and decides which cells cannot be compared. */
export function assembleSides(
  cells: readonly KeyedCell[],
  base: ComparedSide,
  head: ComparedSide,
  requested: MetricId | null,
  across: Across,
  facts: Facts,
  metrics: ReadonlyMap<string, MetricId> = new Map(),
): AssembledCell[] {
  const baseRuns = Map.groupBy(base.runs, ({ cellKey }) => cellKey);
  const headRuns = Map.groupBy(head.runs, ({ cellKey }) => cellKey);
  const [was, is] = [base, head].map(({ provenances }) => [...provenances].toSorted().join(', '));
  const provenance =
    was === is || across.provenance
      ? null
      : `base is ${was}, head is ${is}: compare them anyway with --across-provenance`;
  return cells.map((cell): AssembledCell => {
    const metric = metrics.get(cell.key) ?? gateMetric(requested, cell);
    const [ofBase, ofHead] = [baseRuns.get(cell.key) ?? [], headRuns.get(cell.key) ?? []];
    const valueOf = valueRule([...ofBase, ...ofHead].filter(isTimed), metric);
    const a = sideOf('base', cell, base, ofBase, metric, valueOf, facts);
    const b = sideOf('head', cell, head, ofHead, metric, valueOf, facts);
    const { machine, build, problem, overridden } = differencesOf(a, b, across);
    const differing = [...a.notes, ...b.notes, ...machine, ...build];
    const settle = (verdict: Verdict, why: readonly string[]): AssembledCell => {
      const [before, after] = [median(a.values), median(b.values)];
      const settled: CellComparison = {
        cellKey: cell.key,
        verdict,
        base: before,
        head: after,
        changePercent: before === null || after === null ? null : (after / before - 1) * 100,
        ciPercent: null,
        mdePercent: null,
        runs: [a.values.length, b.values.length],
        moreRunsNeeded: null,
        noise: null,
        reasons: [],
      };
      return { cell, metric, sides: null, settled, reasons: [...why, ...differing], machine: [], across: [] };
    };
    if (!a.isPlanned || !b.isPlanned) return settle('missing', [`only in ${a.isPlanned ? 'base' : 'head'}`]);
    if (a.values.length === 0 || b.values.length === 0) {
      const isAsked = requested !== null && [a, b].every(({ lacksMetric, values }) => lacksMetric || values.length > 0);
      const isIncomparable = isAsked || a.isIneligible || b.isIneligible;
      return settle(isIncomparable ? 'incomparable' : 'failed', [...a.failures, ...b.failures]);
    }
    const obstacle = provenance ?? problem;
    if (obstacle !== null) return settle('incomparable', [obstacle]);
    return {
      cell,
      metric,
      sides: {
        cellKey: cell.key,
        base: a.values,
        head: b.values,
        betterIs: metricOf(metric).betterIs,
        systematicError: Math.hypot(a.systematicError, b.systematicError),
        kind: noiseKindOf(cell),
      },
      settled: null,
      reasons: [...flagReasons(a.runs, b.runs), ...boundReasons(a.runs, b.runs), ...differing],
      machine: [...machine, ...machineStates(a.runs, b.runs)],
      across: overridden,
    };
  });
}

function sideOf(
  name: string,
  cell: KeyedCell,
  side: ComparedSide,
  runs: readonly CellRun[],
  metric: MetricId,
  valueOf: (run: CellRun) => number | null,
  facts: Facts,
) {
  const timed = runs.filter(isTimed);
  const { kept, leftOut, systematicError } = fitSide(timed, metric, facts.clockLevels.get(cell.key) ?? null);
  const madeOn = (run: CellRun | undefined) => ({
    environment: facts.environments.get(run?.environmentId ?? '') ?? null,
    build: facts.builds.get(run?.buildId ?? '') ?? null,
  });
  // Runs of one side are pooled if their engines have the same options and their machines are of the same kind.
  const poolOf = (run: CellRun | undefined): string => {
    const { build, environment } = madeOn(run);
    const lock = lockOf(environment?.clockPolicy ?? null);
    return JSON.stringify([environment?.gpuName, environment?.tensorrt, lock, build?.modelSha256, build?.flags]);
  };
  const newest = kept.at(-1);
  const pool = poolOf(newest);
  const comparable = kept.filter((run) => poolOf(run) === pool);
  const valued = comparable.filter((run) => valueOf(run) !== null);
  const byBuild = Map.groupBy(valued, ({ buildId }) => buildId);
  const units = isOfBuild(metric) ? [...byBuild.values()].flatMap(([first]) => first ?? []) : valued;
  const left = kept.length - comparable.length;
  const notes = [...leftOut, ...(left === 0 ? [] : [`${left} runs with another build or environment left out`])];
  const lacksMetric = comparable.length > 0 && units.length === 0;
  const others = timed.map(({ outcome }) => outcome).filter(({ kind }) => kind !== 'measured');
  const why = [...failureSentences(others), ...(others.some(({ kind }) => kind === 'built') ? ['built'] : [])];
  const isProfiled = runs.some(({ role }) => role === 'profile');
  const profiled = 'only runs that were timed with a profiler attached, whose times do not count';
  const none = isProfiled ? profiled : notes.length === 0 ? 'no run' : 'no valid run';
  const failures = lacksMetric ? [`its runs have no ${metricOf(metric).label}`] : why.length === 0 ? [none] : why;
  const named = (text: string): string => `${name}: ${text}`;
  return {
    ...madeOn(newest),
    isPlanned: side.planned.has(cell.key) || runs.length > 0,
    isIneligible: kept.length === 0 && timed.some(({ flags }) => isIneligible(flags)),
    /** The cell was measured, but without this metric. */
    lacksMetric,
    runs: units,
    values: units.flatMap((run) => valueOf(run) ?? []),
    failures: units.length > 0 ? [] : failures.map(named),
    systematicError,
    notes: notes.map(named),
  };
}

/** Profiled runs have different times. */
export function isTimed({ role }: Pick<CellRun, 'role'>): boolean {
  return role === 'timed';
}

type FlaggedRun = Pick<CellRun, 'flags' | 'smClockMhz'>;

/**
 * Leaves out the runs of one side that are not valid for this metric. @returns why runs are left out, one line per kind
 * of flag with its first evidence; and the systematic error of a typical kept run: standard deviation on the log scale
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
    // One side is enough: the other level within its runs may be the change.
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
function machineStates(base: readonly FlaggedRun[], head: readonly FlaggedRun[]): string[] {
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
