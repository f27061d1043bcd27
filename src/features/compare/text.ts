import type { KeyedCell } from '../../records/cell.ts';
import { metricOf } from '../../records/metric.ts';
import type { NamedShapes } from '../../records/plan.ts';
import { printable, shortList } from '../../text/printable.ts';
import { type CommonShift, DETECTABLE_FROM, isCalled, singleRunReason, type Verdict } from '../../records/verdict.ts';
import { cellTable, sideColumns, withCells } from '../../terminal/cell-columns.ts';
import { changeMap, mapAxes } from '../../terminal/charts/heat-map.ts';
import type { Side, Sides } from '../../selection/sides.ts';
import type { ComparedCell, Comparison } from './output.ts';
import { type Look, plain, dotted, truncate, wrapHanging, wrapWords } from '../../terminal/look.ts';
import { count, formatPercent, meanText, shareText } from '../../terminal/numbers.ts';
import {
  changeStyle,
  describeCommit,
  estimateWords,
  provenanceText,
  reasonTitle,
  reasonWords,
  verdictWord,
} from '../../terminal/words.ts';
import { numberColumn, textColumn } from '../../terminal/table.ts';

/** What the text shows in addition to the output. */
export interface ComparisonDetails {
  readonly sides: Sides;
  readonly cells: ReadonlyMap<string, KeyedCell>;
  readonly namedShapes: ReadonlyMap<string, NamedShapes>;
}

type ShownCell = ComparedCell & { readonly cell: KeyedCell };

export function compareText(comparison: Comparison, details: ComparisonDetails, look: Look, map?: string | true) {
  const { cells, namedShapes, sides } = details;
  const { base, head, shift, counts, across, otherMethods } = comparison;
  const { style, columns } = look;
  const shown = withCells(comparison.cells, cells).filter(({ verdict }) => verdict !== 'missing');
  const shared = sharedDifferences(comparison);
  const headline = dotted([verdictLine(counts), estimateWords(comparison.cells.map(({ metric }) => metric))]);
  const methods = `${count(otherMethods, 'cell')} on both sides, measured by different harnesses: --across-methods compares their medians`;
  const table = () =>
    map === undefined ? verdictTable(shown, look) : changeMap(shown, look, mapAxes(map, shown, namedShapes));
  const warned = (texts: readonly (string | null)[]): string[] =>
    texts.flatMap((text) => (text === null ? [] : wrapWords(text, columns).map(style.warn)));
  return [
    ...warned(across.map((difference) => `compared anyway: ${printable(difference)}`)),
    ...wrapHanging(headline, columns, 2).map(style.strong),
    ...wrapHanging(sideLine('base', sides.base), columns, 6),
    ...wrapHanging(sideLine('head', sides.head), columns, 6),
    ...warned([...shared.map(printable), base.note, head.note, shift && shiftText(shift)]),
    ...(shown.length === 0 ? [] : ['', ...table()]),
    ...(counts.missing === 0 ? [] : ['', ...wrapHanging(missingText(comparison), columns, 2)]),
    ...(otherMethods === 0 ? [] : wrapWords(methods, columns)),
    ...causeLines(shown, look),
    '',
    ...geometricMeanLines(comparison, look),
    ...reasonLines(shown, shared.join('; '), look),
    ...adviceLines(comparison, look),
  ];
}

/** Differences of machine and build that all compared cells share, without those that were allowed. */
export function sharedDifferences({ across, cells }: Pick<Comparison, 'across' | 'cells'>): string[] {
  const [first, ...others] = cells.filter(({ verdict }) => verdict !== 'missing');
  const isShared = (reason: string): boolean => others.every(({ reasons }) => reasons.includes(reason));
  return (first?.reasons ?? []).filter((one) => one.includes(' → ') && !across.includes(one) && isShared(one));
}

export function shiftText(shift: CommonShift): string {
  const { recorded } = shift;
  const unknown = 'clocks, driver or another common cause; none is recorded';
  const known = `recorded differences: ${printable(recorded.map(reasonWords).join(', '))}`;
  return `${shiftSize(shift)}; ${recorded.length === 0 ? unknown : known}`;
}

const SHOWN_MISSING = 3;

/** `3 cells on one side only: vit fp8 8x3 (only in base), vit int8 8x3 (only in head) ...`. */
function missingText({ cells, counts }: Comparison): string {
  const missing = cells.filter(({ verdict }) => verdict === 'missing');
  const labels = missing.map(({ label, reasons: [why = ''] }) => printable(`${label} (${why})`));
  return `${count(counts.missing, 'cell')} on one side only: ${shortList(labels, SHOWN_MISSING)}`;
}

/** `Common shift of +3.0 %, which fits all 12 cells: a regression by itself`. Rows keep their own verdicts. */
export function shiftSize({ percent, cells, metric, sharing, verdict }: CommonShift): string {
  const who = sharing === cells ? `all ${cells} cells` : `${sharing} of ${cells} cells`;
  const regression = verdict === 'slower' ? ': a regression by itself' : '';
  const of = metric === undefined ? '' : ` in ${metricOf(metric).label}`;
  return `Common shift of ${formatPercent(percent)}${of}, which fits ${who}${regression}`;
}

export function verdictLine({ slower, faster, same, unclear, ...others }: Readonly<Record<Verdict, number>>): string {
  const without = Object.values(others).reduce((sum, number) => sum + number, 0);
  const further = Object.entries({ same, unclear, 'no result': without }).filter(([, number]) => number > 0);
  return [`${slower} slower`, `${faster} faster`, ...further.map(([word, number]) => `${number} ${word}`)].join(', ');
}

/** The provenance is first, so that a narrow terminal never truncates it. */
function sideLine(name: string, { ref, sweeps }: Side): string {
  const [sweep] = sweeps;
  const id = `sweep ${sweeps.map(({ sweepId }) => sweepId.slice(0, 8)).join('+')}`;
  const about = sweep === undefined ? [] : [printable(sweep.matrix ?? sweep.name ?? ''), describeCommit(sweep)];
  return `${name}  ${dotted([sweep === undefined ? '' : provenanceText(sweep), printable(ref), id, ...about])}`;
}

function verdictTable(cells: readonly ShownCell[], look: Look): string[] {
  const { style } = look;
  const isLackCommon = new Set(cells.map(lackText)).size === 1;
  const failedStyle = ({ verdict }: ShownCell) => (verdict === 'failed' ? style.bad : plain);
  const verdict = { header: 'verdict', text: (cell: ShownCell) => verdictWord(cell.verdict), style: failedStyle };
  const change = numberColumn<ShownCell>('change', ({ changePercent }) => formatPercent(changePercent), 0, {
    style: (cell) => changeStyle(cell.verdict, style),
  });
  const table = cellTable<ShownCell>(
    cells,
    [
      ...sideColumns(cells, ['base', 'head'], ({ base, head }) => [base, head], change),
      numberColumn('detectable', detectableText, 6, { short: 'detect.' }),
      numberColumn('runs', ({ runs }) => runs.join('+'), 8),
      textColumn('to decide', (cell) => (isLackCommon ? '' : lackText(cell)), 7),
    ],
    look,
    { before: [verdict] },
  );
  const hasChange = cells.some(({ changePercent }) => changePercent !== null);
  return [...table, ...(hasChange ? [style.dim('change: change of the mean of the runs')] : [])];
}

function detectableText({ verdict, mdePercent }: ComparedCell): string {
  return mdePercent === null || isCalled({ verdict }) ? '' : formatPercent(mdePercent, false);
}

/** What would settle an unclear cell; empty if that is unknown. */
export function lackText({ moreRunsNeeded: more, runs, verdict }: ComparedCell): string {
  if (verdict !== 'unclear') return '';
  return singleRunReason(runs) ?? (more === null ? '' : `about ${count(more, 'more run')}`);
}

const MAX_CAUSES = 6;

function causeLines(cells: readonly ShownCell[], look: Look): string[] {
  const found = cells.flatMap(({ cause, label }) => (cause === null ? [] : [{ ...cause, label }]));
  const texts = [...Map.groupBy(found, ({ title }) => title).values()].flatMap(([first, ...others]) => {
    if (first === undefined) return [];
    const size = others.length > 0 ? '' : shareText(first, ',', 'of the change');
    const where = others.length === 0 ? first.label : `${first.label} and ${others.length} more`;
    return `  ${printable(first.title)} (${first.certainty}${size}): ${printable(where)}`;
  });
  if (texts.length === 0) return [];
  return ['', look.style.strong('likeliest causes'), ...firstOf(texts, MAX_CAUSES, 'more', plain, look)];
}

const MAX_REASONS = 8;
/** Reasons that no cause names, each once with its number of cells and the evidence of the first one. */
function reasonLines(cells: readonly ShownCell[], known: string, look: Look): string[] {
  const all = cells.flatMap(({ reasons, ...cell }) => reasons.map((reason) => ({ ...cell, reason })));
  const isKnown = ({ cause, reason }: (typeof all)[number]) => `${known}; ${cause?.title}`.includes(reason);
  const reasons = all.filter((one) => !one.reason.startsWith(DETECTABLE_FROM) && !isKnown(one));
  const byHead = Map.groupBy(reasons, ({ reason }) => reasonTitle(reason) ?? reason.split(': ', 2).join());
  const texts = [...byHead.values()].flatMap(([first, ...others]) => {
    if (first === undefined) return [];
    const isNamed = others.length === 0 && cells.length > 1;
    const where = isNamed ? printable(first.label) : count(others.length + 1, 'cell');
    return `${printable(reasonWords(first.reason))} (${where})`;
  });
  return firstOf(texts, MAX_REASONS, 'more reasons', look.style.dim, look);
}

function firstOf(texts: readonly string[], most: number, others: string, style: typeof plain, look: Look): string[] {
  const indent = /^ */.exec(texts[0] ?? '')?.[0] ?? '';
  const more = texts.length - most;
  return [
    ...texts.slice(0, most).flatMap((text) => wrapHanging(text, look.columns, indent.length + 2).map(style)),
    ...(more > 0 ? [look.style.dim(`${indent}and ${more} ${others}`)] : []),
  ];
}

/** The compared sweep if there is one: a reference may be a merge base, or name other sweeps than those of `--run`. */
function argumentOf(ref: string, { sweepIds: [only, ...others] }: Comparison['base']): string {
  return only === undefined || others.length > 0 ? printable(ref) : only.slice(0, 8);
}

function adviceLines({ cells, base, baseRef, head, headRef }: Comparison, { columns }: Look): string[] {
  if (cells.length === 0) return [`no cell is on both sides of ${printable(baseRef)} and ${printable(headRef)}`];
  const unclear = cells.filter(({ mdePercent, verdict }) => verdict === 'unclear' && mdePercent !== null);
  const most = Math.max(0, ...unclear.map(({ moreRunsNeeded }) => moreRunsNeeded ?? 0));
  const least = Math.max(...unclear.map(({ mdePercent }) => mdePercent ?? 0));
  const them = unclear.length === 1 ? 'it' : 'most of them';
  const settle = most === 0 ? '' : `; about ${count(most, 'more run')} per side would settle ${them}`;
  const text = `${count(unclear.length, 'unclear cell')}: changes from ${formatPercent(least, false)} are detectable${settle}`;
  const cell = cells.find(({ verdict }) => verdict === 'slower')?.key.slice(0, 8);
  const next = [
    `See it over time: bench trend ${cell}`,
    `See why: bench why ${cell} ${argumentOf(baseRef, base)} ${argumentOf(headRef, head)}`,
  ];
  return [
    ...(unclear.length === 0 ? [] : wrapWords(text, columns)),
    ...(cell === undefined ? [] : next.map((line) => truncate(line, columns))),
  ];
}

/** `geometric mean +1.2 % (0.9 to 1.5), 48 cells` for each metric with several cells. */
export function geometricMeanLines(comparison: Pick<Comparison, 'cells' | 'geometricMeans'>, { columns }: Look) {
  const { cells: shown, geometricMeans } = comparison;
  return geometricMeans
    .filter(({ by, cells }) => by === 'all' && cells > 1)
    .flatMap((mean) => {
      const of = shown.some(({ metric }) => metric !== mean.metric) ? `${metricOf(mean.metric).label}: ` : '';
      return wrapHanging(`${of}geometric mean ${meanText(mean)}`, columns, 2);
    });
}
