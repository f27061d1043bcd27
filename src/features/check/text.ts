import type { SweepEvidence } from '../../judge/gate/evidence.ts';
import { gatedMetricOf } from '../../records/gated-metric.ts';
import { type Look, plain } from '../../terminal/look.ts';
import { count } from '../../terminal/numbers.ts';
import { dotted, wrapHanging, wrapWords } from '../../terminal/text-width.ts';
import { describeCommit, reasonWords } from '../../terminal/words.ts';
import { printable, shortList } from '../../text/printable.ts';
import { type CellRow, cellRows, countsText, hasMoved, valuesOf, worstFirst } from './cell-pictures.ts';
import type { CheckedSweep } from './checked.ts';
import { earlierText, findingText, titleLines } from './finding-text.ts';
import { isShownWhole, newFirst } from './findings.ts';
import { type CheckedSeries, SERIES_VERDICTS } from './output.ts';
import { sentences } from './sentences.ts';

export interface ShownSeries extends Pick<CheckedSweep, 'findings' | 'series'> {
  readonly judged: Pick<CheckedSweep['judged'], 'evidence'> | null;
}

export function closingText({ series }: Pick<CheckedSweep, 'series'>, look: Look, of: string = ''): string[] {
  return headlineLines(series, `bench check${of === '' ? '' : ` of ${of}`}: ${series.headline}`, look);
}

/** One line per series, the worst first, followed by the worst series in full or by all of them. */
export function checkText(all: readonly ShownSeries[], isAll: boolean, look: Look): string[] {
  const sorted = all.toSorted((a, b) => rankOf(a.series) - rankOf(b.series));
  const [only, ...others] = sorted;
  if (only === undefined) return [];
  if (others.length === 0) return seriesText(only, isAll, only.series.headline, look);
  // Of a series that is the same, or has only one sweep, the headline says everything.
  const worth = sorted.filter(
    ({ series: { verdict } }) => verdict !== 'stale' && (isAll || (verdict !== 'same' && verdict !== 'first')),
  );
  const shown = isAll ? worth : worth.slice(0, 1);
  return [
    ...sorted.flatMap((one) => headlineLines(one.series, `${nameOf(one, all)}: ${one.series.headline}`, look)),
    ...shown.flatMap((one) => ['', ...seriesText(one, isAll, nameOf(one, all), look)]),
    ...(worth.length > shown.length ? ['', ...dimmed(['all details: bench check --all'], look)] : []),
  ];
}

function rankOf({ cells, verdict }: CheckedSeries): number {
  const slower = cells.filter((cell) => cell.verdict === 'slower').length;
  return SERIES_VERDICTS.indexOf(verdict) + 1 / (1 + slower);
}

/** The name of a series, `nightly · main`, with the provenance if the series have several. */
function nameOf({ series }: ShownSeries, all: readonly ShownSeries[]): string {
  const { branch, matrix, provenance } = series;
  const isOne = all.every((one) => one.series.provenance === provenance);
  return printable(dotted([matrix ?? 'no matrix', branch ?? 'no branch', isOne ? '' : provenance]));
}

function headlineLines({ verdict }: CheckedSeries, text: string, { columns, style }: Look): string[] {
  const paint = verdict === 'slower' || verdict === 'limit' ? style.bad : plain;
  const paintLine = (line: string): string => (verdict === 'stale' ? style.dim(line) : paint(style.strong(line)));
  return wrapHanging(printable(text), columns, 2).map(paintLine);
}

function dimmed(texts: readonly string[], { columns, style }: Look): string[] {
  return texts.flatMap((text) => wrapHanging(text, columns, 2)).map(style.dim);
}

function seriesText({ findings, judged, series }: ShownSeries, isAll: boolean, headline: string, look: Look): string[] {
  if (judged === null) return headlineLines(series, headline, look);
  const { evidence } = judged;
  const ofKey = new Map(evidence.cells.map((one) => [one.cell.key, one]));
  const rows = series.cells.flatMap((row): CellRow[] => {
    const own = ofKey.get(row.key);
    if (own === undefined) return [];
    return [{ ...row, cell: own.cell, values: valuesOf(own, row.metric, evidence.sweeps) ?? [] }];
  });
  const whole = newFirst(findings.filter(isShownWhole));
  const full = isAll ? whole : whole.slice(0, 1);
  const others = whole.slice(full.length).flatMap((one) => titleLines(one, sentences(one, evidence).title, look));
  const earlier = findings.filter((finding) => !isShownWhole(finding));
  const isFirst = series.judgedBy === 'first';
  return [
    ...headlineLines(series, headline, look),
    ...dimmed([aboutText(series, evidence)], look),
    ...(isFirst ? [] : countsText(rows, series.geometricMean, look)),
    ...(isFirst && findings.length === 0 ? dimmed([FIRST], look) : []),
    ...full.flatMap((finding) => ['', ...findingText(finding, series, evidence, look)]),
    ...(others.length === 0 ? [] : ['', ...others, ...dimmed(['all details: bench check --all'], look)]),
    ...earlierText(earlier, evidence, look),
    ...cellsText(rows, isAll, look),
    ...reasonText(series, look),
    ...(series.notes.length === 0
      ? []
      : ['', ...series.notes.flatMap((note) => wrapWords(note, look.columns).map(look.style.dim))]),
  ];
}

const FIRST = 'next: measure again (bench run), the second sweep is compared with this one';

function aboutText(series: CheckedSeries, { cells, environments }: SweepEvidence): string {
  const { branch, commit, matrix, provenance, startedAt, sweepId, sweeps } = series;
  const newest = cells.flatMap(({ environmentIds }) => environments.get(environmentIds.at(-1) ?? '') ?? []);
  // Only what all cells have in common.
  const common = [
    newest.map(({ gpuName }) => gpuName),
    newest.map(({ tensorrt }) => (tensorrt === null ? null : `TensorRT ${tensorrt}`)),
    series.cells.map(({ metric }) => gatedMetricOf(metric).label),
  ].map((names) => (new Set(names).size === 1 ? printable(names[0] ?? '') : ''));
  return dotted([
    provenance,
    printable(matrix ?? ''),
    describeCommit({ branch, commit, dirty: null }),
    `sweep ${sweepId.slice(0, 8)} of ${startedAt?.slice(0, 10) ?? 'an unknown date'}, number ${sweeps}`,
    ...common,
  ]);
}

/** Maximum number of rows of cells that moved, unless all are requested. */
const SHOWN_ROWS = 12;

function cellsText(all: readonly CellRow[], isAll: boolean, look: Look): string[] {
  const rows = worstFirst(all);
  const moved = rows.filter(hasMoved);
  const shown = isAll ? rows : moved.slice(0, SHOWN_ROWS);
  if (shown.length === 0) return [];
  const [more, others] = isAll ? [0, 0] : [moved.length - shown.length, rows.length - moved.length];
  const fold = [more > 0 && `${more} more`, others > 0 && `${others} others`].filter(Boolean).join(', ');
  return ['', ...cellRows(shown, rows, 'sweeps', look), ...(fold === '' ? [] : dimmed([`${fold}: --all`], look))];
}

const SHOWN_CELLS = 12;

/** Lists cells that are new, or that only the previous sweep had, and what happened to cells without a result. */
function reasonText({ cells, judgedBy }: CheckedSeries, { columns, style }: Look): string[] {
  const byReason = Map.groupBy(cells, ({ reason }) => reason);
  const listed = (judgedBy === 'first' ? [] : (['new', 'missing'] as const)).flatMap((reason) => {
    const names = byReason.get(reason)?.map(({ label }) => printable(label)) ?? [];
    const text = `${reason}: ${shortList(names, SHOWN_CELLS, ', ', ' and ')}`;
    return names.length === 0 ? [] : ['', ...wrapHanging(text, columns, 2).map(style.warn)];
  });
  const failed = byReason.get('failed') ?? [];
  const unclear = cells.filter(({ notes, verdict }) => verdict === 'unclear' && notes.length > 0);
  const explained = [
    { own: failed, title: style.bad(`${count(failed.length, 'cell')} without a result in the newest sweep`) },
    { own: unclear, title: style.warn(`${count(unclear.length, 'cell')} unclear because of its runs`) },
  ].flatMap(({ own, title }) => {
    const texts = own.map(({ label, notes }) => `  ${printable(label)}: ${notes.map(reasonWords).join('; ')}`);
    return own.length === 0 ? [] : ['', title, ...texts.flatMap((text) => wrapHanging(text, columns, 4))];
  });
  return [...listed, ...explained];
}
