import { gatedMetricOf } from '../../records/gated-metric.ts';
import type { Look } from '../../terminal/look.ts';
import { count } from '../../terminal/numbers.ts';
import { dotted, wrapHanging, wrapWords } from '../../terminal/text-width.ts';
import { reasonWords } from '../../terminal/words.ts';
import { describeCommit } from '../../text/commit-label.ts';
import { printable } from '../../text/printable.ts';
import { type CellRow, cellRows, countsText, hasMoved, worstFirst } from './cell-rows.ts';
import { earlierText, findingLine, findingText } from './finding-text.ts';
import { isOfSeries, isShownWhole, newFirst } from './headline.ts';
import type { Checked, CheckedFinding, CheckedSeries } from './output.ts';
import type { CheckedSweep } from './checked-series.ts';
import { pictureOf, type SeriesPicture } from './picture.ts';
import { changeText, isOfSpeed } from './change-text.ts';

/** By its own metric: a cell that moved in another one says so, and what is no speed leaves it as it is. */
function rowsOf({ cells }: CheckedSeries, findings: readonly CheckedFinding[], picture: SeriesPicture): CellRow[] {
  return cells.flatMap((checked): CellRow[] => {
    const { key, metric, verdict } = checked;
    const drawn = picture.cells.get(key);
    const values = drawn?.valuesOf(metric);
    if (drawn === undefined || values === undefined) return [];
    const row = { ...checked, cell: drawn.cell, values };
    if (verdict !== 'slower' && verdict !== 'faster') return [row];
    const own = findings.filter((finding) => finding.direction === verdict && finding.kind !== 'limit');
    const changes = own.flatMap(({ details }) => details).filter((change) => change.key === key);
    if (changes.length === 0 || changes.some((change) => change.metric === metric)) return [row];
    const other = changes.find((change) => isOfSpeed({ details: [change] }));
    if (other === undefined) return [{ ...row, verdict: 'same' }];
    return [{ ...row, otherChange: `${printable(gatedMetricOf(other.metric).label)} ${changeText(other)}` }];
  });
}

/** Rows of cells that moved, unless all are asked for. */
const SHOWN_ROWS = 12;

/** A line a cell, the largest change first; the others are folded. */
function cellsText(all: readonly CellRow[], isAll: boolean, look: Look): string[] {
  const rows = worstFirst(all);
  const moved = rows.filter(hasMoved);
  const shown = isAll ? rows : moved.slice(0, SHOWN_ROWS);
  if (shown.length === 0) return [];
  const fold = [
    ...(moved.length > shown.length ? [`${moved.length - shown.length} more`] : []),
    ...(isAll || rows.length === moved.length ? [] : [`${rows.length - moved.length} others`]),
  ].join(', ');
  return ['', ...cellRows(shown, rows, 'sweeps', look), ...(fold === '' ? [] : [look.style.dim(`${fold}: --all`)])];
}

/** What is printed; not part of `--json`. */
export interface CheckDetails {
  /** By the newest sweep of the series. */
  readonly pictures: ReadonlyMap<string, SeriesPicture>;
  /** Every finding in full, and every cell. */
  readonly isAll: boolean;
}

/** What `bench check` prints of one sweep. */
export function checkedSweepText({ findings, judged, series }: CheckedSweep, look: Look): string[] {
  const pictures = new Map([[series.sweepId, pictureOf(judged.evidence)]]);
  return checkText({ series: [series], findings }, { pictures, isAll: false }, look);
}

/** The first line of `bench check`, at the end of another command. @param of `sweep 1a2b3c4d`, where it is not the newest */
export function closingText({ series }: Pick<CheckedSweep, 'series'>, look: Look, of: string = ''): string[] {
  const text = `bench check${of === '' ? '' : ` of ${of}`}: ${printable(series.headline)}`;
  return wrapHanging(text, look.columns, 2).map(headlinePaint(series, look));
}

/** Of several series a line for each, the worst first; then the worst in full, or all of them. */
export function checkText(
  { findings, series }: Pick<Checked, 'findings' | 'series'>,
  details: CheckDetails,
  look: Look,
): string[] {
  const blockOf = (one: CheckedSeries, headline: string): string[] => {
    const own = findings.filter((finding) => isOfSeries(finding, one));
    return seriesText(one, own, details, headline, look);
  };
  const [first, ...more] = series.toSorted((a, b) => rankOf(a) - rankOf(b));
  if (first === undefined) return [];
  if (more.length === 0) return blockOf(first, first.headline);
  const all = [first, ...more];
  const worth = all.filter(({ verdict }) => verdict !== 'stale' && (details.isAll || !SAYS_ALL.includes(verdict)));
  const shown = details.isAll ? worth : worth.slice(0, 1);
  const hint =
    worth.length > shown.length ? ['', ...wrapHanging('each in full: bench check --all', look.columns, 2)] : [];
  return [
    ...all.flatMap((one) => seriesLines(one, nameOf(one, all, details), look)),
    ...shown.flatMap((one) => ['', ...blockOf(one, nameOf(one, all, details))]),
    ...hint.map(look.style.dim),
  ];
}

const WORST: readonly CheckedSeries['verdict'][] = [
  'slower',
  'limit',
  'failed',
  'unclear',
  'warning',
  'faster',
  'same',
  'first',
  'stale',
];

/** Of equal verdicts the one with more slower cells is worse. */
function rankOf({ cells, verdict }: CheckedSeries): number {
  const slower = cells.filter((cell) => cell.verdict === 'slower').length;
  return WORST.indexOf(verdict) + 1 / (1 + slower);
}

/** The headline of such a series is all that there is to say. */
const SAYS_ALL: readonly CheckedSeries['verdict'][] = ['same', 'first'];

/** `nightly · main`, and what else tells it from the others. */
function nameOf(series: CheckedSeries, all: readonly CheckedSeries[], { pictures }: CheckDetails): string {
  const machineOf = ({ sweepId }: CheckedSeries): string => dotted(pictures.get(sweepId)?.machine ?? []);
  const isOne = new Set(all.map(machineOf)).size === 1;
  const { branch, matrix, provenance } = series;
  const ofOne = new Set(all.map((one) => one.provenance)).size === 1 ? '' : provenance;
  return printable(dotted([matrix ?? 'no matrix', branch ?? 'no branch', ofOne, isOne ? '' : machineOf(series)]));
}

function seriesLines(series: CheckedSeries, name: string, look: Look): string[] {
  const lines = wrapHanging(`${name}: ${printable(series.headline)}`, look.columns, 2);
  return lines.map(series.verdict === 'stale' ? look.style.dim : headlinePaint(series, look));
}

function headlinePaint({ verdict }: CheckedSeries, { style }: Look): (text: string) => string {
  const paint = verdict === 'slower' || verdict === 'limit' ? style.bad : (text: string): string => text;
  return (line) => paint(style.strong(line));
}

function seriesText(
  series: CheckedSeries,
  findings: readonly CheckedFinding[],
  { isAll, pictures }: CheckDetails,
  headline: string,
  look: Look,
): string[] {
  const { columns, style } = look;
  const picture = pictures.get(series.sweepId) ?? NO_PICTURE;
  const rows = rowsOf(series, findings, picture);
  const whole = newFirst(findings.filter(isShownWhole));
  const before = findings.filter((finding) => !isShownWhole(finding));
  const [worst, ...others] = isAll ? [] : whole;
  const full = isAll ? whole : worst === undefined ? [] : [worst];
  return [
    ...wrapHanging(printable(headline), columns, 2).map(headlinePaint(series, look)),
    ...wrapHanging(aboutText(series, picture), columns, 2).map(style.dim),
    ...(series.judgedBy !== 'first'
      ? countsText(rows, series.geometricMean, look)
      : findings.length === 0
        ? wrapHanging(FIRST, columns, 2).map(style.dim)
        : []),
    ...full.flatMap((finding) => ['', ...findingText(finding, findings, series, picture, look)]),
    ...(others.length === 0 ? [] : ['', ...others.flatMap((finding) => findingLine(finding, picture, look))]),
    ...(others.length === 0 ? [] : wrapHanging('each in full: bench check --all', columns, 2).map(style.dim)),
    ...earlierText(before, picture, look),
    ...cellsText(rows, isAll, look),
    ...reasonText(series, look),
    ...failedText(series, look),
    ...(series.notes.length === 0
      ? []
      : ['', ...series.notes.flatMap((note) => wrapWords(note, columns).map(style.dim))]),
  ];
}

const FIRST = 'next: measure again (bench run), the second sweep is compared with this one';

const NO_PICTURE: SeriesPicture = { sweeps: [], cells: new Map(), machine: [], metric: null };

function aboutText(series: CheckedSeries, { machine, metric }: SeriesPicture): string {
  const { branch, commit, matrix, provenance, startedAt, sweepId, sweeps } = series;
  return dotted([
    provenance,
    printable(matrix ?? ''),
    describeCommit({ branch, commit, dirty: null }),
    `sweep ${sweepId.slice(0, 8)} of ${startedAt?.slice(0, 10) ?? 'an unknown date'}, number ${sweeps}`,
    ...machine.map(printable),
    metric === null ? '' : printable(gatedMetricOf(metric).label),
  ]);
}

const SHOWN_CELLS = 12;

/** Cells that are new, or were in the sweep before only. */
function reasonText({ cells, judgedBy }: CheckedSeries, { columns, style }: Look): string[] {
  if (judgedBy === 'first') return [];
  return (['new', 'missing'] as const).flatMap((reason) => {
    const own = cells.filter((cell) => cell.reason === reason);
    if (own.length === 0) return [];
    const more = own.length > SHOWN_CELLS ? ` and ${own.length - SHOWN_CELLS} more` : '';
    const names = own.slice(0, SHOWN_CELLS).map(({ label }) => printable(label));
    return ['', ...wrapHanging(`${reason}: ${names.join(', ')}${more}`, columns, 2).map(style.warn)];
  });
}

function failedText({ cells }: CheckedSeries, { columns, style }: Look): string[] {
  const failed = cells.filter(({ reason }) => reason === 'failed');
  if (failed.length === 0) return [];
  return [
    '',
    style.bad(`${count(failed.length, 'cell')} without a result in the newest sweep`),
    ...failed.flatMap(({ label, notes }) =>
      wrapHanging(`  ${printable(label)}: ${notes.map(reasonWords).join('; ')}`, columns, 4),
    ),
  ];
}
