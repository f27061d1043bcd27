import type { Io } from '../../cli/io.ts';
import { limitedValues, limitsWithoutValue } from '../../judge/gate/limit-findings.ts';
import { machineChanges } from '../../judge/gate/reduce-findings.ts';
import { gatedMetricOf } from '../../records/gated-metric.ts';
import type { MetricId } from '../../records/metric.ts';
import type { Sweep } from '../../records/sweep.ts';
import { nothingStored } from '../../selection/cell-histories.ts';
import { undatedNote } from '../../selection/sides.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { gpuModels } from '../../store/sweeps/find-sweeps.ts';
import { canConfirm } from '../../store/sweeps/sweeps.ts';
import { count } from '../../terminal/numbers.ts';
import { labelIn } from '../../records/cell.ts';
import { printable } from '../../text/printable.ts';
import { keysOf } from '../../text/unknown-values.ts';
import type { Said } from './cell-pictures.ts';
import { checkedFindings, isPresent, shownFindings } from './findings.ts';
import { type JudgedSeries, type JudgeOptions, type Place, judgeSeries } from './gather.ts';
import { type CheckedFinding, type CheckedSeries, SERIES_VERDICTS } from './output.ts';
import { isOfSpeed } from './sentences.ts';
import { isStale, newestSweeps, type SeriesOptions } from './series.ts';

export type CheckedSweep = Awaited<ReturnType<typeof checkedSweep>>;

export function worstSeriesFirst<One extends { readonly series: CheckedSeries }>(all: readonly One[]): One[] {
  const rankOf = ({ series: { cells, verdict } }: One): number =>
    SERIES_VERDICTS.indexOf(verdict) + 1 / (1 + cells.filter((cell) => cell.verdict === 'slower').length);
  return all.toSorted((a, b) => rankOf(a) - rankOf(b));
}

/** For outputs about one sweep: that of the worst series, and the other series that `bench check` judges with it. */
export async function newestChecked(db: StoreDatabase, options: SeriesOptions, io: Io) {
  const { note, sweeps } = await newestSweeps(db, options, io);
  const all: CheckedSweep[] = [];
  for (const sweep of sweeps.filter((one) => !isStale(one, sweeps)))
    all.push(await checkedSweep(db, sweep, io, { onlyNewest: options.asOf !== undefined }));
  const [checked, ...others] = worstSeriesFirst(all);
  if (checked === undefined) throw nothingStored(db, options.branch);
  return { checked, note, others };
}

/** What decides the exit code of several series. */
export function foundInAll(all: readonly { findings: readonly CheckedFinding[]; series: CheckedSeries }[]) {
  const cells = all.flatMap(({ series }) => series.cells);
  const findings = all.flatMap((one) => one.findings);
  const { failed, limits, slower, unclear, warnings } = standingOf(findings, cells);
  const regressions = { regression: slower.length > 0, new: slower.some(({ state }) => state === 'new') };
  const others = { limit: limits.length > 0, warning: warnings.length > 0 };
  return { ...regressions, ...others, failed: failed > 0, unclear: unclear > 0 };
}

/** The sweep as `bench check` prints it; stores nothing unless `judgedAt` is stated. */
export async function checkedSweep(db: StoreDatabase, sweep: Sweep, io: Place, options: JudgeOptions = {}) {
  const judged = await judgeSeries(db, sweep, io, options);
  const { against, evidence, series, verdict } = judged;
  const { baseBranch } = series;
  const known = shownFindings(verdict.findings, evidence);
  const findings = await checkedFindings(db, judged, known, io.cwd);
  const standing = standingOf(findings, verdict.cells);
  const output: CheckedSeries = {
    ...aboutSeries(db, sweep),
    judgedBy: verdict.judgedBy,
    sweeps: evidence.sweeps.length,
    baseBranch,
    ...saidOf(standing, judged, typeof evidence.baselinePlace === 'number' ? `baseline ${against}` : baseBranch),
    canConfirm: canConfirm(db, sweep.sweepId),
    cells: shownCells(judged, null),
    geometricMean: verdict.geometricMean,
    notes: notesOf(judged),
  };
  return { judged, findings, standing, series: output };
}

/** @param metric null for the shown one of each cell */
export function shownCells({ evidence, verdict }: Pick<JudgedSeries, 'evidence' | 'verdict'>, metric: MetricId | null) {
  const cells = new Map(evidence.cells.map(({ cell }) => [cell.key, cell]));
  return (metric === null ? verdict.cells : verdict.judgedIn(metric)).map(({ cellKey: key, ...cell }) => {
    return { key, label: labelIn(cells, key), unit: gatedMetricOf(cell.metric).unit, ...cell };
  });
}

export function aboutSeries(db: StoreDatabase, sweep: Sweep) {
  const { matrix, branch, provenance, sweepId, startedAt, commit } = sweep;
  return { matrix, branch, provenance, gpu: gpuModels(db, [sweep]).get(sweepId) ?? null, sweepId, startedAt, commit };
}

function notesOf({ against, evidence, notes, verdict }: JudgedSeries): string[] {
  const { baselinePlace = null, cells, rules, sweeps } = evidence;
  const newest = [sweeps.length - 2, sweeps.length - 1];
  const changes = cells.flatMap((cell) => machineChanges(evidence, cell, newest));
  const leftOut = cells.filter(({ isLeftOut, metrics: [main] }) => isLeftOut && main?.history.places.length).length;
  return [
    changes.length > 0 && `since the sweep before: ${[...new Set(changes)].map(printable).join('; ')}`,
    against !== null &&
      baselinePlace === null &&
      `gate.against: no baseline ${printable(against)} is set for this machine: the reference is the last accepted level`,
    undatedNote(sweeps),
    ...verdict.endedAcknowledgements.map(
      (id) => `acknowledgement of ${id.slice(0, 8)} ended: its day is past, or its commit is measured`,
    ),
    leftOut > 0 && `${count(leftOut, 'cell')} left out of this sweep: bench uses their newest values`,
    ...limitsWithoutValue(rules, limitedValues(cells, rules)).map(
      (limit) => `limit ${printable(limit)}: no cell has a value for it`,
    ),
    ...notes,
  ].filter((note) => typeof note === 'string');
}

/** What decides the exit code. */
export function standingOf(findings: readonly CheckedFinding[], cells: readonly Said[]) {
  const present = findings.filter(isPresent);
  const worse = present.filter(({ direction }) => direction === 'slower');
  const failing = worse.filter(({ isWarning }) => !isWarning);
  const numberOf = (isIt: (cell: (typeof cells)[number]) => boolean): number => cells.filter(isIt).length;
  return {
    /** Slower than the reference and not acknowledged; new or open. */
    slower: failing.filter(({ kind }) => kind !== 'limit'),
    limits: failing.filter(({ kind }) => kind === 'limit'),
    warnings: worse.filter(({ isWarning }) => isWarning),
    faster: present.filter(({ direction, state }) => direction === 'faster' && state === 'new'),
    acknowledged: findings.filter(({ direction, state }) => direction === 'slower' && state === 'acknowledged'),
    /** Numbers of cells. `compared` counts cells with a value and a reference. */
    compared: numberOf(({ reason }) => reason === null),
    missing: numberOf(({ reason }) => reason === 'missing'),
    fresh: numberOf(({ reason }) => reason === 'new'),
    unclear: numberOf(({ reason, verdict }) => verdict === 'unclear' && reason === null),
    failed: numberOf(({ reason }) => reason === 'failed'),
  };
}

/** The first line about a series: `2 cells slower: 1 new, 2 open`. The first of the found things is its verdict. */
function saidOf(standing: ReturnType<typeof standingOf>, judged: JudgedSeries, base: string | null) {
  const isFirst = judged.verdict.judgedBy === 'first';
  const { acknowledged, compared, failed, faster, fresh, limits, missing, slower, unclear, warnings } = standing;
  // If no cell has a result and a reference, it is unknown whether any is slower.
  const isQuiet = slower.length + limits.length + warnings.length === 0 && compared > 0;
  const apart = [fresh > 0 && `${fresh} new`, missing > 0 && `${missing} missing`].filter(Boolean).join(', ');
  const found = {
    slower: bySpeed(slower, 'slower', 'worse'),
    limit: limits.length > 0 && `${count(limits.length, 'limit')} broken`,
    failed: failed > 0 && `${count(failed, 'cell')} without a result`,
    unclear: unclear > 0 && `${count(unclear, 'cell')} unclear`,
    warning: warnings.length > 0 && count(warnings.length, 'warning'),
    faster: bySpeed(faster, 'faster', 'better'),
  };
  const texts = [
    isFirst ? 'first sweep: nothing to compare with' : isQuiet && 'nothing slower',
    !isFirst && compared === 0 && apart !== '' && `no cell to compare: ${apart}`,
    ...Object.values(found),
    judged.captured > 0 && `${count(judged.captured, 'cell')} captured`,
    acknowledged.length > 0 && `${count(acknowledged.length, 'finding')} acknowledged`,
    base !== null && `compared with ${base}`,
  ];
  const otherwise = isFirst ? 'first' : compared === 0 ? 'unclear' : 'same';
  const verdict = keysOf(found).find((word) => found[word]) ?? otherwise;
  return { verdict, headline: texts.filter(Boolean).join('; ') } as const;
}

/** `2 cells slower: 1 new, 2 open`, by the newest finding of each cell. */
function bySpeed(findings: readonly CheckedFinding[], ofSpeed: string, ofOthers: string): string {
  const cellsIn = (some: typeof findings): number => new Set(some.flatMap(({ cells }) => cells)).size;
  const texts = [true, false].flatMap((isSpeed) => {
    const own = findings.filter((finding) => isOfSpeed(finding) === isSpeed);
    if (own.length === 0) return [];
    const fresh = cellsIn(own.filter(({ state }) => state === 'new'));
    const open = cellsIn(own) - fresh;
    const states = [fresh > 0 && `${fresh} new`, open > 0 && `${open} open`].filter(Boolean).join(', ');
    return [`${count(cellsIn(own), 'cell')} ${isSpeed ? ofSpeed : ofOthers}: ${states}`];
  });
  return texts.join('; ');
}
