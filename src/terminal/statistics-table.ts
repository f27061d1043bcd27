import { type PartialStatistics, TIMED_METRICS, type TimedMetric } from '../records/harness.ts';
import { timesAbove } from '../statistics/order-statistics.ts';
import { type Look, dotted, truncate } from './look.ts';
import { count, formatNumber, formatShare, overlapNote, streamMs } from './numbers.ts';
import { type Column, renderTable, numberColumn } from './table.ts';

const METRIC_NAMES: Readonly<Record<TimedMetric, string>> = {
  latencyMs: 'latency',
  enqueueMs: 'enqueue',
  h2dMs: 'H2D',
  gpuComputeMs: 'GPU compute',
  d2hMs: 'D2H',
};

interface ShownStatistics {
  readonly throughputQps: number | null;
  readonly rateUnit?: string;
  /** Throughput multiplied by the batch; null without one. */
  readonly itemsPerS: number | null;
  readonly queries: number | null;
  readonly streams: number;
  readonly statistics: Readonly<Partial<Record<TimedMetric, PartialStatistics | null>>>;
  /** Names of numbers that were computed from printed ones. */
  readonly computed?: ReadonlySet<string>;
}

export function statisticsTable(shown: ShownStatistics, look: Look): string[] {
  const { itemsPerS, queries, rateUnit = 'queries/s', statistics, streams, throughputQps } = shown;
  const ms = (value: number | null): string => streamMs(value, streams);
  const rows = TIMED_METRICS.flatMap((metric) => {
    const found = statistics[metric] ?? null;
    return found === null ? [] : [{ metric, statistics: found }];
  });
  const printed = new Set(rows.flatMap((row) => Object.keys(row.statistics.percentiles)));
  const percentiles = [...printed].toSorted((a, b) => Number(a) - Number(b));
  const isMaximum = (percent: string) => queries !== null && timesAbove(queries, Number(percent)) === 0;
  type Row = (typeof rows)[number];
  const columns: Column<Row>[] = [
    { header: '', text: ({ metric }) => `  ${METRIC_NAMES[metric]}` },
    numberColumn<Row>('median', (row) => ms(row.statistics.median), 0),
    numberColumn('mean', (row) => ms(row.statistics.mean), 2),
    numberColumn('min', (row) => ms(row.statistics.min), 1),
    numberColumn('max', (row) => ms(row.statistics.max), 1),
    ...percentiles.map((percent, index) =>
      numberColumn<Row>(
        `p${percent}${isMaximum(percent) ? ' = max' : ''}`,
        (row) => ms(row.statistics.percentiles[percent] ?? null),
        3 + percentiles.length - index,
      ),
    ),
  ];
  const about = (name: string): string => (shown.computed?.has(name) === true ? '~' : '');
  const rates = [
    throughputQps === null
      ? ''
      : look.style.strong(`${about('throughputQps')}${formatNumber(throughputQps)} ${rateUnit}`),
    itemsPerS === null || itemsPerS === throughputQps ? '' : `${formatNumber(itemsPerS)} items/s`,
    queries === null ? '' : `${about('queries')}${count(queries, 'query', 'queries')}`,
  ];
  const rateText = dotted(rates);
  const lines = rateText === '' ? [] : [`  ${rateText}`];
  lines.push(...renderTable(columns, rows, look));
  lines.push(...partsLine(statistics).map((line) => truncate(line, look.columns)));
  const note = overlapNote([streams]);
  if (note !== null) lines.push(look.style.dim(`  ${note}`));
  return lines;
}

/** The parts of a latency, in their order, and the marks of their bars. */
const PARTS = [
  ['h2dMs', '▒'],
  ['gpuComputeMs', '█'],
  ['d2hMs', '░'],
] as const;
const BAR_WIDTH = 24;

/** Returns a stacked bar of the medians of copies and GPU compute; nothing for a run without copies. */
function partsLine(statistics: ShownStatistics['statistics']): string[] {
  const parts = PARTS.flatMap(([metric, mark]) => {
    const ms = statistics[metric]?.median ?? null;
    return ms === null ? [] : [{ metric, mark, ms }];
  });
  const whole = parts.reduce((sum, { ms }) => sum + ms, 0);
  if (parts.length < PARTS.length || whole <= 0) return [];
  const bar = parts.map(({ mark, ms }) => mark.repeat(Math.round((ms / whole) * BAR_WIDTH))).join('');
  const shares = parts.map(({ metric, ms }) => `${METRIC_NAMES[metric]} ${formatShare(ms / whole)}`);
  return [`  ${bar}  ${shares.join(' · ')}`];
}
