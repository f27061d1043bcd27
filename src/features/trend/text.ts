import type { TrendStep, TrendUnit } from '../../judge/trend.ts';
import type { KeyedCell } from '../../records/cell.ts';
import { metricOf } from '../../records/metric.ts';
import { FLAG_LABELS } from '../../records/run-flag.ts';
import type { Provenance } from '../../records/sweep.ts';
import { median } from '../../statistics/median.ts';
import { cellTable, withCells } from '../../terminal/cell-columns.ts';
import { dayText } from '../../terminal/charts/day-text.ts';
import { renderHistoryChart } from '../../terminal/charts/history-chart.ts';
import { scalePercent, sparkline } from '../../terminal/charts/sparkline.ts';
import type { Look } from '../../terminal/look.ts';
import { formatNumber, formatPercent } from '../../terminal/numbers.ts';
import { wrapHanging } from '../../terminal/text-width.ts';
import { printable } from '../../text/printable.ts';
import type { TrendOutput, TrendSeries } from './output.ts';

/** Shown in the text, not part of `--json`. */
interface TrendDetails {
  readonly cells: ReadonlyMap<string, KeyedCell>;
  readonly together: boolean;
  readonly height: number;
}

/** This many cells get a chart each; more become a line each. */
const MAX_CHARTS = 4;

export function trendText(output: TrendOutput, { cells, height, together }: TrendDetails, look: Look): string[] {
  if (together || output.cells.length > MAX_CHARTS) return rowsText(output, cells, look);
  return output.cells.flatMap((series, place) => [
    ...(place === 0 ? [] : ['']),
    ...chartOf(series, output.provenance, height, look),
  ]);
}

function ineligibleText({ barred }: Pick<TrendSeries, 'barred'>): string {
  return barred.length === 0 ? '' : `✗ ${barred.map((id) => FLAG_LABELS[id]).join(', ')}`;
}

function chartOf(series: TrendSeries, provenance: Provenance, height: number, look: Look): string[] {
  const { by, marks, metric, points } = series;
  const { style, columns } = look;
  const ineligible = ineligibleText(series);
  const parts = [printable(series.label), metricOf(metric).label, `by ${by}`, provenance, ineligible];
  const moves = marks.filter(({ breaksLine, kind }) => breaksLine || kind === 'slower' || kind === 'faster');
  const kinds = [null, ...moves.map(({ kind }) => kind)];
  const chart = renderHistoryChart({
    values: points.map(({ value }) => value),
    levelStarts: moves.length === 0 ? sweepStarts(points) : moves.map(({ step }) => step),
    labels: labelsOf(points, by),
    // The first mark of a step wins.
    marks: new Map(marks.toReversed().map(({ step, kind }) => [step, paintOf(kind, look)(SIGNS[kind])])),
    format: (value) => valueText(series, value),
    styleOf: (level) => paintOf(level === kinds.length - 1 ? (kinds[level] ?? null) : null, look),
    height,
    look,
  });
  return [
    ...wrapHanging(parts.filter((part) => part !== '').join(' · '), columns, 2).map(
      ineligible === '' ? style.strong : style.bad,
    ),
    ...chart,
    ...wrapHanging(changeLine(series), columns, 2),
    ...markLines(series, look),
  ];
}

/** Of few sweeps each is a level of its own. */
function sweepStarts(points: readonly TrendStep[]): number[] {
  const starts = points.flatMap(({ sweepId }, step) => (sweepId === points[step - 1]?.sweepId ? [] : [step]));
  return starts.length < ENOUGH_STEPS ? starts : [];
}

type MarkKind = TrendSeries['marks'][number]['kind'];

const SIGNS: Readonly<Record<MarkKind, string>> = { slower: 'S', faster: 'F', environment: 'E', baseline: 'B' };

function paintOf(kind: MarkKind | null, { style }: Look): (text: string) => string {
  if (kind === null) return (text) => text;
  return { slower: style.bad, faster: style.good, environment: style.warn, baseline: style.dim }[kind];
}

function markLines({ points, by, marks }: TrendSeries, look: Look): string[] {
  const labels = points.map((point) => labelOf(point, by));
  const words = { slower: 'slower, level ', faster: 'faster, level ', environment: '', baseline: 'baseline ' };
  return marks.flatMap(({ step, kind, text }) => {
    const line = `${SIGNS[kind]} ${labels[step] ?? ''} ${words[kind]}${printable(text)}`;
    return wrapHanging(line, look.columns, 2).map(paintOf(kind, look));
  });
}

interface LevelChange {
  readonly now: number;
  /** Null for the only level. */
  readonly before: number | null;
  /** 1 for the only level. */
  readonly ratio: number;
  readonly kind: 'slower' | 'faster' | null;
  readonly since: TrendStep | null;
}

/**
 * The newest level and the one before it; where no change of level is known, the newest sweep and the previous one.
 * @returns null where nothing was measured
 */
function levelChange({ marks, points }: TrendSeries): LevelChange | null {
  const move = marks.findLast(({ kind }) => kind === 'slower' || kind === 'faster');
  if (move !== undefined && (move.kind === 'slower' || move.kind === 'faster')) {
    const start = marks.findLast(({ kind, step }) => (kind === 'slower' || kind === 'faster') && step < move.step);
    const now = medianOf(points.slice(move.step));
    const before = medianOf(points.slice(start?.step ?? 0, move.step));
    return now === null
      ? null
      : { now, before, ratio: before === null ? 1 : now / before, kind: move.kind, since: points[move.step] ?? null };
  }
  const measured = points.filter(({ value }) => value !== null);
  const sweeps = [...new Set(measured.map(({ sweepId }) => sweepId))];
  const [before, now] = [sweeps.at(-2), sweeps.at(-1)].map((id) => measured.filter(({ sweepId }) => sweepId === id));
  const level = medianOf(now ?? []);
  if (level === null) return null;
  const earlier = sweeps.length < 2 ? null : medianOf(before ?? []);
  // The change of two sweeps is that of the means of their runs, as `bench compare` has it.
  const ratio = earlier === null ? 1 : meanOf(now ?? []) / meanOf(before ?? []);
  return { now: level, before: earlier, ratio, kind: null, since: null };
}

function meanOf(points: readonly TrendStep[]): number {
  const values = points.flatMap(({ value }) => value ?? []);
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function medianOf(points: readonly TrendStep[]): number | null {
  return median(points.flatMap(({ value }) => value ?? []));
}

function changeText({ before, ratio }: LevelChange): string {
  return before === null ? '' : formatPercent((ratio - 1) * 100);
}

/** `level 0.5031 ms since 24 Feb, +5.3 % from 0.4780 ms`. */
function changeLine(series: TrendSeries): string {
  const change = levelChange(series);
  if (change === null) return '';
  const { before, now, since } = change;
  if (before === null) return `newest ${valueText(series, now)}`;
  const texts =
    since === null ? ['newest sweep', ', previous sweep'] : ['level', ` since ${labelOf(since, series.by)}, before`];
  return `${texts[0]} ${valueText(series, now)}${texts[1]} ${valueText(series, before)}: ${changeText(change)}`;
}

function valueText({ unit }: TrendSeries, value: number): string {
  return `${formatNumber(value)} ${printable(unit)}`;
}

/** Room of what is left of a row's picture, columns. */
const ROW_COLUMNS = 58;
const LEAST_PICTURE = 12;

/** A line a cell, the largest change first, all on one scale. */
function rowsText(
  { cells: all, provenance }: TrendOutput,
  cells: ReadonlyMap<string, KeyedCell>,
  look: Look,
): string[] {
  const rows = withCells(all, cells)
    .map((row) => ({ ...row, change: levelChange(row) }))
    .toSorted((a, b) => weightOf(b.change) - weightOf(a.change));
  const percent = scalePercent(rows.map(({ change }) => 100 * ((change?.ratio ?? 1) - 1)));
  const longest = Math.max(...rows.map(({ points }) => points.length));
  const width = Math.min(longest, Math.max(LEAST_PICTURE, look.columns - ROW_COLUMNS));
  const metrics = [...new Set(rows.map(({ metric }) => metricOf(metric).label))];
  const units = [...new Set(rows.map(({ by }) => by))];
  const title = [`${rows.length} cells`, metrics.join(', '), `by ${units.join(', ')}`, provenance].join(' · ');
  const table = cellTable<(typeof rows)[number]>(
    rows,
    [
      { header: 'flags', text: ineligibleText, style: () => look.style.bad, minWidth: 10 },
      {
        header: 'now',
        text: (row) => (row.change === null ? '–' : valueText(row, row.change.now)),
        align: 'right',
        dropRank: 2,
      },
      {
        header: 'change',
        text: ({ change, points }) => (change === null ? '' : isSteady(change, points) ? 'steady' : changeText(change)),
        style: ({ change }) => paintOf(change?.kind ?? null, look),
        align: 'right',
      },
      {
        header: width < LEAST_PICTURE ? `±${percent} %` : `last ${width}, ±${percent} %`,
        text: ({ change, points }) =>
          sparkline(
            points.map(({ value }) => value),
            width,
            { level: change?.before ?? null, percent, isAscii: look.isAscii },
          ),
        dropRank: 1,
      },
      { header: '', text: ({ change }) => change?.kind ?? '', dropRank: 3 },
    ],
    look,
  );
  return [...wrapHanging(title, look.columns, 2).map(look.style.strong), ...table];
}

/** A history of this length without a change of level is steady. */
const ENOUGH_STEPS = 8;

function isSteady({ kind }: LevelChange, { length }: readonly TrendStep[]): boolean {
  return kind === null && length >= ENOUGH_STEPS;
}

/** What moved comes first. */
function weightOf(change: LevelChange | null): number {
  const rank = change?.kind === 'slower' ? 2e6 : change?.kind === 'faster' ? 1e6 : 0;
  return rank + Math.abs((change?.ratio ?? 1) - 1);
}

const SHORT_ID = 8;

/** Of runs only the first of each sweep has one. */
function labelsOf(points: readonly TrendStep[], by: TrendUnit): string[] {
  return points.map((point, step) =>
    by === 'run' && point.sweepId === points[step - 1]?.sweepId ? '' : labelOf(point, by),
  );
}

function labelOf({ id, sweepId }: TrendStep, by: TrendUnit): string {
  switch (by) {
    case 'night':
      return dayText(id);
    case 'commit':
      return id === 'no commit' ? id : id.slice(0, SHORT_ID);
    case 'sweep':
    case 'run':
      return (sweepId ?? '').slice(0, SHORT_ID);
  }
}
