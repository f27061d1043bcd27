import type { KeyedCell } from '../../records/cell.ts';
import type { Sweep } from '../../records/sweep.ts';
import type { NoiseOutput, NoisyCell, BuiltCell } from './output.ts';
import type { FalseAlarms } from './false-alarms.ts';
import { MOST_REPEATS } from './visible-change.ts';
import { printable } from '../../text/printable.ts';
import { cellTable, withCells } from '../../terminal/cell-columns.ts';
import type { Look } from '../../terminal/look.ts';
import { effortWords, isUnattainable, noiseHeadline, percentRange, percentText } from './words.ts';
import { count, formatNumber } from '../../terminal/numbers.ts';
import { renderTable } from '../../terminal/table.ts';
import { dotted, wrapWords } from '../../terminal/text-width.ts';
import type { TwoStates } from './two-states.ts';

const right = 'right' as const;

/** Shown in the text, not part of `--json`. */
export interface NoiseDetails {
  readonly sweep: Sweep;
  readonly first: Sweep;
  /** How the series was chosen when none was named; else null. */
  readonly note: string | null;
  readonly cells: ReadonlyMap<string, KeyedCell>;
}

export function noiseText(noise: NoiseOutput, details: NoiseDetails, look: Look): string[] {
  const { builds, notes, wantPercent } = noise;
  const { style, columns } = look;
  const effort = effortWords(noise);
  const cells = withCells(noise.cells, details.cells);
  return [
    ...wrapWords(noiseHeadline(noise), columns).map(style.strong),
    ...wrapWords(aboutLine(noise, details), columns),
    ...(details.note === null ? [] : wrapWords(details.note, columns).map(style.dim)),
    ...alarmTable(noise.falseAlarms, look),
    ...noisyTable(cells, wantPercent, look),
    ...stateTable(cells, look),
    ...buildTable(withCells(builds, details.cells), look),
    ...(effort === null ? [] : ['', ...wrapWords(effort, columns)]),
    ...(notes.length === 0 ? [] : ['']),
    ...notes.flatMap((note) => wrapWords(note, columns).map(style.dim)),
  ];
}

function aboutLine({ branch, cells, matrix, provenance, sweeps }: NoiseOutput, { sweep, first }: NoiseDetails): string {
  const [from, to] = [first, sweep].map(({ startedAt }) => startedAt?.slice(0, 10) ?? '');
  return dotted([
    printable(matrix ?? sweep.name ?? ''),
    printable(branch ?? ''),
    provenance,
    count(cells.length, 'cell'),
    count(sweeps, 'sweep'),
    from === to ? (from ?? '') : `${from} to ${to}`,
  ]);
}

function alarmTable({ halves, neighbours }: NoiseOutput['falseAlarms'], look: Look): string[] {
  const rows = [
    { what: 'within', alarms: halves },
    { what: 'between', alarms: neighbours },
  ].filter(({ alarms }) => alarms.comparisons > 0);
  if (rows.length === 0) return [];
  return [
    '',
    ...renderTable<(typeof rows)[number]>(
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

/** Noisiest first, without cells of unknown noise. */
function noisyTable(cells: readonly NoisyRow[], wantPercent: number, look: Look): string[] {
  const known = cells.filter((cell) => weightOf(cell) >= 0);
  if (known.length === 0) return [];
  const noisiest = known.toSorted((a, b) => weightOf(b) - weightOf(a));
  const shown = noisiest.slice(0, SHOWN_CELLS);
  const table = cellTable<NoisyRow>(
    shown,
    [
      { header: 'runs', text: ({ runs }) => String(runs), align: right, dropRank: 4 },
      { header: 'run ±', text: (row) => percentOrNothing(row.runPercent), align: right, dropRank: 2 },
      { header: 'sweep ±', text: (row) => percentOrNothing(row.nightPercent), align: right, dropRank: 3 },
      { header: 'larger', text: ({ larger }) => (larger === 'nights' ? 'sweeps' : (larger ?? '')), dropRank: 5 },
      { header: 'detectable', text: (row) => percentOrNothing(row.mdePercent), align: right },
      { header: `for ${wantPercent} %`, text: (row) => repeatsText(row, wantPercent), align: right, dropRank: 1 },
    ],
    look,
  );
  const more = noisiest.length - shown.length;
  return ['', ...table, ...(more > 0 ? [look.style.dim(`and ${more} quieter: --json has all`)] : [])];
}

function percentOrNothing(percent: number | null): string {
  return percent === null ? '–' : percentText(percent);
}

function weightOf({ mdePercent, nightPercent }: NoisyCell): number {
  return mdePercent ?? (nightPercent === null ? -1 : nightPercent / 1e6);
}

function repeatsText(cell: NoisyCell, wantPercent: number): string {
  const { runPercent, repeatsWanted } = cell;
  if (runPercent === null) return '–';
  if (isUnattainable(cell, wantPercent)) return 'never';
  return repeatsWanted === null ? `>${MOST_REPEATS} runs` : `${repeatsWanted} runs`;
}

type BuiltRow = BuiltCell & { readonly cell: KeyedCell };

function buildTable(built: readonly BuiltRow[], look: Look): string[] {
  if (built.length === 0) return [];
  return [
    '',
    look.style.strong(`${count(built.length, 'cell')} with several builds of the same engine`),
    ...cellTable<BuiltRow>(
      built,
      [
        { header: 'builds', text: ({ builds }) => String(builds), align: right },
        { header: 'runs', text: ({ runs }) => String(runs), align: right, dropRank: 3 },
        { header: 'build ±', text: ({ buildPercent }) => percentText(buildPercent), align: right },
        { header: 'run ±', text: ({ runPercent }) => percentText(runPercent), align: right, dropRank: 2 },
        { header: 'p', text: ({ pValue }) => chanceText(pValue), align: right, dropRank: 1 },
        { header: 'differ', text: ({ differ }) => (differ ? 'yes' : 'not seen') },
        { header: 'kernels', text: ({ kernels }) => kernelWords(kernels) },
      ],
      look,
    ),
  ];
}

function chanceText(pValue: number): string {
  return pValue < 1e-4 ? '<0.0001' : formatNumber(pValue, 2);
}

/** `13 of 141 differ`; of several kinds, the two that differ most. */
function kernelWords(kernels: BuiltCell['kernels']): string {
  if (kernels === null) return 'not known';
  const { kinds, layers, otherKernels } = kernels;
  if (kinds === 1) return 'the same';
  const what = otherKernels === null ? 'other layers' : `${otherKernels} of ${layers} differ`;
  return kinds === 2 ? what : `${kinds} kinds, ${what}`;
}

type NoisyRow = NoisyCell & { readonly cell: KeyedCell };

type StateRow = NoisyRow & { readonly states: TwoStates };

function stateTable(cells: readonly NoisyRow[], look: Look): string[] {
  const rows = cells.flatMap((cell): StateRow[] =>
    cell.twoStates === null ? [] : [{ ...cell, states: cell.twoStates }],
  );
  if (rows.length === 0) return [];
  const level = ({ unit, states }: StateRow, which: 0 | 1) => `${formatNumber(states.levels[which])} ${unit}`;
  const share = ({ states }: StateRow, which: 0 | 1) => `${states.sharePercent[which].toFixed(0)} %`;
  return [
    '',
    look.style.strong(`${count(rows.length, 'cell')} in two states`),
    ...cellTable<StateRow>(
      rows,
      [
        { header: 'lower', text: (row) => level(row, 0), align: right, dropRank: 1 },
        { header: 'of runs', text: (row) => share(row, 0), align: right, dropRank: 2 },
        { header: 'upper', text: (row) => level(row, 1), align: right, dropRank: 1 },
        { header: 'of runs', text: (row) => share(row, 1), align: right, dropRank: 2 },
        { header: 'apart', text: ({ states }) => percentText(states.apartPercent), align: right },
        { header: 'visits', text: ({ states }) => states.visits.join(' and '), align: right, dropRank: 3 },
      ],
      look,
    ),
  ];
}
