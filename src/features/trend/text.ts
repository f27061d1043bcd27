import type { TrendMark, TrendStep, TrendUnit } from '../../judge/trend.ts';
import type { KeyedCell } from '../../records/cell.ts';
import { metricOf } from '../../records/metric.ts';
import { printable } from '../../text/printable.ts';
import type { Provenance } from '../../records/sweep.ts';
import { FLAG_LABELS } from '../../records/run-flag.ts';
import { cellTable, withCells } from '../../terminal/cell-columns.ts';
import { renderLineChart, sparkline } from '../../terminal/charts/line-chart.ts';
import type { TrendOutput, TrendSeries } from './output.ts';
import type { Look } from '../../terminal/look.ts';
import { formatNumber, formatPercent } from '../../terminal/numbers.ts';
import { truncate, wrapHanging } from '../../terminal/text-width.ts';

/** Shown in the text, not part of `--json`. */
interface TrendDetails {
  readonly cells: ReadonlyMap<string, KeyedCell>;
  readonly together: boolean;
  readonly height: number;
}

/** This many cells get a chart each; more become a line each. */
const MAX_CHARTS = 4;
const SPARK_WIDTH = 32;

export function trendText(output: TrendOutput, { cells, height, together }: TrendDetails, look: Look): string[] {
  if (together) return togetherText(output, height, look);
  if (output.cells.length > MAX_CHARTS) return sparkTable(output, cells, look);
  return output.cells.flatMap((series, place) => [
    ...(place === 0 ? [] : ['']),
    ...chartOf(series, output.provenance, height, look),
  ]);
}

function ineligibleText({ barred }: Pick<TrendSeries, 'barred'>): string {
  return barred.length === 0 ? '' : `✗ ${barred.map((id) => FLAG_LABELS[id]).join(', ')}`;
}

function chartOf(series: TrendSeries, provenance: Provenance, height: number, look: Look): string[] {
  const { metric, unit, by, points, marks } = series;
  const { label } = metricOf(metric);
  const warning = ineligibleText(series);
  const title = `${printable(series.label)} · ${label}, ${unit} · by ${by} · ${provenance}${warning === '' ? '' : ` · ${warning}`}`;
  const chart = renderLineChart({
    series: brokenLine(points, marks).map((values) => ({ values, style: look.style.accent })),
    labels: pointLabels(points, by),
    ticks: ticksOf(points, by),
    // The first mark of a step wins.
    signs: new Map(marks.toReversed().map(({ step, kind }) => [step, SIGNS[kind]])),
    format: formatNumber,
    height,
    look,
  });
  return [
    ...wrapHanging(title, look.columns, 2).map(warning === '' ? look.style.strong : look.style.bad),
    ...chart,
    changeLine(points, unit),
    ...markLines(series, look),
  ];
}

/** A line per machine; gaps where another one measured. */
function brokenLine(points: readonly TrendStep[], marks: readonly TrendMark[]): (number | null)[][] {
  const breaks = marks.filter(({ breaksLine }) => breaksLine).map(({ step }) => step);
  const edges = [0, ...breaks, points.length];
  return edges
    .slice(1)
    .map((end, piece) => points.map(({ value }, step) => (step >= (edges[piece] ?? 0) && step < end ? value : null)));
}

const SIGNS: Readonly<Record<TrendMark['kind'], string>> = {
  slower: '▲',
  faster: '▼',
  environment: '┼',
  baseline: '┴',
};

function markLines({ points, by, marks }: TrendSeries, { style, columns }: Look): string[] {
  const labels = pointLabels(points, by);
  const paint = { slower: style.bad, faster: style.good, environment: style.warn, baseline: style.dim };
  const words = { slower: 'level ', faster: 'level ', environment: '', baseline: 'baseline ' };
  return marks.flatMap(({ step, kind, text }) => {
    const line = `${SIGNS[kind]} ${labels[step] ?? ''} ${words[kind]}${printable(text)}`;
    return wrapHanging(line, columns, 2).map(paint[kind]);
  });
}

/** The first and the last value; null where nothing was measured. */
function endsOf(points: readonly TrendStep[]) {
  const values = points.flatMap(({ value }) => value ?? []);
  const [first] = values;
  const last = values.at(-1);
  if (first === undefined || last === undefined) return null;
  return { first, last, change: formatPercent((last / first - 1) * 100) };
}

/** `first 0.4119, last 0.4774 ms: +15.9 %`. */
function changeLine(points: readonly TrendStep[], unit: string): string {
  const ends = endsOf(points);
  return ends === null
    ? ''
    : `first ${formatNumber(ends.first)}, last ${formatNumber(ends.last)} ${unit}: ${ends.change}`;
}

const MARKS = 'abcdefghijklmnopqrstuvwxyz';

function togetherText({ cells: series, provenance }: TrendOutput, height: number, look: Look): string[] {
  const { style } = look;
  const styles = [style.accent, style.good, style.warn, style.bad, style.strong, style.dim];
  const ids = [...new Set(series.flatMap(({ points }) => points.map(({ id }) => id)))];
  const by = series[0]?.by ?? 'run';
  const lines = series.map(({ points }, index) => {
    const first = points.find(({ value }) => value !== null)?.value ?? 1;
    const byId = new Map(points.map(({ id, value }) => [id, value]));
    return {
      values: ids.map((id) => {
        const value = byId.get(id) ?? null;
        return value === null ? null : (value / first - 1) * 100;
      }),
      style: styles[index % styles.length] ?? style.accent,
      mark: MARKS[index % MARKS.length] ?? '?',
    };
  });
  const [points = []] = series.map((entry) => entry.points);
  const chart = renderLineChart({
    series: lines,
    labels: pointLabels(
      points.length === ids.length ? points : ids.map((id) => ({ id, sweepId: null, value: null, runs: 0 })),
      by,
    ),
    ticks: ticksOf(points, by),
    signs: new Map(),
    format: (value) => formatPercent(value),
    height,
    look,
  });
  const legend = series.map(({ label }, index) =>
    (lines[index]?.style ?? style.accent)(
      `${lines[index]?.mark ?? ''}── ${truncate(printable(label), look.columns - 4)}`,
    ),
  );
  const title = `change from each cell's first value · by ${by} · ${provenance}`;
  return [style.strong(truncate(title, look.columns)), ...chart, ...legend];
}

function sparkTable(
  { cells: all, provenance }: TrendOutput,
  cells: ReadonlyMap<string, KeyedCell>,
  look: Look,
): string[] {
  const series = withCells(all, cells);
  const right = 'right' as const;
  const title = `${series.length} cells · by ${series[0]?.by ?? 'run'} · ${provenance}`;
  const table = cellTable<TrendSeries & { readonly cell: KeyedCell }>(
    series,
    [
      { header: 'flags', text: ineligibleText, style: () => look.style.bad, minWidth: 10 },
      { header: 'first', text: (row) => formatNumber(endsOf(row.points)?.first ?? null), align: right, dropRank: 2 },
      { header: 'last', text: (row) => formatNumber(endsOf(row.points)?.last ?? null), align: right, dropRank: 1 },
      { header: '', text: ({ unit }) => unit, dropRank: 3 },
      { header: 'change', text: (row) => endsOf(row.points)?.change ?? '', align: right },
      {
        header: 'trend',
        text: ({ points }) =>
          sparkline(
            points.map(({ value }) => value),
            SPARK_WIDTH,
          ),
        style: () => look.style.accent,
        dropRank: 4,
      },
    ],
    look,
  );
  return [look.style.strong(truncate(title, look.columns)), ...table];
}

const SHORT_ID = 8;

function pointLabels(points: readonly TrendStep[], by: TrendUnit): string[] {
  switch (by) {
    case 'night':
      return points.map(({ id }) => id.slice(5));
    case 'commit':
      return points.map(({ id }) => (id === 'no commit' ? id : id.slice(0, SHORT_ID)));
    case 'sweep':
    case 'run':
      return points.map(({ sweepId }) => (sweepId ?? '').slice(0, SHORT_ID));
  }
}

/** At starts of sweeps; for sweeps and commits every label is tried. */
function ticksOf(points: readonly TrendStep[], by: TrendUnit): Set<number> {
  if (by !== 'run') return new Set();
  const starts = points.flatMap(({ sweepId }, step) => (sweepId === points[step - 1]?.sweepId ? [] : [step]));
  return new Set(starts);
}
