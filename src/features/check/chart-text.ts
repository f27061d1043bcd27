import type { TrendMark } from '../../judge/trend.ts';
import { gatedMetricOf, wholeOf } from '../../records/gated-metric.ts';
import { dayText } from '../../terminal/charts/day-text.ts';
import { renderHistoryChart } from '../../terminal/charts/history-chart.ts';
import type { Look } from '../../terminal/look.ts';
import { count } from '../../terminal/numbers.ts';
import { wrapHanging } from '../../terminal/text-width.ts';
import { cellLabel } from '../../text/cell-label.ts';
import { printable } from '../../text/printable.ts';
import type { CellRow } from './cell-rows.ts';
import { levelText } from './change-text.ts';
import { ownClearest } from './finding-words.ts';
import type { CheckedFinding } from './output.ts';
import type { SeriesPicture } from './picture.ts';

type Mark = Pick<TrendMark, 'kind' | 'step' | 'text'> & Partial<Pick<TrendMark, 'breaksLine'>>;

export interface CellChart extends Pick<CellRow, 'metric' | 'unit' | 'values'> {
  /** Of each step; empty where it has none. */
  readonly labels: readonly string[];
  /** In the order of time. */
  readonly marks: readonly Mark[];
  /** Where another level begins, beyond the marks. */
  readonly starts?: readonly number[];
  readonly height?: number;
}

const HEIGHT = 6;
/** Of the environment: more say only that two machines take turns. */
const NAMED_CHANGES = 4;
const SIGNS: Readonly<Record<Mark['kind'], string>> = {
  slower: 'S',
  faster: 'F',
  /** Turned from one bottleneck to another. */
  bound: 'T',
  environment: 'E',
  baseline: 'B',
};

/** A cell over time with its levels, and what each mark on the axis is. */
export function cellChart({ height = HEIGHT, labels, marks, starts = [], values, ...about }: CellChart, look: Look) {
  const moves = marks.filter(({ breaksLine, kind }) => breaksLine === true || kind === 'slower' || kind === 'faster');
  const kinds = [null, ...moves.map(({ kind }) => kind)];
  const lines = renderHistoryChart({
    values,
    levelStarts: moves.length === 0 ? starts : moves.map(({ step }) => step),
    labels,
    // The first mark of a step wins.
    marks: new Map(marks.toReversed().map(({ step, kind }) => [step, paintOf(kind, look)(SIGNS[kind])])),
    format: (value) => levelText(about, value),
    styleOf: (level) => paintOf(level === kinds.length - 1 ? (kinds[level] ?? null) : null, look),
    most: wholeOf(about.metric),
    height,
    look,
  });
  const changes = marks.filter(({ kind }) => kind === 'environment');
  const unnamed = new Set(changes.slice(0, -NAMED_CHANGES));
  const legend = marks
    .filter((mark) => !unnamed.has(mark))
    .map(({ step, kind, text }) => `${SIGNS[kind]} ${labels[step] ?? ''} ${printable(text)}`);
  const earlier = unnamed.size === 0 ? [] : [`E ${count(unnamed.size, 'earlier change')} of the environment`];
  return { lines, legend: [...earlier, ...legend] };
}

function paintOf(kind: Mark['kind'] | null, { style }: Look): (text: string) => string {
  if (kind === null) return (text) => text;
  return { slower: style.bad, faster: style.good, bound: style.warn, environment: style.warn, baseline: style.dim }[
    kind
  ];
}

/** Sweeps of a chart, at most. */
const SHOWN_SWEEPS = 90;
/** Two values are in the text already. */
const LEAST_VALUES = 3;

/**
 * The clearest cell of a finding, with what its levels and its marks are; nothing where it has no history.
 * @param all findings of the series
 */
export function chartText(
  finding: CheckedFinding,
  all: readonly CheckedFinding[],
  picture: SeriesPicture,
  look: Look,
): string[] {
  const clearest = ownClearest(finding, finding.details, all);
  const drawn = picture.cells.get(clearest?.key ?? '');
  const values = clearest === undefined ? undefined : drawn?.valuesOf(clearest.metric);
  if (clearest === undefined || drawn === undefined || values === undefined) return [];
  if (values.filter((value) => value !== null).length < LEAST_VALUES) return [];
  const from = Math.max(0, picture.sweeps.length - SHOWN_SWEEPS);
  const sweeps = picture.sweeps.slice(from);
  const step = sweeps.findIndex(({ sweepId }) => sweepId === finding.firstBad?.sweepId);
  const own: Mark = { kind: finding.direction, step, text: finding.firstBad?.commit?.slice(0, 8) ?? finding.direction };
  const environment = drawn.environmentMarks.map((mark): Mark => ({
    ...mark,
    step: mark.step - from,
    breaksLine: false,
  }));
  const marks = [own, ...environment].filter((mark) => mark.step >= 0).toSorted((a, b) => a.step - b.step);
  const narrow = { ...look, columns: look.columns - 2 };
  const labels = sweeps.map(({ date }) => dayText(date));
  const { legend, lines } = cellChart({ ...clearest, values: values.slice(from), labels, marks }, narrow);
  const about = `${printable(cellLabel(drawn.cell))}, ${gatedMetricOf(clearest.metric).label}`;
  const text = wrapHanging(`  ${[about, ...legend].join(' · ')}`, look.columns, 4);
  return [...lines.map((line) => `  ${line}`), ...text.map(look.style.dim)];
}
