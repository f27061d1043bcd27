import type { Io } from '../../cli/io.ts';
import { limitText, limitsWithoutValue } from '../../judge/gate/limits.ts';
import { valuesAt } from '../../judge/gate/limit-findings.ts';
import { meanChange } from '../../judge/gate/judged-cells.ts';
import { gatedMetricOf } from '../../records/gated-metric.ts';
import type { Sweep } from '../../records/sweep.ts';
import { undatedNote } from '../../selection/sides.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { canConfirm } from '../../store/sweeps/gate-of-sweep.ts';
import { count } from '../../terminal/numbers.ts';
import { printable } from '../../text/printable.ts';
import { labelIn } from '../../text/cell-label.ts';
import { headlineOf, type Standing, standingOf, verdictOf } from './headline.ts';
import { type JudgedSeries, judgeSeries } from './judge-series.ts';
import type { CheckedFinding, CheckedSeries } from './output.ts';
import { explanation, reportFindings } from './report-findings.ts';

/** What the gate says of a series, and what it is said from. */
export interface CheckedSweep {
  readonly judged: JudgedSeries;
  readonly series: CheckedSeries;
  readonly findings: readonly CheckedFinding[];
  readonly standing: Standing;
}

/** As `bench check` says it; stores nothing. @param onlyThis a sweep of long ago: those before it are not judged with it */
export async function checkedSweep(
  db: StoreDatabase,
  sweep: Sweep,
  io: Pick<Io, 'cwd' | 'env'>,
  { onlyThis = false }: { readonly onlyThis?: boolean } = {},
): Promise<CheckedSweep> {
  return checkedSeries(db, await judgeSeries(db, sweep, { judgedAt: null, onlyNewest: onlyThis }, io), io.cwd);
}

export async function checkedSeries(db: StoreDatabase, judged: JudgedSeries, cwd: string): Promise<CheckedSweep> {
  const { acknowledgements, batch, evidence, verdict } = judged;
  const known = { acknowledgements, batch, rules: evidence.rules, sweeps: evidence.sweeps };
  const explain = explanation(db, evidence, cwd);
  const findings = await reportFindings(db, { ...known, findings: verdict.findings }, explain);
  const standing = standingOf(findings, verdict.cells);
  return { judged, findings, standing, series: seriesOutput(db, judged, standing) };
}

export function aboutSeries({ matrix, branch, provenance, sweepId, startedAt, commit }: Sweep) {
  return { matrix, branch, provenance, sweepId, startedAt, commit };
}

function seriesOutput(db: StoreDatabase, judged: JudgedSeries, standing: Standing): CheckedSeries {
  const { evidence, series, verdict } = judged;
  const { judgedBy } = verdict;
  const { baseBranch } = series;
  const sweeps = evidence.sweeps.length;
  const looked = { judgedBy, base: judged.baseline === null ? baseBranch : `baseline ${judged.baseline}` };
  const cells = new Map(evidence.cells.map(({ cell }) => [cell.key, cell]));
  return {
    ...aboutSeries(series.sweep),
    judgedBy,
    sweeps,
    baseBranch,
    verdict: verdictOf(looked, standing),
    headline: headlineOf(looked, standing),
    canConfirm: canConfirm(db, series.sweep.sweepId),
    cells: verdict.cells.map(({ cellKey, ciPercent, levels, notes, ...numbers }) => ({
      key: cellKey,
      label: labelIn(cells, cellKey),
      unit: gatedMetricOf(numbers.metric).unit,
      ...numbers,
      ciPercent: ciPercent === null ? null : [...ciPercent],
      levels: levels === null ? null : [...levels],
      notes: [...notes],
    })),
    geometricMean: meanChange(verdict.cells, evidence.cells),
    notes: notesOf(judged),
  };
}

function notesOf({ evidence, ineligible, sweepsOfOtherMachine }: JudgedSeries): string[] {
  const leftOut = evidence.cells.filter(({ isLeftOut }) => isLeftOut).length;
  return [
    undatedNote(evidence.sweeps),
    leftOut > 0 && `${count(leftOut, 'cell')} left out of this sweep: the newest values count`,
    ...limitsWithoutValue(evidence.rules, valuesAt(evidence.cells, evidence.rules.limited)).map(
      (limit) => `limit ${printable(limitText(limit))}: no cell has a value for it`,
    ),
    ineligible > 0 && `${count(ineligible, 'cell')} under a profiling switch or as an upper bound: never judged`,
    sweepsOfOtherMachine > 0 &&
      `${count(sweepsOfOtherMachine, 'sweep')} on another GPU model, TensorRT major or locked clock left out: bench compare A B --across-gpu --across-tensorrt --across-clocks`,
  ].filter((note) => typeof note === 'string');
}
