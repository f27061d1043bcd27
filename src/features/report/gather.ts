import { cellKeysOf } from '../../store/runs/runs.ts';
import { gateRules } from '../../judge/gate/evidence.ts';
import { inLabelOrder } from '../../records/cell-label.ts';
import { UsageError } from '../../errors.ts';
import { gateMetric, isMetric, type MetricId } from '../../records/metric.ts';
import type { ReportOptions } from './command.ts';
import { shiftText, compareReport } from '../compare/index.ts';
import { NOT_JUDGED, type ReportedSweep, uniqueNames } from '../export/index.ts';
import { cellRunsOf } from '../../store/runs/cell-runs.ts';
import { findCells, plannedCells } from '../../store/cells.ts';
import { findEnvironments } from '../../store/sweeps/environments.ts';
import { gateOf as rulesOf } from '../../store/sweeps/sweeps.ts';
import { importNotes } from '../../store/sweeps/overview.ts';
import { matrixCellsOf, newestFitSweeps } from '../../store/sweeps/swept-cells.ts';
import { seriesUntil } from '../../store/sweeps/find-sweeps.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { cellHistories } from '../../selection/cell-histories.ts';
import { chooseCells, metricNamed } from '../../selection/by-name.ts';
import type { Io } from '../../cli/io.ts';
import type { CheckedSweep } from '../check/index.ts';
import { NotMeasuredError, resolveSide, resolveSides, type Side } from '../../selection/sides.ts';
import type { Across, PageAbout, PageSides } from './html-data.ts';
import { comparedCells, gateOf, judgedCells, type Judgements } from './judgements.ts';

type GatherOptions = Pick<ReportOptions, 'metric' | 'filter' | 'branch' | 'asOf'> & Across;

/** The judgments of all cells, and the notes on the whole. */
type Judged = Pick<ReportedSweep, 'shift' | 'geometricMean' | 'notes'> & {
  readonly cells: Judgements;
  readonly head: Side;
  readonly base: Side | null;
};

const RECENT_SWEEPS = 20;

/** The data of report files: runs of a side, judgments, and earlier sweeps. @param first notes before all others */
export async function gatherReport(
  db: StoreDatabase,
  about: PageAbout,
  options: GatherOptions,
  io: Io,
  first: readonly string[],
): Promise<ReportedSweep> {
  const metric = metricNamed(db, options.metric);
  const checked = 'checked' in about ? about.checked : null;
  const judged = 'checked' in about ? byGate(about.checked, metric, options) : await bySides(db, about, options, io);
  const { base, cells: said, head, ...whole } = judged;
  const [newest, ...others] = head.sweeps;
  if (newest === undefined) throw new UsageError('there is no sweep to report');
  const sweepIds = head.sweeps.map(({ sweepId }) => sweepId);
  const keys = new Set([...said.keys(), ...plannedCells(db, sweepIds), ...cellKeysOf(db, sweepIds)]);
  const cells = inLabelOrder(chooseCells(db, [...findCells(db, [...keys]).values()], options.filter));
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
  const isShown = (finding: { readonly cells: readonly string[] }): boolean =>
    options.filter === undefined || finding.cells.some((key) => kept.has(key));
  return {
    ...whole,
    notes: [...first, ...importNotes(db, sweepIds), ...whole.notes],
    sweeps: [newest, ...others],
    ref: head.ref,
    baseRef: base?.ref ?? null,
    baseSweep: base?.sweeps[0] ?? null,
    gate: checked === null ? null : gateOf(checked, isShown),
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

function byGate(checked: CheckedSweep, metric: MetricId | null, { asOf, filter }: GatherOptions): Judged {
  const { judged, series } = checked;
  return {
    cells: judgedCells(checked, metric),
    head: { ref: asOf ?? 'latest', sweeps: [judged.series.sweep], note: null },
    base: null,
    shift: null,
    // The mean over all cells does not describe a selection.
    geometricMean: filter === undefined && metric === null ? series.geometricMean : null,
    notes: series.notes,
  };
}

/** Judgments against the base; only values if the base was not measured. */
async function bySides(
  db: StoreDatabase,
  { base, head }: Pick<PageSides, 'base' | 'head'>,
  options: GatherOptions,
  io: Io,
): Promise<Judged> {
  const { branch } = options;
  try {
    const sides = await resolveSides(db, base, head, io, { branch });
    const { output } = await compareReport(db, sides, options);
    const { across, geometricMeans, shift } = output;
    const [mean = null, ...otherMetrics] = geometricMeans.filter(({ by }) => by === 'all');
    const notes = [sides.base.note, sides.head.note, ...across, shift === null ? null : shiftText(shift)];
    return {
      ...sides,
      cells: comparedCells(output),
      shift,
      geometricMean: otherMetrics.length === 0 ? mean : null,
      notes: notes.filter((note) => note !== null),
    };
  } catch (error) {
    if (!(error instanceof NotMeasuredError) || head === undefined) throw error;
    const only = await resolveSide(db, head, io, { branch });
    const notes = [`not compared: ${error.message}`];
    return { cells: new Map(), head: only, base: null, shift: null, geometricMean: null, notes };
  }
}
