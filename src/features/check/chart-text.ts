import { gatedMetricOf } from '../../records/gated-metric.ts';
import { renderHistoryChart } from '../../terminal/charts/history-chart.ts';
import { dayText } from '../../terminal/charts/day-text.ts';
import type { Look } from '../../terminal/look.ts';
import { wrapHanging } from '../../terminal/text-width.ts';
import { cellLabel } from '../../text/cell-label.ts';
import { printable } from '../../text/printable.ts';
import { levelText } from './change-text.ts';
import type { CheckedFinding } from './output.ts';
import type { SeriesPicture } from './picture.ts';

/** Sweeps of a chart, at most. */
const SHOWN_SWEEPS = 90;
/** Two values are in the text already. */
const LEAST_VALUES = 3;
const HEIGHT = 6;

/** The clearest cell of a finding, with what its levels and its marks are; nothing where it has no history. */
export function chartText(finding: CheckedFinding, picture: SeriesPicture, look: Look): string[] {
  const [clearest] = finding.details;
  const drawn = picture.cells.get(clearest?.key ?? '');
  const values = clearest === undefined ? undefined : drawn?.histories.get(clearest.metric);
  if (clearest === undefined || drawn === undefined || values === undefined) return [];
  if (values.filter((value) => value !== null).length < LEAST_VALUES) return [];
  const from = Math.max(0, picture.sweeps.length - SHOWN_SWEEPS);
  const sweeps = picture.sweeps.slice(from);
  const start = sweeps.findIndex(({ sweepId }) => sweepId === finding.firstBad?.sweepId);
  const changes = [...drawn.changes].flatMap(([place, text]) => (place < from ? [] : [{ step: place - from, text }]));
  const sign = finding.direction === 'slower' ? 'S' : 'F';
  const { columns, style } = look;
  const paint = finding.direction === 'slower' ? style.bad : style.good;
  const chart = renderHistoryChart({
    values: values.slice(from),
    levelStarts: start > 0 ? [start] : [],
    labels: sweeps.map(({ date }) => dayText(date)),
    marks: new Map([
      ...changes.map(({ step }) => [step, 'E'] as const),
      ...(start < 0 ? [] : [[start, paint(sign)] as const]),
    ]),
    format: (value) => levelText(clearest, value),
    styleOf: (level) => (level === 0 ? (text) => text : paint),
    height: HEIGHT,
    look: { ...look, columns: columns - 2 },
  });
  const { label } = gatedMetricOf(clearest.metric);
  const commit = finding.firstBad?.commit?.slice(0, 8);
  const legend = [
    `${printable(cellLabel(drawn.cell))}, ${label}`,
    ...(start < 0 ? [] : [`${sign} ${dayText(sweeps[start]?.date ?? null)} ${commit ?? finding.direction}`]),
    ...changes.map(({ step, text }) => `E ${dayText(sweeps[step]?.date ?? null)} ${printable(text)}`),
  ];
  return [...chart.map((line) => `  ${line}`), ...wrapHanging(`  ${legend.join(' · ')}`, columns, 4).map(style.dim)];
}
