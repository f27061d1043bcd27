import { isDeepStrictEqual } from 'node:util';

import { isMeasured } from '../../records/run.ts';
import type { CellBound } from '../../records/bound.ts';
import type { KeyedCell } from '../../records/cell.ts';
import { cellLabel } from '../../records/cell-label.ts';
import { median } from '../../statistics/order-statistics.ts';
import { type Metric, metricOf } from '../../records/metric.ts';
import { isFine, outcomeReason } from '../../records/outcome.ts';
import { printable } from '../../text/printable.ts';
import { type ListedRun as StoredRun, runsOfCell } from '../../store/runs/show-run.ts';
import { failureOf, failureSection } from '../../terminal/failure-section.ts';
import type { Look } from '../../terminal/look.ts';
import { count, formatMs, formatNumber, formatPercent } from '../../terminal/numbers.ts';
import { renderTable, numberColumn } from '../../terminal/table.ts';
import { wrapHanging } from '../../terminal/text-width.ts';
import { boundLines } from '../../terminal/words.ts';
import { deviationText, spreadOf } from '../../terminal/statistics-table.ts';
import { cellRunsOf } from '../../store/runs/cell-runs.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { isColdStart } from '../../records/harness.ts';
import type { ShownCell } from './output.ts';

export interface ListedRun extends StoredRun {
  /** Median; null if nothing was measured. */
  readonly gpuComputeMs: number | null;
  readonly throughputQps: number | null;
  /** Value in the metric of its cell, for a harness other than trtexec. */
  readonly value: number | null;
}

export function cellRunsText(
  cell: KeyedCell,
  bound: CellBound | null,
  runs: readonly ListedRun[],
  look: Look,
): string[] {
  const driven = cell.harness === undefined ? null : metricOf(cell.harness.metric);
  return [
    ...wrapHanging(`${printable(cellLabel(cell))} · cell ${cell.key.slice(0, 8)}`, look.columns, 2).map(
      look.style.strong,
    ),
    ...newestLines(runs, driven, look),
    ...(bound === null ? [] : boundLines(bound, [], look)),
    ...renderTable<ListedRun>(
      [
        { header: 'run', text: ({ runId }) => runId.slice(0, 8) },
        { header: 'sweep', text: ({ sweepId }) => sweepId.slice(0, 8) },
        { header: 'started', text: ({ startedAt }) => (startedAt ?? '').slice(0, 16).replace('T', ' '), dropRank: 3 },
        { header: 'role', text: ({ role }) => role, dropRank: 1 },
        numberColumn('#', ({ repeat }) => String(repeat), 2),
        numberColumn(driven?.label ?? '', ({ value }) =>
          value === null || driven === null ? '' : `${formatNumber(value)} ${driven.unit}`,
        ),
        numberColumn('GPU median', ({ gpuComputeMs }) => (gpuComputeMs === null ? '' : formatMs(gpuComputeMs))),
        numberColumn('qps', ({ throughputQps }) => (throughputQps === null ? '' : formatNumber(throughputQps)), 1),
        { header: 'outcome', text: ({ outcome }) => `${outcome.kind} ${outcomeReason(outcome) ?? ''}`.trim() },
      ],
      runs,
      look,
    ),
    ...failureSection(
      runs.filter(({ outcome }) => !isFine(outcome)).map((run) => failureOf({ ...run, label: cellLabel(cell) })),
      look,
    ),
  ];
}

/** Median, spread and range of the timed runs of the newest sweep. */
function newestLines(runs: readonly ListedRun[], driven: Metric | null, look: Look): string[] {
  const timed = runs.filter(isMeasured);
  const newest = timed.filter(({ sweepId }) => sweepId === timed[0]?.sweepId);
  const rows = [
    { name: driven?.label ?? '', unit: driven?.unit ?? '', valueOf: ({ value }: ListedRun) => value },
    { name: 'GPU median', unit: 'ms', valueOf: ({ gpuComputeMs }: ListedRun) => gpuComputeMs },
    { name: 'throughput', unit: 'queries/s', valueOf: ({ throughputQps }: ListedRun) => throughputQps },
  ];
  return rows.flatMap(({ name, unit, valueOf }) => {
    const values = newest.flatMap((run) => valueOf(run) ?? []);
    const middle = median(values);
    const spread = spreadOf(values);
    if (middle === null || spread === null) return [];
    const number = formatNumber(middle);
    const range = `range ${formatNumber(spread.least)} … ${formatNumber(spread.most)}, `;
    const text = `${number} ${unit} ${deviationText(spread.deviation, middle, number)}`.trim();
    const line = `  ${name.padEnd(NAME_WIDTH)} ${text}, ${spread.runs > 1 ? range : ''}${count(spread.runs, 'run')}`;
    return wrapHanging(line, look.columns, NAME_WIDTH + 3);
  });
}

const NAME_WIDTH = 10;

type LatencyGap = ShownCell['latencyGaps'][number];

/**
 * The latency of an application or another harness compared with that of trtexec, for the same model, precision and
 * shapes.
 */
export function latencyGapsOf(db: StoreDatabase, cell: KeyedCell, cells: readonly KeyedCell[]): LatencyGap[] {
  const isOwn = cell.harness === undefined;
  const own = isColdStart(cell) ? null : newestLatency(db, cell);
  if (own === null) return [];
  const others = cells.filter(
    (other) =>
      (other.harness === undefined) !== isOwn &&
      !isColdStart(other) &&
      other.model === cell.model &&
      other.precision === cell.precision &&
      isDeepStrictEqual(other.shapes, cell.shapes),
  );
  return others.flatMap((other) => {
    const its = newestLatency(db, other);
    if (its === null) return [];
    const [trtexec, application] = isOwn ? [cell, other] : [other, cell];
    const [trtexecMs, applicationMs] = isOwn ? [own, its] : [its, own];
    return {
      trtexecKey: trtexec.key,
      trtexecMs,
      hasTransfers: trtexec.dataTransfers ?? false,
      applicationKey: application.key,
      metric: application.harness?.metric ?? 'latencyMs',
      applicationMs,
      gapMs: applicationMs - trtexecMs,
      otherLabel: cellLabel(other),
    };
  });
}

/** Median over the measured runs of the newest sweep in ms; null if the metric of the cell is not a time. */
function newestLatency(db: StoreDatabase, { harness, key }: KeyedCell): number | null {
  const metric = metricOf(harness?.metric ?? 'latencyMs');
  if (metric.unit !== 'ms' || metric.betterIs !== 'lower') return null;
  const newest = runsOfCell(db, key, NEWEST_RUNS).find(isMeasured);
  if (newest === undefined) return null;
  const runs = cellRunsOf(db, [newest.sweepId], [key]).filter(isMeasured);
  return median(runs.flatMap(({ values }) => values[metric.id] ?? []));
}

const NEWEST_RUNS = 50;
const MOST_LINES = 4;

export function latencyGapLines(gaps: readonly LatencyGap[], { columns, style }: Look): string[] {
  return gaps.slice(0, MOST_LINES).flatMap((gap) => {
    const { applicationMs, gapMs, hasTransfers, metric, otherLabel, trtexecMs } = gap;
    const times = `${printable(metricOf(metric).label)} ${formatMs(applicationMs)}, latency of trtexec ${formatMs(trtexecMs)}${hasTransfers ? '' : ' without copies'}`;
    const said =
      gapMs < 0
        ? `${formatMs(-gapMs)} less than trtexec: not the same work, or another clock`
        : `${formatMs(gapMs)} (${formatPercent((gapMs / applicationMs) * 100, false)}) outside of what trtexec measures`;
    return wrapHanging(`${times}: ${said} (${printable(otherLabel)})`, columns, 2).map(style.dim);
  });
}
