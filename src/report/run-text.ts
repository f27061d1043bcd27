import { TIMED_METRICS, type TimedMetric } from '../domain/measurement.ts';
import type { ParsedRun } from '../domain/parsed-run.ts';
import { formatTensorrtVersion } from '../domain/tensorrt-version.ts';
import type { Look } from './look.ts';
import { count, formatMs, formatNumber, formatPercent } from './numbers.ts';
import { outcomeText } from './outcome-text.ts';
import { printable } from '../domain/printable.ts';
import { type Column, renderTable } from './table.ts';
import { truncate } from './text-width.ts';

const METRIC_NAMES: Readonly<Record<TimedMetric, string>> = {
  latencyMs: 'latency',
  enqueueMs: 'enqueue',
  h2dMs: 'H2D',
  gpuComputeMs: 'GPU compute',
  d2hMs: 'D2H',
};

/** p99 of few queries is their maximum: trtexec takes the order statistic without interpolation. */
const P99_IS_MAXIMUM = 100;
const MAX_EVIDENCE_LINES = 5;

/** One run, as hyperfine would show it: what it is, whether to believe it, its numbers, what trtexec remarked. */
export function runText(run: ParsedRun, look: Look): string[] {
  const { log, derived, outcome } = run;
  const { style } = look;
  const cut = (text: string): string => truncate(text, look.columns);
  const head = [
    log.tensorrtVersion === null ? null : `TensorRT ${formatTensorrtVersion(log.tensorrtVersion)}`,
    log.device.name === null ? null : printable(log.device.name),
  ].filter((part) => part !== null);
  const lines = [style.strong(cut(printable(run.path)))];
  if (head.length > 0) lines.push(cut(`  ${head.join(' · ')}`));
  lines.push(`  ${outcomeText(outcome, style)}`);
  for (const { line, text } of outcome.evidence.slice(0, MAX_EVIDENCE_LINES)) {
    lines.push(cut(`    ${line > 0 ? `line ${line}: ` : ''}${printable(text)}`));
  }
  lines.push(...numbers(run, look));
  if (log.build.engineBuiltS !== null) {
    const size = log.build.createdEngineMib;
    lines.push(
      cut(
        `  engine built in ${formatNumber(log.build.engineBuiltS)} s${size === null ? '' : `, ${formatNumber(size)} MiB`}`,
      ),
    );
  }
  if (derived.enqueueRatio !== null) {
    lines.push(
      cut(
        `  enqueue/GPU ${formatNumber(derived.enqueueRatio, 2)} (${derived.enqueueClass})${derived.gpuBusy === null ? '' : ` · GPU busy ${formatPercent(derived.gpuBusy * 100, false)}`}${derived.cvPercent === null ? '' : ` · CV ${formatPercent(derived.cvPercent, false)}`}`,
      ),
    );
  }
  for (const hint of log.hints)
    lines.push(style.warn(cut(`  ${hint.id}: ${printable(hint.text)}`)));
  for (const note of run.notes) lines.push(style.dim(cut(`  note: ${printable(note)}`)));
  return lines;
}

function numbers({ log, derived }: ParsedRun, look: Look): string[] {
  const { measurement } = log;
  if (measurement === null) return [];
  const queries =
    derived.queries === null ? '' : ` · ${count(derived.queries, 'query', 'queries')}`;
  const rows = TIMED_METRICS.flatMap((metric) => {
    const statistics = measurement[metric];
    return statistics === null ? [] : [{ metric, statistics }];
  });
  type Row = (typeof rows)[number];
  const percentiles = [
    ...new Set(rows.flatMap(({ statistics }) => Object.keys(statistics.percentiles))),
  ];
  const right = (header: string, text: (row: Row) => string, dropRank: number): Column<Row> => ({
    header,
    text,
    align: 'right',
    dropRank,
  });
  const isMaximum = (derived.queries ?? Infinity) <= P99_IS_MAXIMUM;
  const columns: Column<Row>[] = [
    { header: '', text: ({ metric }) => `  ${METRIC_NAMES[metric]}` },
    right('median', ({ statistics }) => formatMs(statistics.median), 0),
    right('mean', ({ statistics }) => formatMs(statistics.mean), 2),
    right('min', ({ statistics }) => formatMs(statistics.min), 1),
    right('max', ({ statistics }) => formatMs(statistics.max), 1),
    ...percentiles.map((percent, index) =>
      right(
        `p${percent}${percent === '99' && isMaximum ? ` = max (n = ${derived.queries})` : ''}`,
        ({ statistics }) => formatMs(statistics.percentiles[percent] ?? null),
        3 + percentiles.length - index,
      ),
    ),
  ];
  return [
    `  ${look.style.strong(`${formatNumber(measurement.throughputQps)} runs/s`)}${queries}`,
    ...renderTable(columns, rows, look),
  ];
}
