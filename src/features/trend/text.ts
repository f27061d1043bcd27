import type { TrendStep, TrendUnit } from '../../judge/trend.ts';
import type { TrendMark } from '../../judge/trend-marks.ts';
import type { KeyedCell } from '../../records/cell.ts';
import { cellLabel } from '../../text/cell-label.ts';
import { type MetricId, metricOf } from '../../records/metric.ts';
import { printable } from '../../text/printable.ts';
import type { Provenance } from '../../records/provenance.ts';
import { FLAG_LABELS, type RunFlagId } from '../../records/run-flag.ts';
import { captionLines, cellColumns } from '../../terminal/cell-columns.ts';
import { renderLineChart, sparkline } from '../../terminal/charts/line-chart.ts';
import type { Look } from '../../terminal/look.ts';
import { formatNumber, formatPercent } from '../../terminal/numbers.ts';
import { renderTable } from '../../terminal/table.ts';
import { truncate, wrapHanging } from '../../terminal/text-width.ts';

export interface TrendSeries {
  readonly cell: KeyedCell;
  readonly metric: MetricId;
  readonly unit: TrendUnit;
  readonly steps: readonly TrendStep[];
  readonly marks: readonly TrendMark[];
  /** Why it is never a baseline: of its newest run; none for most cells. */
  readonly barred: readonly RunFlagId[];
}

export interface TrendReport {
  readonly series: readonly TrendSeries[];
  readonly provenance: Provenance;
  readonly together: boolean;
  readonly height: number;
}

export function trendJson({ series, provenance }: TrendReport) {
  return {
    schemaVersion: 1,
    provenance,
    cells: series.map(({ barred, cell, metric, unit, steps, marks }) => ({
      key: cell.key,
      label: cellLabel(cell),
      metric,
      unit: metricOf(metric).unit,
      by: unit,
      points: steps.map(({ id, sweepId, value, runs }) => ({ id, sweepId, value, runs })),
      marks,
      barred,
    })),
  };
}

/** So many cells get a chart each; more become a line each. */
const MAX_CHARTS = 4;
const SPARK_WIDTH = 32;

export function trendText(report: TrendReport, look: Look): string[] {
  if (report.together) return togetherText(report, look);
  if (report.series.length > MAX_CHARTS) return sparkTable(report, look);
  return report.series.flatMap((series, place) => [...(place === 0 ? [] : ['']), ...chartOf(series, report, look)]);
}

function barredText({ barred }: TrendSeries): string {
  return barred.length === 0 ? '' : `✗ ${barred.map((id) => FLAG_LABELS[id]).join(', ')}`;
}

function chartOf(series: TrendSeries, { provenance, height }: TrendReport, look: Look): string[] {
  const { cell, metric, unit, steps, marks } = series;
  const { label, unit: measure } = metricOf(metric);
  const warning = barredText(series);
  const title = `${printable(cellLabel(cell))} · ${label}, ${measure} · by ${unit} · ${provenance}${warning === '' ? '' : ` · ${warning}`}`;
  const chart = renderLineChart({
    series: brokenLine(steps, marks).map((values) => ({ values, style: look.style.accent })),
    labels: stepLabels(steps, unit),
    ticks: ticksOf(steps, unit),
    // The first mark of a step is the one that is seen on the axis.
    signs: new Map(marks.toReversed().map(({ step, kind }) => [step, SIGNS[kind]])),
    format: formatNumber,
    height,
    look,
  });
  return [
    ...wrapHanging(title, look.columns, 2).map(warning === '' ? look.style.strong : look.style.bad),
    ...chart,
    changeLine(steps, measure),
    ...markLines(series, look),
  ];
}

/** One line for each machine: a piece has no values where another has. */
function brokenLine(steps: readonly TrendStep[], marks: readonly TrendMark[]): (number | null)[][] {
  const breaks = marks.filter(({ breaksLine }) => breaksLine).map(({ step }) => step);
  const edges = [0, ...breaks, steps.length];
  return edges
    .slice(1)
    .map((end, piece) => steps.map(({ value }, step) => (step >= (edges[piece] ?? 0) && step < end ? value : null)));
}

const SIGNS: Readonly<Record<TrendMark['kind'], string>> = {
  slower: '▲',
  faster: '▼',
  environment: '┼',
  baseline: '┴',
};

function markLines({ steps, unit, marks }: TrendSeries, { style, columns }: Look): string[] {
  const labels = stepLabels(steps, unit);
  const paint = { slower: style.bad, faster: style.good, environment: style.warn, baseline: style.dim };
  const words = { slower: 'level ', faster: 'level ', environment: '', baseline: 'baseline ' };
  return marks.flatMap(({ step, kind, text }) => {
    const line = `${SIGNS[kind]} ${labels[step] ?? ''} ${words[kind]}${printable(text)}`;
    return wrapHanging(line, columns, 2).map(paint[kind]);
  });
}

/** `first 0.4119, last 0.4774 ms: +15.9 %`. */
function changeLine(steps: readonly TrendStep[], measure: string): string {
  const values = steps.flatMap(({ value }) => value ?? []);
  const [first] = values;
  const last = values.at(-1);
  if (first === undefined || last === undefined) return '';
  const change = formatPercent((last / first - 1) * 100);
  return `first ${formatNumber(first)}, last ${formatNumber(last)} ${measure}: ${change}`;
}

const MARKS = 'abcdefghijklmnopqrstuvwxyz';

function togetherText({ series, provenance, height }: TrendReport, look: Look): string[] {
  const { style } = look;
  const styles = [style.accent, style.good, style.warn, style.bad, style.strong, style.dim];
  const ids = [...new Set(series.flatMap(({ steps }) => steps.map(({ id }) => id)))];
  const unit = series[0]?.unit ?? 'run';
  const lines = series.map(({ steps }, index) => {
    const first = steps.find(({ value }) => value !== null)?.value ?? 1;
    const byId = new Map(steps.map(({ id, value }) => [id, value]));
    return {
      values: ids.map((id) => {
        const value = byId.get(id) ?? null;
        return value === null ? null : (value / first - 1) * 100;
      }),
      style: styles[index % styles.length] ?? style.accent,
      mark: MARKS[index % MARKS.length] ?? '?',
    };
  });
  const [steps = []] = series.map((entry) => entry.steps);
  const chart = renderLineChart({
    series: lines,
    labels: stepLabels(steps.length === ids.length ? steps : ids.map(bareStep), unit),
    ticks: ticksOf(steps, unit),
    signs: new Map(),
    format: (value) => formatPercent(value),
    height,
    look,
  });
  const legend = series.map(({ cell }, index) =>
    (lines[index]?.style ?? style.accent)(
      `${lines[index]?.mark ?? ''}── ${truncate(printable(cellLabel(cell)), look.columns - 4)}`,
    ),
  );
  const title = `change from each cell's first value · by ${unit} · ${provenance}`;
  return [style.strong(truncate(title, look.columns)), ...chart, ...legend];
}

function bareStep(id: string): TrendStep {
  return { id, sweepId: null, value: null, runs: 0 };
}

function sparkTable({ series, provenance }: TrendReport, look: Look): string[] {
  const right = 'right' as const;
  const valuesOf = ({ steps }: TrendSeries): number[] => steps.flatMap(({ value }) => value ?? []);
  const title = `${series.length} cells · by ${series[0]?.unit ?? 'run'} · ${provenance}`;
  const { columns, caption } = cellColumns(series, ({ cell }) => cell);
  const table = renderTable<TrendSeries>(
    [
      ...columns,
      { header: 'flags', text: barredText, style: () => look.style.bad, minWidth: 10 },
      { header: 'first', text: (row) => formatNumber(valuesOf(row)[0] ?? null), align: right, dropRank: 2 },
      { header: 'last', text: (row) => formatNumber(valuesOf(row).at(-1) ?? null), align: right, dropRank: 1 },
      { header: '', text: ({ metric }) => metricOf(metric).unit, dropRank: 3 },
      {
        header: 'change',
        text: (row) => {
          const values = valuesOf(row);
          const [first] = values;
          const last = values.at(-1);
          return first === undefined || last === undefined ? '' : formatPercent((last / first - 1) * 100);
        },
        align: right,
      },
      {
        header: 'trend',
        text: ({ steps }) =>
          sparkline(
            steps.map(({ value }) => value),
            SPARK_WIDTH,
          ),
        style: () => look.style.accent,
        dropRank: 4,
      },
    ],
    series,
    look,
  );
  table.push(...captionLines(caption, look));
  return [look.style.strong(truncate(title, look.columns)), ...table];
}

const SHORT_ID = 8;

function stepLabels(steps: readonly TrendStep[], unit: TrendUnit): string[] {
  switch (unit) {
    case 'night':
      return steps.map(({ id }) => id.slice(5));
    case 'commit':
      return steps.map(({ id }) => (id === 'no commit' ? id : id.slice(0, SHORT_ID)));
    case 'sweep':
    case 'run':
      return steps.map(({ sweepId }) => (sweepId ?? '').slice(0, SHORT_ID));
  }
}

/** Where a new sweep begins; for whole nights and commits every label is tried instead. */
function ticksOf(steps: readonly TrendStep[], unit: TrendUnit): Set<number> {
  if (unit !== 'run') return new Set();
  const starts = steps.flatMap(({ sweepId }, step) => (sweepId === steps[step - 1]?.sweepId ? [] : [step]));
  return new Set(starts);
}
