import { metricOf } from '../../../records/metric.ts';
import { count, formatDecibels, formatNumber, formatPercent, intervalText } from '../../../terminal/numbers.ts';
import { cellTable, withCells } from '../../../terminal/cell-columns.ts';
import type { Look } from '../../../terminal/look.ts';
import type { KeyedCell } from '../../../records/cell.ts';
import type { Column } from '../../../terminal/table.ts';
import { reasonWords, VERDICT_SIGNS } from '../../../terminal/words.ts';
import { printable } from '../../../text/printable.ts';
import { timesText } from './headline.ts';
import type { Pair, UpgradeCell, UpgradeGroup, UpgradeOutput } from './output.ts';

/** One list of columns for the terminal, Markdown and the page; counts are of cells. */
export const GROUP_COLUMNS: readonly Column<UpgradeGroup>[] = [
  { header: 'model', text: ({ model }) => printable(model), minWidth: 10, isIdentity: true },
  { header: 'precision', short: 'prec', text: ({ precision }) => precision, minWidth: 4, isIdentity: true },
  number('cells', ({ cells }) => String(cells), 4),
  { header: 'geometric mean', text: meanText },
  number('faster', ({ faster }) => tally(faster), 1),
  number('slower', ({ slower }) => tally(slower), 0.5),
  number('no engine', ({ buildFailed }) => tally(buildFailed)),
  number('no result', ({ runFailed }) => tally(runFailed), 1),
  number('unclear', ({ unclear }) => tally(unclear), 4),
  number('one side', ({ missing }) => tally(missing), 4),
  number('accuracy', ({ accuracyMoved }) => tally(accuracyMoved), 1),
  number('layers', ({ layersChanged }) => tally(layersChanged), 2),
  number('engine MiB', ({ engineMib }) => sizeText(engineMib), 3),
  number('context MiB', ({ contextMib }) => sizeText(contextMib), 6),
  number('GPU memory MiB', ({ memoryMib }) => sizeText(memoryMib), 7),
];

const SIGN: Column<UpgradeCell> = { header: '', text: ({ verdict }) => VERDICT_SIGNS[verdict] };

const CHANGE_COLUMNS: readonly Column<UpgradeCell>[] = [
  number('base', ({ base, metric }) => valueText(base, metric), 3),
  number('head', ({ head, metric }) => valueText(head, metric), 3),
  number('change', ({ changePercent }) => (changePercent === null ? '' : formatPercent(changePercent))),
  number('95 % interval', ({ ciPercent }) => intervalText(ciPercent).replace(/ %$/, ''), 4),
  { header: 'what else', text: remarkText, minWidth: 24, dropRank: 1 },
];

/** In the terminal columns of their own name a cell. */
export const CELL_COLUMNS: readonly Column<UpgradeCell>[] = [
  SIGN,
  { header: 'cell', text: ({ label }) => printable(label) },
  ...CHANGE_COLUMNS,
];

/** The worst of them, as all cells of the report name them. */
export function cellLines(shown: readonly UpgradeCell[], cells: ReadonlyMap<string, KeyedCell>, look: Look): string[] {
  return cellTable(withCells(shown, cells), CHANGE_COLUMNS, look, { before: [SIGN] });
}

function number<Row>(header: string, text: (row: Row) => string, dropRank = 0): Column<Row> {
  return { header, text, align: 'right', dropRank };
}

function tally(cells: number): string {
  return cells === 0 ? '' : String(cells);
}

function meanText({ geometricMean, metric }: UpgradeGroup): string {
  return geometricMean === null ? '–' : timesText(geometricMean, metric);
}

/** `100.0 → 97.00`, or one number where both are equal. */
function sizeText([base, head]: Pair): string {
  if (base === null || head === null) return '';
  const [was, is] = [formatNumber(base), formatNumber(head)];
  return was === is ? was : `${was} → ${is} (${formatPercent((head / base - 1) * 100)})`;
}

function valueText(value: number | null, metric: UpgradeCell['metric']): string {
  return value === null ? '–' : `${formatNumber(value)} ${printable(metricOf(metric).unit)}`;
}

function remarkText({ accuracy, belowMinChange, cause, layers, problem, reasons, verdict }: UpgradeCell): string {
  const parts = [
    ...(problem === null ? [] : [problemText(problem)]),
    ...(accuracy === null || accuracy.moved === null
      ? []
      : [`accuracy ${accuracy.sqnrDb.map(formatDecibels).join(' → ')}`]),
    ...(verdict === 'missing' ? reasons.slice(0, 1) : []),
    ...(belowMinChange === undefined ? [] : [`under the smallest change of ${formatPercent(belowMinChange, false)}`]),
    ...(layers === null || layers.changed === 0 ? [] : [`${layers.changed} of ${count(layers.of, 'layer')} changed`]),
    ...(cause === null ? [] : [cause.title]),
  ];
  return printable(parts.join('; '));
}

const PROBLEM_WORDS = { build: 'no engine', run: 'no result', notMeasured: 'not measured' } as const;
const SIDE_WORDS = { base: 'base', head: 'head', both: 'both sides' } as const;

function problemText({ kind, reason, side }: NonNullable<UpgradeCell['problem']>): string {
  const why = reason === '' ? '' : `: ${reasonWords(reason)}`;
  return `${SIDE_WORDS[side]}: ${PROBLEM_WORDS[kind]}${why}`;
}

/** Rows that somebody has to look at before the move. */
export function worstOf({ cells }: UpgradeOutput): UpgradeCell[] {
  return cells.filter(
    ({ accuracy, problem, verdict }) =>
      problem !== null ||
      verdict === 'slower' ||
      verdict === 'missing' ||
      (accuracy !== null && accuracy.moved !== null),
  );
}

/** Without columns that are empty in every row. */
export function filled<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): Column<Row>[] {
  return columns.filter(({ text }) => rows.some((row) => text(row) !== ''));
}
