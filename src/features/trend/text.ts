import * as z from 'zod';

import { judgedCellSchema } from '../../judge/gate/evidence.ts';
import { TREND_UNITS, type TrendStep, trendMarkSchema, trendStepSchema } from '../../judge/trend.ts';
import type { KeyedCell } from '../../records/cell.ts';
import { metricOf } from '../../records/metric.ts';
import { aboutCell, outputOfVersion, provenance as provenanceSchema } from '../../records/output-parts.ts';
import type { OutputOf } from '../../records/output-parts.ts';
import { FLAG_LABELS, RUN_FLAGS } from '../../records/outcome.ts';
import { withCells } from '../../terminal/cell-columns.ts';
import { type Look, dotted, wrapHanging } from '../../terminal/look.ts';
import { count, dayText, directionWord, formatPercent } from '../../terminal/numbers.ts';
import { printable } from '../../text/printable.ts';
import type { TrendOptions } from './command.ts';
import { type CellRow, cellChart, cellRows, countsText, levelText, worstFirst } from '../check/index.ts';

/** Maximum number of cells with a chart each; of more cells, each gets a line. */
const MAX_CHARTS = 4;

export function trendText(
  output: TrendOutput,
  cells: ReadonlyMap<string, KeyedCell>,
  { height, together }: Pick<TrendOptions, 'height' | 'together'>,
  look: Look,
): string[] {
  if (together === true || output.cells.length > MAX_CHARTS) return rowsText(output, cells, look);
  return output.cells.flatMap((series, place) => {
    const { by, label, metric } = series;
    const title = [printable(label), metricOf(metric).label, `by ${by}`, output.provenance, flagsText(series)];
    const style = series.barred.length === 0 ? look.style.strong : look.style.bad;
    const gap = place === 0 ? [] : [''];
    return [...gap, ...wrapHanging(dotted(title), look.columns, 2).map(style), ...chartOf(series, height, look)];
  });
}

function flagsText({ barred }: Pick<TrendSeries, 'barred'>): string {
  return barred.length === 0 ? '' : `✗ ${barred.map((id) => FLAG_LABELS[id]).join(', ')}`;
}

function valuesOf({ points }: TrendSeries) {
  return points.map(({ value }) => value);
}

function chartOf(series: TrendSeries, height: number, look: Look): string[] {
  const { by, marks, points } = series;
  const named = marks.map(({ text, ...mark }) => {
    const isNamed = mark.kind !== 'bound' && mark.kind !== 'environment';
    return { ...mark, text: isNamed ? `${directionWord(mark.kind, series.unit)} ${text}` : text };
  });
  const chart = { ...series, values: valuesOf(series), labels: labelsOf(points, by), marks: named, height };
  const { legend, lines } = cellChart(chart, look);
  const { strip } = series;
  const what = strip && metricOf(strip.metric).label;
  const has = strip?.values.some((value) => value !== null) === true;
  return [
    ...lines,
    ...(what === undefined ? [] : [look.style.dim(has ? `below: ${what}` : `no run has ${what}`)]),
    ...wrapHanging(changeLine(series), look.columns, 2),
    ...wrapHanging(legend.join(' · '), look.columns, 2).map(look.style.dim),
  ];
}

/** `slower: +5.3 % from 0.4780 ms, now 0.5031 ms`. */
function changeLine(series: TrendSeries): string {
  const { before, changePercent, now, verdict } = series;
  if (now === null) return verdict === 'noResult' ? 'no result in the newest sweep' : '';
  const newest = `newest sweep ${levelText(series, now)}`;
  if (before === null) return newest;
  const level = levelText(series, before);
  const change = formatPercent(changePercent);
  if (verdict === null) return `${newest}, previous sweep ${level}: change of the mean ${change}`;
  return `${verdict}: ${change} from ${level}, now ${levelText(series, now)}`;
}

/** One line per cell, as in `bench check`. */
function rowsText({ cells: all, provenance }: TrendOutput, cells: ReadonlyMap<string, KeyedCell>, look: Look) {
  const rows = withCells(all, cells).map((row): CellRow => ({ ...row, values: valuesOf(row), flags: flagsText(row) }));
  const metrics = [...new Set(all.map(({ metric }) => metricOf(metric).label))];
  const units = [...new Set(all.map(({ by }) => by))];
  const title = dotted([count(rows.length, 'cell'), metrics.join(', '), `by ${units.join(', ')}`, provenance]);
  const isCut = all.some(({ strip }) => strip !== undefined);
  const steps = units.length === 1 ? `${units.join('')}s` : 'steps';
  return [
    ...wrapHanging(title, look.columns, 2).map(look.style.strong),
    ...(rows.every(({ verdict }) => verdict === null) ? [] : countsText(rows, null, look)),
    ...cellRows(worstFirst(rows), rows, steps, look),
    ...(isCut ? [look.style.dim(`--with is drawn below charts: name at most ${MAX_CHARTS} cells`)] : []),
  ];
}

const SHORT_ID = 8;
const ENOUGH_DATES = 3;

/**
 * Labels of steps: dates if there are enough different ones, else IDs. With runs as steps, only the first run of each
 * sweep has a label.
 */
function labelsOf(points: readonly TrendStep[], by: TrendSeries['by']): string[] {
  const hasDates = new Set(points.flatMap(({ startedAt }) => startedAt?.slice(0, 10) ?? [])).size >= ENOUGH_DATES;
  return points.map(({ id, sweepId, startedAt }, step) => {
    if (by === 'commit') return id === 'no commit' ? id : id.slice(0, SHORT_ID);
    if (by === 'day') return dayText(id);
    if (by === 'run' && sweepId === points[step - 1]?.sweepId) return '';
    return (hasDates ? dayText(startedAt) : '') || (sweepId ?? '').slice(0, SHORT_ID);
  });
}

const { shape: judged } = judgedCellSchema;

export const trend = outputOfVersion(2, 'bench trend --json', {
  provenance: provenanceSchema,
  cells: z.array(
    z.strictObject({
      ...aboutCell,
      by: z.enum(TREND_UNITS),
      points: z.array(trendStepSchema),
      marks: z.array(trendMarkSchema),
      verdict: judged.verdict.nullable().describe('Verdict of `check`; null if it does not judge this metric'),
      reason: judged.reason,
      before: z.number().nullable().describe('Reference level; value of the previous sweep if `check` does not judge'),
      now: z.number().nullable().describe('Value of the newest sweep'),
      changePercent: z.number().nullable().describe('Same as in `check`'),
      strip: z
        .strictObject({ metric: aboutCell.metric, unit: aboutCell.unit, values: z.array(z.number().nullable()) })
        .exactOptional()
        .describe('Values of --with, one per point; null without a value'),
      barred: z.array(z.enum(RUN_FLAGS)).describe('Flags of the newest run that bar it as a baseline'),
    }),
  ),
});

export type TrendOutput = OutputOf<typeof trend>;

export type TrendSeries = TrendOutput['cells'][number];
