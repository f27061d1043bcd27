import type { PairResult, SweepEvidence } from '../../judge/gate/evidence.ts';
import { gateRules } from '../../judge/gate/limits.ts';
import { type KeyedCell, variablesOf } from '../../records/cell.ts';
import type { Finding } from '../../records/finding.ts';
import { isJudgedOnly } from '../../records/gated-metric.ts';
import type { MetricId } from '../../records/metric.ts';
import type { Sweep } from '../../records/sweep.ts';
import { knownVariablesOn } from '../../process/environment-variables.ts';
import { findCells, plannedCells } from '../../store/cells.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { acknowledgementsOf, findingsOf, findingsReportedIn } from '../../store/sweeps/findings.ts';
import { sweepsUntil } from '../../store/sweeps/find-sweeps.ts';
import { cellKeysOf } from '../../store/runs/runs.ts';
import { gateOf } from '../../store/sweeps/gate-of-sweep.ts';
import { pairResultsOf } from '../../selection/pair-results.ts';
import { contains } from '../../tools/git/git.ts';
import { inLabelOrder } from '../../text/cell-label.ts';
import { Histories } from './histories.ts';
import type { Series } from './series.ts';

/** Judged in every cell that has them, besides its own metric. */
const GATED: readonly MetricId[] = ['gpuComputeMs', 'throughputQps', 'p99Ms', 'engineMib', 'contextMib', 'buildS'];

export interface Gathered {
  readonly series: Series;
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
}

/** Everything that a sweep is judged by, in one pass over the runs of its series. */
export async function gather(
  db: StoreDatabase,
  series: Series,
  { cwd }: { readonly cwd: string },
  options: GatherOptions = {},
): Promise<Gathered> {
  const { sweep, sweeps } = series;
  const rules = gateRules(gateOf(db, sweep.sweepId), options.minChangePercent ?? null);
  const { cells, planned, ineligible } = cellsOf(db, sweeps);
  const limited = rules.limited.filter((metric) => !isJudgedOnly(metric));
  const histories = new Histories(db, series, cells, [...new Set([...GATED, ...limited])]);
  const evidence = cells.map((cell) => histories.of(cell, planned.has(cell.key)));
  const findings = [...(options.findings ?? knownFindings(db, series)), ...findingsReportedIn(db, [sweep.sweepId])];
  const findingIds = findings.map(({ findingId }) => findingId);
  return {
    series,
    evidence: {
      sweeps,
      baseSweeps: series.baseBranch === null ? null : sweeps.length - 1,
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

/** Of the newest sweep and the one before it. Cells that are ineligible because of a variable on an axis have no history to keep. */
function cellsOf(db: StoreDatabase, sweeps: readonly Sweep[]) {
  const of = ({ sweepId }: Sweep): string[] => [...plannedCells(db, [sweepId]), ...cellKeysOf(db, [sweepId])];
  const [before, newest] = [sweeps.at(-2), sweeps.at(-1)];
  const planned = new Set(newest === undefined ? [] : of(newest));
  const all = new Set([...planned, ...(before === undefined ? [] : of(before))]);
  const chosen = inLabelOrder([...findCells(db, [...all]).values()]);
  const cells = chosen.filter(isEligible);
  const own = chosen.filter(({ key }) => planned.has(key));
  return { cells, planned, ineligible: own.filter((cell) => !isEligible(cell)).length };
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
