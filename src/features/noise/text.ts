import type { KeyedCell } from '../../records/cell.ts';
import type { Sweep } from '../../records/sweep.ts';
import { median } from '../../statistics/median.ts';
import { cellTable, withCells } from '../../terminal/cell-columns.ts';
import type { Look } from '../../terminal/look.ts';
import { count, formatNumber } from '../../terminal/numbers.ts';
import { dotted, wrapWords } from '../../terminal/text-width.ts';
import { printable } from '../../text/printable.ts';
import { type NoiseOutput, type NoisyCell, SHOWN_RUNS } from './output.ts';

/** Shown in the text, not part of `--json`. */
export interface NoiseDetails {
  readonly sweep: Sweep;
  readonly first: Sweep;
  /** How the series was chosen when none was named; else null. */
  readonly note: string | null;
  readonly cells: ReadonlyMap<string, KeyedCell>;
}

export function noiseText(noise: NoiseOutput, details: NoiseDetails, look: Look): string[] {
  const { style, columns } = look;
  return [
    ...wrapWords(headline(noise.cells), columns).map(style.strong),
    ...wrapWords(aboutLine(noise, details), columns),
    ...(details.note === null ? [] : wrapWords(details.note, columns).map(style.dim)),
    ...noiseTable(withCells(noise.cells, details.cells), look),
    ...(noise.notes.length === 0 ? [] : ['']),
    ...noise.notes.flatMap((note) => wrapWords(note, columns).map(style.dim)),
  ];
}

/** Runs a sweep that the first line speaks of. */
const TYPICAL_RUNS = 3;

function headline(cells: readonly NoisyCell[]): string {
  const percents = cells.flatMap((cell) => visibleWith(cell, TYPICAL_RUNS) ?? []);
  const typical = median(percents);
  if (typical === null) return 'the noise of runs is not known yet: no cell has two runs in a sweep';
  const [least, most] = [Math.min(...percents), Math.max(...percents)].map((percent) => formatNumber(percent, 2));
  const range = least === most ? '' : ` (${least} to ${most} %)`;
  return `${TYPICAL_RUNS} runs of each side show a change of ${percentText(typical)} in a typical cell${range}`;
}

function visibleWith({ visible }: NoisyCell, runs: number): number | null {
  return visible.find((shown) => shown.runs === runs)?.percent ?? null;
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

const SHOWN_CELLS = 24;

type NoisyRow = NoisyCell & { readonly cell: KeyedCell };

/** Noisiest first, without cells of unknown noise. */
function noiseTable(cells: readonly NoisyRow[], look: Look): string[] {
  const right = 'right' as const;
  const known = cells.filter((cell) => weightOf(cell) >= 0).toSorted((a, b) => weightOf(b) - weightOf(a));
  if (known.length === 0) return [];
  const table = cellTable<NoisyRow>(
    known.slice(0, SHOWN_CELLS),
    [
      { header: 'runs', text: ({ runs }) => String(runs), align: right, dropRank: 5 },
      { header: 'run ±', text: (row) => percentText(row.runPercent), align: right, dropRank: 2 },
      { header: 'sweep ±', text: (row) => percentText(row.sweepPercent), align: right, dropRank: 2 },
      ...SHOWN_RUNS.map((runs) => ({
        header: count(runs, 'run'),
        text: (row: NoisyRow) => percentText(visibleWith(row, runs)),
        align: right,
        ...(runs === TYPICAL_RUNS ? {} : { dropRank: 4 }),
      })),
    ],
    look,
  );
  const more = known.length - SHOWN_CELLS;
  const meaning = 'run ±, sweep ±: standard deviations; with N runs: the change that is visible';
  const notes = [meaning, ...(more > 0 ? [`and ${more} quieter: --json has all`] : [])];
  return ['', ...table, ...notes.flatMap((note) => wrapWords(note, look.columns)).map(look.style.dim)];
}

function percentText(percent: number | null): string {
  return percent === null ? '–' : `${formatNumber(percent, 2)} %`;
}

/** By what three runs show, else by what is known. */
function weightOf(cell: NoisyCell): number {
  return visibleWith(cell, TYPICAL_RUNS) ?? (cell.sweepPercent === null ? -1 : cell.sweepPercent / 1e6);
}
