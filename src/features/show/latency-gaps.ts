import { isDeepStrictEqual } from 'node:util';

import { cellLabel } from '../../text/cell-label.ts';
import { cellRunsOf } from '../../store/runs/cell-runs.ts';
import { runsOfCell } from '../../store/runs/show-run.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import type { Look } from '../../terminal/look.ts';
import { formatMs, formatPercent } from '../../terminal/numbers.ts';
import { wrapHanging } from '../../terminal/text-width.ts';
import { printable } from '../../text/printable.ts';
import type { KeyedCell } from '../../records/cell.ts';
import { isColdStart } from '../../records/harness.ts';
import { metricOf } from '../../records/metric.ts';
import { isMeasured } from '../../records/run.ts';
import { median } from '../../statistics/median.ts';
import type { ShownCell } from './output.ts';

type LatencyGap = ShownCell['latencyGaps'][number];

/** The latency of an application, or of another harness, next to trtexec's of the same model, precision and shapes. */
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

/** Median over the measured runs of the newest sweep, ms; null where the cell is judged by something else. */
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
