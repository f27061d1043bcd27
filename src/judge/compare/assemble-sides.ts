import type { CellRun } from '../../records/run.ts';
import { type KeyedCell, noiseKindOf } from '../../records/cell.ts';
import { lockOf } from '../../machine/requests.ts';
import type { Environment } from '../../records/environment.ts';
import { gateMetric, isOfBuild, type MetricId, metricOf } from '../../records/metric.ts';
import { failureSentences } from '../../records/outcome.ts';
import type { Provenance } from '../../records/sweep.ts';
import { isIneligible } from '../../records/run-flag.ts';
import type { CellComparison, Verdict } from '../../records/verdict.ts';
import type { TwoSides } from './compare-cells.ts';
import { type ComparedBuild, type Across, differencesOf } from './differences.ts';
import { median } from '../../statistics/median.ts';
import { machineStates, fitSide, flagReasons } from './side-flags.ts';
import { boundReasons } from '../bound.ts';
import { valueRule } from '../value-rule.ts';
import type { CellKey } from '../../records/scalars.ts';

type ComparedRun = Pick<
  CellRun,
  | 'boundBy'
  | 'buildId'
  | 'cellKey'
  | 'centres'
  | 'environmentId'
  | 'flags'
  | 'outcome'
  | 'role'
  | 'smClockMhz'
  | 'values'
>;

export interface ComparedSide {
  /** In order. */
  readonly runs: readonly ComparedRun[];
  /** Cells that the side planned. */
  readonly planned: ReadonlySet<string>;
  readonly provenances: ReadonlySet<Provenance>;
}

export interface Facts {
  readonly environments: ReadonlyMap<string, Environment>;
  readonly builds: ReadonlyMap<string, ComparedBuild>;
  /** SM clocks in MHz by cell key, where known. */
  readonly clockLevels: ReadonlyMap<string, number>;
}

export interface AssembledCell {
  readonly cell: KeyedCell;
  readonly metric: MetricId;
  /** Null when `settled` says why there is nothing to compare. */
  readonly sides: TwoSides | null;
  readonly settled: CellComparison | null;
  readonly reasons: readonly string[];
  /** Recorded differences of clocks, power, heat, driver and machine between the two sides. */
  readonly machine: readonly string[];
  /** Differences that would make it incomparable unless requested. */
  readonly across: readonly string[];
}

/**
 * Pairs the runs of each cell, and settles what cannot be compared.
 * @param metrics of cells compared by another metric than their own, by key
 */
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
  const provenance = provenanceProblem(base, head, across);
  return cells.map((cell) => {
    const metric = metrics.get(cell.key) ?? gateMetric(requested, cell);
    const ofBase = baseRuns.get(cell.key) ?? [];
    const ofHead = headRuns.get(cell.key) ?? [];
    const valueOf = valueRule([...ofBase, ...ofHead].filter(isTimed), metric);
    const a = sideOf(cell, base, ofBase, metric, valueOf, facts);
    const b = sideOf(cell, head, ofHead, metric, valueOf, facts);
    const { machine, build, problem, overridden } = differencesOf(a, b, across);
    const all = [
      ...a.notes.map((note) => `base: ${note}`),
      ...b.notes.map((note) => `head: ${note}`),
      ...machine,
      ...build,
    ];
    const settle = (verdict: Verdict, why: readonly string[]): AssembledCell => ({
      cell,
      metric,
      sides: null,
      settled: settledAs(cell.key, verdict, a, b),
      reasons: [...why, ...all],
      machine: [],
      across: [],
    });
    if (!a.isPlanned || !b.isPlanned) {
      return settle('missing', [`only in ${a.isPlanned ? 'base' : 'head'}`]);
    }
    if (a.values.length === 0 || b.values.length === 0) {
      const why = [...failureReasons('base', a, metric), ...failureReasons('head', b, metric)];
      const isAsked = requested !== null && [a, b].every(({ lacksMetric, values }) => lacksMetric || values.length > 0);
      return settle(isAsked || a.isIneligible || b.isIneligible ? 'incomparable' : 'failed', why);
    }
    if (provenance !== null) return settle('incomparable', [provenance]);
    if (problem !== null) return settle('incomparable', [problem]);
    const sides: TwoSides = {
      cellKey: cell.key,
      base: a.values,
      head: b.values,
      betterIs: metricOf(metric).betterIs,
      systematicError: Math.hypot(a.systematicError, b.systematicError),
      kind: noiseKindOf(cell),
    };
    const flagged = [...flagReasons(a.runs, b.runs), ...boundReasons(a.runs, b.runs)];
    return {
      cell,
      metric,
      sides,
      settled: null,
      reasons: [...flagged, ...all],
      machine: [...machine, ...machineStates(a.runs, b.runs)],
      across: overridden,
    };
  });
}

type CellSide = ReturnType<typeof sideOf>;

function sideOf(
  cell: KeyedCell,
  side: ComparedSide,
  runs: readonly ComparedRun[],
  metric: MetricId,
  valueOf: (run: ComparedRun) => number | null,
  facts: Facts,
) {
  const timed = runs.filter(isTimed);
  const { kept, leftOut, systematicError } = fitSide(timed, metric, facts.clockLevels.get(cell.key) ?? null);
  const newest = kept.at(-1);
  const comparable = kept.filter((run) => newest !== undefined && belongTogether(run, newest, facts));
  const valued = comparable.filter((run) => valueOf(run) !== null);
  const byBuild = Map.groupBy(valued, ({ buildId }) => buildId);
  const units = isOfBuild(metric) ? [...byBuild.values()].flatMap(([first]) => first ?? []) : valued;
  const left = kept.length - comparable.length;
  return {
    isPlanned: side.planned.has(cell.key) || runs.length > 0,
    /** All its runs are excluded. */
    isIneligible: kept.length === 0 && timed.some(({ flags }) => isIneligible(flags)),
    /** It was measured, without this number. */
    lacksMetric: comparable.length > 0 && units.length === 0,
    /** Those that count. */
    runs: units,
    values: units.flatMap((run) => valueOf(run) ?? []),
    environment: newest === undefined ? null : (facts.environments.get(newest.environmentId) ?? null),
    build: buildOf(newest, facts),
    others: timed.map(({ outcome }) => outcome).filter(({ kind }) => kind !== 'measured'),
    /** Some runs were timed with the profiler attached. */
    isProfiled: runs.some(({ role }) => role === 'profile'),
    systematicError,
    notes: [...leftOut, ...(left === 0 ? [] : [`${left} runs with another build or environment left out`])],
  };
}

function buildOf(run: ComparedRun | undefined, facts: Facts): ComparedBuild | null {
  const buildId = run?.buildId ?? null;
  return buildId === null ? null : (facts.builds.get(buildId) ?? null);
}

/** Profiled runs have other times. */
export function isTimed({ role }: Pick<ComparedRun, 'role'>): boolean {
  return role === 'timed';
}

/** Runs of one side are pooled when their engines have the same options and the machine is of the same kind. */
function belongTogether(run: ComparedRun, newest: ComparedRun, facts: Facts): boolean {
  const a = facts.environments.get(run.environmentId);
  const b = facts.environments.get(newest.environmentId);
  const buildA = buildOf(run, facts);
  const buildB = buildOf(newest, facts);
  return (
    a?.gpuName === b?.gpuName &&
    a?.tensorrt === b?.tensorrt &&
    lockOf(a?.clockPolicy ?? null) === lockOf(b?.clockPolicy ?? null) &&
    buildA?.modelSha256 === buildB?.modelSha256 &&
    JSON.stringify(buildA?.flags) === JSON.stringify(buildB?.flags)
  );
}

function provenanceProblem(base: ComparedSide, head: ComparedSide, across: Across): string | null {
  const a = [...base.provenances].toSorted().join(', ');
  const b = [...head.provenances].toSorted().join(', ');
  if (a === b || across.provenance) return null;
  return `base is ${a}, head is ${b}: compare them anyway with --across-provenance`;
}

function failureReasons(name: string, side: CellSide, metric: MetricId): string[] {
  const { values, others, notes, isProfiled, lacksMetric } = side;
  if (values.length > 0) return [];
  if (lacksMetric) return [`${name}: its runs have no ${metricOf(metric).label}`];
  const reasons = failureSentences(others);
  const built = others.some(({ kind }) => kind === 'built') ? ['built'] : [];
  const profiled = 'only runs that were timed with a profiler attached, whose times do not count';
  const none = isProfiled ? profiled : notes.length === 0 ? 'no run' : 'no run that counts';
  const why = [...reasons, ...built];
  return (why.length === 0 ? [none] : why).map((text) => `${name}: ${text}`);
}

function settledAs(cellKey: CellKey, verdict: Verdict, a: CellSide, b: CellSide): CellComparison {
  const base = median(a.values);
  const head = median(b.values);
  return {
    cellKey,
    verdict,
    base,
    head,
    changePercent: base === null || head === null ? null : (head / base - 1) * 100,
    ciPercent: null,
    mdePercent: null,
    runs: [a.values.length, b.values.length],
    moreRunsNeeded: null,
    noise: null,
    reasons: [],
  };
}
