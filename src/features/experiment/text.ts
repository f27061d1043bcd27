import type { KeyedCell } from '../../records/cell.ts';
import { metricOf } from '../../records/metric.ts';
import { printable } from '../../text/printable.ts';
import { FLAG_LABELS, type RunFlag } from '../../records/run-flag.ts';
import { captionLines, cellColumns, withCells } from '../../terminal/cell-columns.ts';
import type { AbOutput } from './output.ts';
import type { Look, Style } from '../../terminal/look.ts';
import { count, formatNumber, formatPercent, intervalText } from '../../terminal/numbers.ts';
import { type Column, renderTable } from '../../terminal/table.ts';
import { wrapHanging } from '../../terminal/text-width.ts';

/** What the text shows and `--json` does not print. */
export interface AbDetails {
  /** Those of A, by their keys. */
  readonly cells: ReadonlyMap<string, KeyedCell>;
  /** What bars the runs of B from baselines. */
  readonly marks: readonly RunFlag[];
  /** How many of the notes are of the experiment itself: they come first. */
  readonly ownNotes: number;
}

type AbRow = AbOutput['cells'][number] & { readonly cell: KeyedCell };

type Judgement = AbOutput['overall'];

type AbVerdict = Judgement['verdict'];

export function abText(ab: AbOutput, { cells, marks, ownNotes }: AbDetails, look: Look): string[] {
  const { columns, style } = look;
  const { name, notes, overall, state } = ab;
  const wrapped = (text: string): string[] => wrapHanging(text, columns, 2);
  return [
    ...wrapped(`${printable(name)}: B with ${settingsText(ab)}, A as it is`).map(style.strong),
    ...wrapped(aboutText(ab)).map(style.dim),
    ...(state === 'finished' ? [] : [style.warn(`this sweep is ${state}`)]),
    '',
    ...tableOf(withCells(ab.cells, cells), look),
    ...ab.cells.flatMap(({ label, reasons }) =>
      reasons.length === 0
        ? []
        : wrapped(`  ${printable(label)}: ${reasons.map(printable).join('; ')}`).map(style.warn),
    ),
    '',
    ...wrapped(`threshold ${thresholdText(ab)}: ${overallText(ab)}`).map(styleOf(overall.verdict, style)),
    ...marks.flatMap(({ evidence, id }) =>
      wrapped(`✗ B is marked ${FLAG_LABELS[id]}: ${printable(evidence)}`).map(style.bad),
    ),
    ...(marks.length === 0 ? [] : wrapped('  never a baseline, never in the gate, never the best')),
    ...notes.slice(ownNotes).flatMap((note) => wrapped(`note: ${printable(note)}`).map(style.warn)),
    ...notes.slice(0, ownNotes).flatMap((note) => wrapped(`note: ${printable(note)}`).map(style.dim)),
  ];
}

function settingsText({ variables }: AbOutput): string {
  return Object.entries(variables)
    .map(([name, value]) => printable(`${name}=${value}`))
    .join(' ');
}

/** `sweep 1a2b3c4d · moe · measured · command 1.2.0`. */
function aboutText({ matrix, provenance, sweepId, tensorrt, versions }: AbOutput): string {
  return [
    `sweep ${sweepId.slice(0, 8)}`,
    printable(matrix ?? ''),
    provenance,
    tensorrt === null ? '' : `TensorRT ${printable(tensorrt)}`,
    ...versions.map(({ harness, version }) => printable(`${harness} ${version ?? '(no version)'}`)),
  ]
    .filter((part) => part !== '')
    .join(' · ');
}

function thresholdText({ significantPercent }: AbOutput): string {
  return `${formatNumber(significantPercent, 3).replace(/\.?0+$/, '')} %`;
}

function tableOf(cells: readonly AbRow[], look: Look): string[] {
  const right = 'right' as const;
  const about = cellColumns(cells, ({ cell }) => cell);
  const metrics = new Set(cells.map(({ metric }) => metric));
  const columns: Column<AbRow>[] = [
    ...about.columns,
    {
      header: 'metric',
      text: ({ metric }) => (metrics.size > 1 ? printable(metricOf(metric).label) : ''),
      minWidth: 6,
    },
    { header: 'A', text: (row) => valueText(row, row.a), align: right, dropRank: 2 },
    { header: 'B', text: (row) => valueText(row, row.b), align: right, dropRank: 2 },
    { header: 'B is better by', short: 'gain', text: ({ gainPercent }) => gainText(gainPercent), align: right },
    { header: '95 % interval', text: ({ ciPercent }) => intervalText(ciPercent), align: right, dropRank: 1 },
    { header: 'runs', text: ({ runs }) => runs.join('/'), align: right, dropRank: 3 },
    { header: 'verdict', text: verdictText, style: ({ verdict }) => styleOf(verdict, look.style) },
  ];
  return [...renderTable(columns, cells, look), ...captionLines(about.caption, look)];
}

function valueText({ unit }: AbRow, value: number | null): string {
  return value === null ? '–' : `${formatNumber(value)} ${printable(unit)}`;
}

function gainText(gainPercent: number | null): string {
  return formatPercent(gainPercent);
}

function verdictText({ ciPercent, moreRepeats, verdict }: Judgement): string {
  switch (verdict) {
    case 'significant':
      return 'significant: a bottleneck';
    case 'notABottleneck':
      return ciPercent !== null && ciPercent[1] < 0 ? 'not a bottleneck: B is worse' : 'not a bottleneck';
    case 'unclear':
      return moreRepeats === null ? 'unclear' : `unclear, ${moreText(moreRepeats)}`;
    case 'failed':
      return 'no result';
  }
}

function moreText(moreRepeats: number): string {
  return `${count(moreRepeats, 'more repeat')} a side would settle it`;
}

function styleOf(verdict: AbVerdict, style: Style): (text: string) => string {
  switch (verdict) {
    case 'significant':
      return style.bad;
    case 'notABottleneck':
      return style.good;
    default:
      return style.warn;
  }
}

function overallText({ cells, overall }: AbOutput): string {
  const counted = cells.filter(({ verdict }) => verdict !== 'failed').length;
  const size =
    overall.ciPercent === null
      ? ''
      : ` (${gainText(overall.gainPercent)}, 95 % interval ${intervalText(overall.ciPercent)})`;
  if (cells.length === 1) return `${verdictText(overall)}${size}`;
  const of = (verdict: AbVerdict, words: string): string => {
    const number = cells.filter((cell) => cell.verdict === verdict).length;
    return number === 0 ? '' : `${number} ${words}`;
  };
  const each = [
    of('significant', 'significant'),
    of('notABottleneck', 'no bottleneck'),
    of('unclear', 'unclear'),
    of('failed', 'without a result'),
  ].filter((part) => part !== '');
  return `${verdictText(overall)}${size} in the mean of ${count(counted, 'cell')}: ${each.join(', ')}`;
}
