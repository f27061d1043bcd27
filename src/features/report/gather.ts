import { cellKeysOf } from '../../store/runs/runs.ts';
import { gateRules } from '../../judge/gate/evidence.ts';
import { inLabelOrder } from '../../records/cell.ts';
import { UsageError } from '../../errors.ts';
import { gateMetric, isMetric, type MetricId } from '../../records/metric.ts';
import type { ReportOptions } from './command.ts';
import { NOT_JUDGED, type ReportedGate, type ReportedSweep, uniqueNames, type CellJudgement } from '../export/index.ts';
import { cellRunsOf } from '../../store/runs/cell-runs.ts';
import { findCells, plannedCells } from '../../store/cells.ts';
import { findEnvironments } from '../../store/sweeps/environments.ts';
import { gateOf as rulesOf } from '../../store/sweeps/sweeps.ts';
import { sweepNotes } from '../../store/sweeps/overview.ts';
import { matrixCellsOf } from '../../store/sweeps/swept-cells.ts';
import { newestFitSweeps } from '../../store/sweeps/newest-fit.ts';
import { seriesUntil } from '../../store/sweeps/find-sweeps.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { cellHistories } from '../../selection/cell-histories.ts';
import { chooseCells, metricNamed } from '../../selection/by-name.ts';
import { isPresent, nameOf, newestChecked, newFirst, sentences, type CheckedSweep } from '../check/index.ts';
import type { Io } from '../../cli/io.ts';
import type { CellKey, SweepId } from '../../records/scalars.ts';
import { NotMeasuredError, resolveSide, resolveSides, type Side } from '../../selection/sides.ts';
import { reasonWords } from '../../terminal/words.ts';
import { compareReport, lackText, sharedDifferences, shiftText } from '../compare/index.ts';

type SubjectOptions = Pick<ReportOptions, 'asOf' | 'branch' | 'filter' | 'metric' | 'upgrade'>;

/** What a report is about: a sweep as `bench check` judges it, or two sides; only HEAD if BASE was not measured. */
export type Subject = Awaited<ReturnType<typeof subjectOf>>;

/** @param named null for the newest sweep; without HEAD the checkout, as in `bench compare BASE` */
export async function subjectOf(
  db: StoreDatabase,
  named: { readonly base: string; readonly head: string | undefined } | null,
  options: SubjectOptions,
  io: Io,
) {
  if (named === null) {
    const checked = await checkedNewest(db, options, io);
    const head: Side = { ref: options.asOf ?? 'latest', sweeps: [checked.judged.series.sweep], note: null };
    return { checked, compared: null, base: null, head, notes: checked.series.notes };
  }
  const { branch, upgrade } = options;
  try {
    const sides = await resolveSides(db, named.base, named.head, io, { branch });
    const across = upgrade === true ? { ...options, acrossTensorrt: upgrade } : options;
    const compared = await compareReport(db, sides, across);
    const { output } = compared;
    const differences = [...output.across, ...sharedDifferences(output)];
    const notes = [sides.base.note, sides.head.note, ...differences, output.shift && shiftText(output.shift)];
    return { checked: null, compared, ...sides, notes: notes.filter((note) => note !== null) };
  } catch (error) {
    if (!(error instanceof NotMeasuredError) || named.head === undefined || upgrade === true) throw error;
    const head = await resolveSide(db, named.head, io, { branch });
    return { checked: null, compared: null, base: null, head, notes: [`not compared: ${error.message}`] };
  }
}

/** The checked sweep for a report without named sides, as in `bench check`. */
export async function checkedNewest(db: StoreDatabase, options: Parameters<typeof newestChecked>[1], io: Io) {
  const { checked, note, others } = await newestChecked(db, options, io);
  const { series } = checked;
  const notes = [
    note ?? [],
    others.map((other) => `${nameOf(other, [checked, ...others])}: ${other.series.headline}`),
    series.notes,
  ].flat();
  return { ...checked, others, series: { ...series, notes } };
}

/** Judgments by cell key. @param metric null for the compared metric of each cell */
export function judgementsOf({ checked, compared }: Pick<Subject, 'checked' | 'compared'>, metric: MetricId | null) {
  if (checked !== null) return judgedCells(checked, metric);
  const cells = compared?.output.cells ?? [];
  return new Map(
    cells.map((cell): [CellKey, CellJudgement] => {
      const isUnclear = cell.verdict === 'unclear';
      const why = new Set([...cell.reasons.map(reasonWords), lackText(cell)]);
      const reasons = isUnclear ? [...why].filter(Boolean) : cell.reasons;
      return [cell.key, { ...NOT_JUDGED, kind: 'compared', ...cell, reasons }];
    }),
  );
}

/** Omits cells if the gate does not judge the metric. */
function judgedCells({ findings: all, judged }: CheckedSweep, metric: MetricId | null) {
  const cells = metric === null ? judged.verdict.cells : judged.verdict.judgedIn(metric);
  const present = all.filter((finding) => isPresent(finding) && finding.kind !== 'limit');
  return new Map(
    cells.map(({ before, cellKey, now, notes, ...said }): [CellKey, CellJudgement] => {
      const own = present.filter(({ details }) =>
        details.some((change) => change.key === cellKey && change.metric === said.metric),
      );
      // Without the details of all their cells, which each cell would repeat.
      const findings = own.map(({ id, isWarning, state }) => ({ id, isWarning, state }));
      const levels = { base: before, head: now, reasons: notes, findings };
      return [cellKey, { ...NOT_JUDGED, kind: 'judged', ...said, ...levels }];
    }),
  );
}

/** Notes of the runs; of two sides, with the side that has them unless both have the same. */
export function notesOfSides(db: StoreDatabase, base: Subject['base'], headIds: readonly SweepId[]): string[] {
  const own = sweepNotes(db, headIds);
  const baseIds = base?.sweeps.map(({ sweepId }) => sweepId) ?? headIds;
  const others = sweepNotes(db, baseIds);
  if (String(others) === String(own)) return own;
  return [...others.map((note) => `base: ${note}`), ...own.map((note) => `head: ${note}`)];
}

const RECENT_SWEEPS = 20;

/** The data of report files: runs of a side, judgments, and earlier sweeps. @param first notes before all others */
export function gatherReport(
  db: StoreDatabase,
  subject: Subject,
  { filter, metric: named }: Pick<ReportOptions, 'filter' | 'metric'>,
  first: readonly string[],
): ReportedSweep {
  const metric = metricNamed(db, named);
  const { base, checked, compared, head, notes } = subject;
  const said = judgementsOf(subject, metric);
  const [newest, ...others] = head.sweeps;
  if (newest === undefined) throw new UsageError('there is no sweep to report');
  const sweepIds = head.sweeps.map(({ sweepId }) => sweepId);
  const keys = new Set([...said.keys(), ...plannedCells(db, sweepIds), ...cellKeysOf(db, sweepIds)]);
  const cells = inLabelOrder(chooseCells(db, [...findCells(db, [...keys]).values()], filter));
  const kept = new Set(cells.map(({ key }) => key));
  // Cells that a filter left out of the sweep use their newest sweep, as in their judgment.
  const { leftOut } = matrixCellsOf(db, newest.sweepId);
  const cellKeys = checked === null ? [] : [...(leftOut ?? [])].filter((key) => said.has(key));
  const earlier = newestFitSweeps(db, newest, { cellKeys });
  const ids = [...new Set([...sweepIds, ...[...earlier.values()].map(({ sweepId }) => sweepId)])];
  const runs = cellRunsOf(db, ids, [...kept]).filter(
    ({ cellKey, role, sweepId }) =>
      role === 'timed' && (sweepIds.includes(sweepId) || earlier.get(cellKey)?.sweepId === sweepId),
  );
  const byCell = Map.groupBy(runs, ({ cellKey }) => cellKey);
  const names = uniqueNames(cells);
  const { ownerOf } = gateRules(rulesOf(db, newest.sweepId));
  const series = seriesUntil(db, newest, RECENT_SWEEPS).toReversed();
  const byMetric = Map.groupBy(cells, ({ key }) => [said.get(key)?.metric ?? ''].find(isMetric) ?? metric);
  const histories = [...byMetric].flatMap(([shown, own]) => cellHistories(db, series, own, shown));
  const recent = new Map(histories.map(({ cell, history }) => [cell.key, [...history.values]]));
  const isWhole = filter === undefined && metric === null;
  const [mean = null, ...otherMetrics] = compared?.output.geometricMeans.filter(({ by }) => by === 'all') ?? [];
  return {
    shift: compared?.output.shift ?? null,
    // The mean over all cells does not describe a selection.
    geometricMean: isWhole && checked !== null ? checked.series.geometricMean : otherMetrics.length === 0 ? mean : null,
    notes: [...first, ...notesOfSides(db, base, sweepIds), ...notes],
    sweeps: [newest, ...others],
    ref: head.ref,
    baseRef: base?.ref ?? null,
    baseSweep: base?.sweeps[0] ?? null,
    gate: checked === null ? null : gateOf(checked, filter === undefined ? null : kept),
    cells: cells.map((cell) => ({
      cell,
      name: names.get(cell.key) ?? cell.key,
      metric: gateMetric(metric, cell),
      owner: ownerOf([cell.key]),
      runs: byCell.get(cell.key) ?? [],
      judgement: said.get(cell.key) ?? NOT_JUDGED,
      recent: recent.get(cell.key) ?? [],
    })),
    environments: findEnvironments(db, [...new Set(runs.map((run) => run.environmentId))]),
  };
}

/** @param kept the cells of the report; null for all */
export function gateOf(checked: NonNullable<Subject['checked']>, kept: ReadonlySet<string> | null): ReportedGate {
  const partOf = (one: CheckedSweep) => {
    const begin = `${nameOf(one, [checked, ...checked.others])}: `;
    const reported = newFirst([...one.standing.slower, ...one.standing.limits]);
    const shown = reported.filter(({ cells }) => kept === null || cells.some((key) => kept.has(key)));
    const findings = shown.map((finding) => {
      const { about, causes, title } = sentences(finding, one.judged.evidence);
      const text = [`${about}: ${title}`, ...causes.map(([term, says]) => `${term}: ${says}`)].join('; ');
      return { id: finding.id, state: finding.state, text: `${one === checked ? '' : begin}${text}` };
    });
    return { headline: `${begin}${one.series.headline}`, findings };
  };
  // The worst series is the first.
  const worse = checked.others.map(partOf).filter(({ findings }) => findings.length > 0);
  const parts = [partOf(checked), ...worse];
  const headline = worse.length === 0 ? checked.series.headline : parts.map((part) => part.headline).join('; ');
  return { headline, findings: parts.flatMap(({ findings }) => findings) };
}
