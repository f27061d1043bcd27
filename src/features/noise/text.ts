import type { NoisyCell } from './assess-noise.ts';
import type { FalseAlarms } from './false-alarms.ts';
import { MOST_REPEATS } from './visible-change.ts';
import { printable } from '../../text/printable.ts';
import { captionLines, cellColumns } from '../../terminal/cell-columns.ts';
import type { Look } from '../../terminal/look.ts';
import {
  effortWords,
  isUnattainable,
  noiseHeadline,
  noiseNotes,
  type NoiseReport,
  percentRange,
  percentText,
} from './words.ts';
import { buildTable } from './builds-text.ts';
import { stateTable } from './states-text.ts';
import { count } from '../../terminal/numbers.ts';
import { renderTable } from '../../terminal/table.ts';
import { wrapWords } from '../../terminal/text-width.ts';

const right = 'right' as const;

export function noiseText(report: NoiseReport, look: Look): string[] {
  const { noise } = report;
  const { style, columns } = look;
  const effort = effortWords(report);
  const notes = noiseNotes(report);
  return [
    ...wrapWords(noiseHeadline(report), columns).map(style.strong),
    ...wrapWords(aboutLine(report), columns),
    ...(report.note === null ? [] : wrapWords(report.note, columns).map(style.dim)),
    ...alarmTable(report, look),
    ...cellTable(report, look),
    ...stateTable(noise.cells, look),
    ...buildTable(report.builds, look),
    ...(effort === null ? [] : ['', ...wrapWords(effort, columns)]),
    ...(notes.length === 0 ? [] : ['']),
    ...notes.flatMap((note) => wrapWords(note, columns).map(style.dim)),
  ];
}

function aboutLine({ sweep, first, sweeps, noise }: NoiseReport): string {
  const [from, to] = [first, sweep].map(({ startedAt }) => startedAt?.slice(0, 10) ?? '');
  return [
    printable(sweep.matrix ?? sweep.name ?? ''),
    printable(sweep.branch ?? ''),
    sweep.provenance,
    count(noise.cells.length, 'cell'),
    count(sweeps, 'sweep'),
    from === to ? (from ?? '') : `${from} to ${to}`,
  ]
    .filter((part) => part !== '')
    .join(' · ');
}

interface AlarmRow {
  readonly what: string;
  readonly alarms: FalseAlarms;
}

function alarmTable({ noise }: NoiseReport, look: Look): string[] {
  const { halves, neighbours } = noise.falseAlarms;
  const rows: AlarmRow[] = [
    { what: 'within', alarms: halves },
    { what: 'between', alarms: neighbours },
  ].filter(({ alarms }) => alarms.comparisons > 0);
  if (rows.length === 0) return [];
  return [
    '',
    ...renderTable<AlarmRow>(
      [
        { header: 'A/A', text: ({ what }) => what },
        { header: 'comparisons', text: ({ alarms }) => String(alarms.comparisons), align: right, dropRank: 2 },
        { header: 'cells', text: ({ alarms }) => String(alarms.cells), align: right, dropRank: 3 },
        { header: 'false', text: ({ alarms }) => String(alarms.calls), align: right },
        { header: 'of cells (95 %)', text: ({ alarms }) => shareText(alarms.ofCells), align: right },
        {
          header: 'of matrices (95 %)',
          text: ({ alarms }) => shareText(alarms.ofComparisons),
          align: right,
          dropRank: 1,
        },
      ],
      rows,
      look,
    ),
  ];
}

function shareText(of: FalseAlarms['ofCells']): string {
  return of === null ? '' : `${percentText(of.percent)} (${percentRange(...of.ciPercent)})`;
}

const SHOWN_CELLS = 24;

/** The noisiest first; cells of which nothing is known are left out. */
function cellTable({ noise, wantPercent }: NoiseReport, look: Look): string[] {
  const known = noise.cells.filter((cell) => weightOf(cell) >= 0);
  if (known.length === 0) return [];
  const noisiest = known.toSorted((a, b) => weightOf(b) - weightOf(a));
  const shown = noisiest.slice(0, SHOWN_CELLS);
  const about = cellColumns(shown, ({ cell }) => cell);
  const table = renderTable<NoisyCell>(
    [
      ...about.columns,
      { header: 'runs', text: ({ runs }) => String(runs), align: right, dropRank: 4 },
      { header: 'run ±', text: (row) => percentOrNothing(row.runPercent), align: right, dropRank: 2 },
      { header: 'night ±', text: (row) => percentOrNothing(row.nightPercent), align: right, dropRank: 3 },
      { header: 'larger', text: ({ larger }) => larger ?? '', dropRank: 5 },
      { header: 'sees', text: (row) => percentOrNothing(row.visiblePercent), align: right },
      { header: `for ${wantPercent} %`, text: (row) => repeatsText(row, wantPercent), align: right, dropRank: 1 },
    ],
    shown,
    look,
  );
  const more = noisiest.length - shown.length;
  return [
    '',
    ...table,
    ...captionLines(about.caption, look),
    ...(more > 0 ? [look.style.dim(`and ${more} quieter: --json has all`)] : []),
  ];
}

function percentOrNothing(percent: number | null): string {
  return percent === null ? '–' : percentText(percent);
}

function weightOf({ visiblePercent, nightPercent }: NoisyCell): number {
  return visiblePercent ?? (nightPercent === null ? -1 : nightPercent / 1e6);
}

function repeatsText(cell: NoisyCell, wantPercent: number): string {
  const { runPercent, repeatsWanted } = cell;
  if (runPercent === null) return '–';
  if (isUnattainable(cell, wantPercent)) return 'never';
  return repeatsWanted === null ? `>${MOST_REPEATS} runs` : `${repeatsWanted} runs`;
}
