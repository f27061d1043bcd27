import type { SweepEvidence } from '../../judge/gate/evidence.ts';
import { gatedMetricOf } from '../../records/gated-metric.ts';
import type { Look } from '../../terminal/look.ts';
import { count } from '../../terminal/numbers.ts';
import { dotted, wrapHanging, wrapWords } from '../../terminal/text-width.ts';
import { describeCommit, reasonWords } from '../../terminal/words.ts';
import { printable, shortList } from '../../text/printable.ts';
import { type CellRow, cellRows, countsText, hasMoved, valuesOf, worstFirst } from './cell-pictures.ts';
import type { CheckedSweep } from './checked.ts';
import { earlierText, findingLine, findingText } from './finding-text.ts';
import { isShownWhole, newFirst } from './findings.ts';
import { type CheckedSeries, SERIES_VERDICTS } from './output.ts';
import { changeText, isOfSpeed } from './sentences.ts';

export interface ShownSeries extends Pick<CheckedSweep, 'findings' | 'series'> {
  readonly judged: Pick<CheckedSweep['judged'], 'evidence'> | null;
  readonly standing?: CheckedSweep['standing'];
}

/** Maximum number of rows of cells that moved, unless all are requested. */
const SHOWN_ROWS = 12;

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

export function closingText({ series }: Pick<CheckedSweep, 'series'>, look: Look, of: string = ''): string[] {
  return headlineLines(series, `bench check${of === '' ? '' : ` of ${of}`}: ${series.headline}`, look);
}

/** One line per series, the worst first, followed by the worst series in full or by all of them. */
export function checkText(all: readonly ShownSeries[], isAll: boolean, look: Look): string[] {
  const sorted = all.toSorted((a, b) => rankOf(a.series) - rankOf(b.series));
  const [only, ...others] = sorted;
  if (only === undefined) return [];
  if (others.length === 0) return seriesText(only, isAll, only.series.headline, look);
  const worth = sorted.filter(
    ({ series: { verdict } }) => verdict !== 'stale' && (isAll || !SAYS_ALL.includes(verdict)),
  );
  const shown = isAll ? worth : worth.slice(0, 1);
  return [
    ...sorted.flatMap((one) => headlineLines(one.series, `${nameOf(one, all)}: ${one.series.headline}`, look)),
    ...shown.flatMap((one) => ['', ...seriesText(one, isAll, nameOf(one, all), look)]),
    ...(worth.length > shown.length ? ['', ...hint(look)] : []),
  ];
}

function hint({ columns, style }: Look): string[] {
  return wrapHanging('all details: bench check --all', columns, 2).map(style.dim);
}

function rankOf({ cells, verdict }: CheckedSeries): number {
  const slower = cells.filter((cell) => cell.verdict === 'slower').length;
  return SERIES_VERDICTS.indexOf(verdict) + 1 / (1 + slower);
}

/** For these verdicts the headline says everything. */
const SAYS_ALL: readonly CheckedSeries['verdict'][] = ['same', 'first'];

/** The name of a series, `nightly · main`, with the provenance if the series have several. */
function nameOf({ series }: ShownSeries, all: readonly ShownSeries[]): string {
  const { branch, matrix, provenance } = series;
  const isOne = all.every((one) => one.series.provenance === provenance);
  return printable(dotted([matrix ?? 'no matrix', branch ?? 'no branch', isOne ? '' : provenance]));
}

function machineOf({ cells, environments }: SweepEvidence): string[] {
  const newest = cells.flatMap(({ environmentIds }) => environments.get(environmentIds.at(-1) ?? '') ?? []);
  return [
    [...new Set(newest.map(({ gpuName }) => gpuName))],
    [...new Set(newest.map(({ tensorrt }) => (tensorrt === null ? null : `TensorRT ${tensorrt}`)))],
  ].flatMap((names) => (names.length === 1 ? (names[0] ?? []) : []));
}

function headlineLines({ verdict }: CheckedSeries, text: string, { columns, style }: Look): string[] {
  const paint = verdict === 'slower' || verdict === 'limit' ? style.bad : (line: string): string => line;
  const paintLine = (line: string): string => (verdict === 'stale' ? style.dim(line) : paint(style.strong(line)));
  return wrapHanging(printable(text), columns, 2).map(paintLine);
}

function seriesText({ findings, judged, series }: ShownSeries, isAll: boolean, headline: string, look: Look): string[] {
  const { columns, style } = look;
  if (judged === null) return headlineLines(series, headline, look);
  const { evidence } = judged;
  const rows = rowsOf({ findings, judged, series }, evidence);
  const whole = newFirst(findings.filter(isShownWhole));
  const full = isAll ? whole : whole.slice(0, 1);
  const others = whole.slice(full.length);
  const earlier = findings.filter((finding) => !isShownWhole(finding));
  const isFirst = series.judgedBy === 'first';
  return [
    ...headlineLines(series, headline, look),
    ...wrapHanging(aboutText(series, evidence), columns, 2).map(style.dim),
    ...(isFirst ? [] : countsText(rows, series.geometricMean, look)),
    ...(isFirst && findings.length === 0 ? wrapHanging(FIRST, columns, 2).map(style.dim) : []),
    ...full.flatMap((finding) => ['', ...findingText(finding, findings, series, evidence, look)]),
    ...(others.length === 0 ? [] : ['', ...others.flatMap((one) => findingLine(one, evidence, look)), ...hint(look)]),
    ...earlierText(earlier, evidence, look),
    ...cellsText(rows, isAll, look),
    ...reasonText(series, look),
    ...(series.notes.length === 0 ? [] : ['']),
    ...series.notes.flatMap((note) => wrapWords(note, columns).map(style.dim)),
  ];
}

const FIRST = 'next: measure again (bench run), the second sweep is compared with this one';

function rowsOf({ findings, series }: ShownSeries, { cells, sweeps }: SweepEvidence): CellRow[] {
  const evidence = new Map(cells.map((one) => [one.cell.key, one]));
  return series.cells.flatMap((checked): CellRow[] => {
    const { key, metric, verdict } = checked;
    const own = evidence.get(key);
    const values = own === undefined ? undefined : valuesOf(own, metric, sweeps);
    if (own === undefined || values === undefined) return [];
    const row = { ...checked, cell: own.cell, values };
    if (verdict !== 'slower' && verdict !== 'faster') return [row];
    const changes = findings
      .filter(({ direction, kind }) => direction === verdict && kind !== 'limit')
      .flatMap(({ details }) => details.filter((change) => change.key === key));
    if (changes.length === 0 || changes.some((change) => change.metric === metric)) return [row];
    const other = changes.find((change) => isOfSpeed({ details: [change] }));
    if (other === undefined) return [{ ...row, verdict: 'same' }];
    return [{ ...row, otherChange: `${printable(gatedMetricOf(other.metric).label)} ${changeText(other)}` }];
  });
}

function aboutText(series: CheckedSeries, evidence: SweepEvidence): string {
  const { branch, commit, matrix, provenance, startedAt, sweepId, sweeps } = series;
  const metrics = new Set(series.cells.map(({ metric }) => metric));
  const [metric] = metrics;
  return dotted([
    provenance,
    printable(matrix ?? ''),
    describeCommit({ branch, commit, dirty: null }),
    `sweep ${sweepId.slice(0, 8)} of ${startedAt?.slice(0, 10) ?? 'an unknown date'}, number ${sweeps}`,
    ...machineOf(evidence).map(printable),
    metric === undefined || metrics.size > 1 ? '' : printable(gatedMetricOf(metric).label),
  ]);
}

const SHOWN_CELLS = 12;

/** Lists cells that are new, or that only the previous sweep had, and what happened to cells without a result. */
function reasonText({ cells, judgedBy }: CheckedSeries, { columns, style }: Look): string[] {
  const listed = (['new', 'missing'] as const).flatMap((reason) => {
    const names = cells.flatMap((cell) => (cell.reason === reason ? printable(cell.label) : []));
    if (names.length === 0 || judgedBy === 'first') return [];
    const text = `${reason}: ${shortList(names, SHOWN_CELLS, ', ', ' and ')}`;
    return ['', ...wrapHanging(text, columns, 2).map(style.warn)];
  });
  const failed = cells.filter(({ reason }) => reason === 'failed');
  if (failed.length === 0) return listed;
  return [
    ...listed,
    '',
    style.bad(`${count(failed.length, 'cell')} without a result in the newest sweep`),
    ...failed.flatMap(({ label, notes }) =>
      wrapHanging(`  ${printable(label)}: ${notes.map(reasonWords).join('; ')}`, columns, 4),
    ),
  ];
}
