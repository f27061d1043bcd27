import { UsageError } from '../../errors.ts';
import type { PairResult, SweepEvidence } from '../../judge/gate/evidence.ts';
import { gateRules } from '../../judge/gate/limits.ts';
import { type KeyedCell, variablesOf } from '../../records/cell.ts';
import type { Finding } from '../../records/finding.ts';
import { isJudgedOnly } from '../../records/gated-metric.ts';
import type { MetricId } from '../../records/metric.ts';
import type { CellKey } from '../../records/scalars.ts';
import type { Sweep } from '../../records/sweep.ts';
import { knownVariablesOn } from '../../process/environment-variables.ts';
import { findCells } from '../../store/cells.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { acknowledgementsOf, findingsOf, findingsReportedIn } from '../../store/sweeps/findings.ts';
import { baselineSweep, sweepsById, sweepsUntil } from '../../store/sweeps/find-sweeps.ts';
import { gateOf } from '../../store/sweeps/sweeps.ts';
import { matrixCellsOf } from '../../store/sweeps/swept-cells.ts';
import { pairResultsOf } from '../../selection/pair-results.ts';
import { contains } from '../../tools/git/git.ts';
import { inLabelOrder } from '../../text/cell-label.ts';
import { printable } from '../../text/printable.ts';
import { Histories } from './histories.ts';
import type { Series } from './series.ts';

/** Judged in every cell that has them, besides its own metric. */
const GATED: readonly MetricId[] = ['gpuComputeMs', 'throughputQps', 'p99Ms', 'engineMib', 'contextMib', 'buildS'];

export interface Gathered {
  readonly series: Series;
  /** Name of the baseline that it is judged against. */
  readonly baseline: string | null;
  readonly evidence: SweepEvidence;
  /** Cells under a profiling switch or as an upper bound: never judged. */
  readonly ineligible: number;
  /** The most sweeps of a cell that were measured on another machine, and do not count. */
  readonly sweepsOfOtherMachine: number;
}

export interface GatherOptions {
  /** What is known before this sweep, besides what an earlier look at it reported; default: what the store says was reported until then. */
  readonly findings?: readonly Finding[] | undefined;
  /** Pairs of the judged sweep, where they are not stored yet. */
  readonly pairs?: readonly PairResult[] | null;
  readonly minChangePercent?: number | undefined;
  /** The baseline that is the reference, in place of what the matrix says. */
  readonly against?: string | undefined;
}

/** Everything that a sweep is judged by, in one pass over the runs of its series. */
export async function gather(
  db: StoreDatabase,
  ofBranch: Series,
  { cwd }: { readonly cwd: string },
  options: GatherOptions = {},
): Promise<Gathered> {
  const { baseBranch, sweep } = ofBranch;
  const settings = gateOf(db, sweep.sweepId);
  // A pull request is judged against its merge base.
  const name = options.against ?? (baseBranch === null ? settings.against : null);
  const baseline = name === null ? null : baselineNamed(db, name, options.against === undefined);
  const isOther = baseline !== null && ofBranch.sweeps.every(({ sweepId }) => sweepId !== baseline.sweepId);
  const series = isOther ? { ...ofBranch, sweeps: [baseline, ...ofBranch.sweeps] } : ofBranch;
  const { sweeps } = series;
  const rules = gateRules(settings, options.minChangePercent ?? null);
  const { cells, ineligible, leftOut, planned } = cellsOf(db, series);
  const limited = rules.limited.filter((metric) => !isJudgedOnly(metric));
  const histories = new Histories(db, series, cells, [...new Set([...GATED, ...limited])]);
  const evidence = cells
    .map((cell) => histories.of(cell, { isPlanned: planned.has(cell.key), isLeftOut: leftOut.has(cell.key) }))
    .filter(({ cell }) => cell.isLeftOut !== true || cell.metrics.some(({ history }) => history.nights.length > 0));
  const findings = [...(options.findings ?? knownFindings(db, series)), ...findingsReportedIn(db, [sweep.sweepId])];
  const findingIds = findings.map(({ findingId }) => findingId);
  return {
    series,
    baseline: baseline === null ? null : name,
    evidence: {
      sweeps,
      baseSweeps: baseBranch === null ? null : sweeps.length - 1,
      baselinePlace: baseline === null ? null : sweeps.findIndex(({ sweepId }) => sweepId === baseline.sweepId),
      cells: evidence.map(({ cell }) => cell),
      environments: histories.environments,
      findings,
      acknowledged: await acknowledgedOf(db, findingIds, sweep, cwd),
      rules,
      pairs: options.pairs ?? pairResultsOf(db, sweeps, rules),
    },
    ineligible,
    sweepsOfOtherMachine: Math.max(0, ...evidence.map(({ otherMachine }) => otherMachine)),
  };
}

/**
 * Of the newest sweep's matrix, and of the one before it. Of what a filter left out the newest values count, but not on a
 * pull request, whose cells were not measured then. Cells that are ineligible because of a variable on an axis have no
 * history to keep.
 */
function cellsOf(db: StoreDatabase, { baseBranch, sweep, sweeps }: Series) {
  const { planned, leftOut: notMeasured } = matrixCellsOf(db, sweep.sweepId);
  const leftOut: ReadonlySet<CellKey> = notMeasured ?? new Set();
  const [before] = sweeps
    .slice(0, -1)
    .slice(-1)
    .map(({ sweepId }) => matrixCellsOf(db, sweepId));
  const all = new Set([...planned, ...leftOut, ...(before?.planned ?? []), ...(before?.leftOut ?? [])]);
  const isLeft = ({ key }: KeyedCell): boolean => baseBranch !== null && leftOut.has(key);
  const chosen = inLabelOrder([...findCells(db, [...all]).values()]).filter((cell) => !isLeft(cell));
  const cells = chosen.filter(isEligible);
  const own = chosen.filter(({ key }) => planned.has(key));
  return { cells, planned, leftOut, ineligible: own.filter((cell) => !isEligible(cell)).length };
}

/** @param isOptional null where it is not set, as in a store of another machine @throws UsageError */
function baselineNamed(db: StoreDatabase, name: string, isOptional: boolean): Sweep | null {
  const [sweep] = sweepsById(db, [baselineSweep(db, name) ?? '']);
  if (sweep === undefined && !isOptional) {
    throw new UsageError(`--against ${printable(name)}: no such baseline; see \`bench ls baselines\``);
  }
  return sweep ?? null;
}

function isEligible({ axisFlags }: KeyedCell): boolean {
  return knownVariablesOn(variablesOf(axisFlags)).length === 0;
}

/** A pull request is judged against its base, and by no finding of an earlier push. */
function knownFindings(db: StoreDatabase, { baseBranch, sweep, matrices }: Series): Finding[] {
  if (baseBranch !== null) return [];
  const stored = findingsOf(db, { ...sweep, matrices });
  const reportedIn = [...new Set(stored.map(({ reportedSweepId }) => reportedSweepId))];
  const until = sweepsUntil(db, reportedIn, sweep);
  return stored.filter(({ reportedSweepId }) => until.has(reportedSweepId) && reportedSweepId !== sweep.sweepId);
}

async function acknowledgedOf(
  db: StoreDatabase,
  findingIds: readonly string[],
  sweep: Sweep,
  cwd: string,
): Promise<SweepEvidence['acknowledged']> {
  const acknowledged = new Map<string, { readonly isOver: boolean }>();
  for (const [findingId, { until }] of acknowledgementsOf(db, findingIds)) {
    acknowledged.set(findingId, { isOver: await hasPassed(until, sweep, cwd) });
  }
  return acknowledged;
}

async function hasPassed(until: string | null, sweep: Sweep, cwd: string): Promise<boolean> {
  if (until === null) return false;
  if (/^\d{4}-/.test(until)) return (sweep.startedAt ?? '').slice(0, 10) > until;
  return sweep.commit !== null && (await contains(cwd, sweep.commit, until));
}
