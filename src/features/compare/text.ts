import { metricOf } from '../../records/metric.ts';
import { printable, shortList } from '../../text/printable.ts';
import { type CommonShift, DETECTABLE_FROM, isCalled, singleRunReason, type Verdict } from '../../records/verdict.ts';
import { cellTable, sideColumns } from '../../terminal/cell-columns.ts';
import { changeMap, mapAxes } from '../../terminal/charts/heat-map.ts';
import type { Side } from '../../selection/sides.ts';
import { comparedCellText, type Compared, type ShownCell } from './cell-text.ts';
import type { ComparedCell, Comparison } from './output.ts';
import { type Look, plain } from '../../terminal/look.ts';
import { count, formatPercent, meanText, shareText } from '../../terminal/numbers.ts';
import {
  changeStyle,
  describeCommit,
  estimateWords,
  reasonTitle,
  reasonWords,
  verdictWord,
} from '../../terminal/words.ts';
import { dotted, truncate, wrapHanging, wrapWords } from '../../terminal/text-width.ts';
import type { Column } from '../../terminal/table.ts';

export function compareText(
  comparison: Comparison,
  details: Compared['details'],
  look: Look,
  map?: string | true,
): string[] {
  const { base, head, shift, counts, across, otherMethods } = comparison;
  const { style, columns } = look;
  const shown = comparison.cells.flatMap((cell): ShownCell[] => {
    const its = details.cells.get(cell.key);
    return its === undefined || cell.verdict === 'missing' ? [] : [{ ...cell, ...its }];
  });
  const provenance = [comparison.provenance].flat().join(', ');
  const headline = dotted([verdictLine(counts), estimateWords(comparison.cells.map(({ metric }) => metric))]);
  const lines = [
    ...across.flatMap((difference) => wrapWords(`compared anyway: ${printable(difference)}`, columns).map(style.warn)),
    ...wrapHanging(headline, columns, 2).map(style.strong),
    ...wrapHanging(sideLine('base', details.sides.base, provenance), columns, 6),
    ...wrapHanging(sideLine('head', details.sides.head, provenance), columns, 6),
  ];
  for (const note of [base.note, head.note, shift === null ? null : shiftText(shift)]) {
    if (note !== null) lines.push(...wrapWords(note, columns).map(style.warn));
  }
  if (shown.length > 0) {
    const [only] = shown;
    const isOne = shown.length === 1 && only !== undefined;
    const table = isOne ? comparedCellText(only, look) : verdictTable(shown, look);
    lines.push('', ...(map === undefined ? table : changeMap(shown, look, mapAxes(map, shown, details.namedShapes))));
  }
  if (counts.missing > 0) lines.push('', ...missingLines(comparison, columns));
  if (otherMethods > 0) {
    const text = `${count(otherMethods, 'cell')} on both sides, measured by different harnesses: --across-methods compares their medians`;
    lines.push(...wrapWords(text, columns));
  }
  const causes = causeLines(shown, look);
  if (causes.length > 0) lines.push('', ...causes);
  const means = geometricMeanLines(comparison, look);
  return [...lines, '', ...means, ...reasonLines(shown, look), ...adviceLines(comparison, look)];
}

export function shiftText(shift: CommonShift): string {
  const { recorded } = shift;
  const unknown = 'clocks, driver or another common cause; none is recorded';
  const known = `recorded differences: ${printable(recorded.map(reasonWords).join(', '))}`;
  return `${shiftSize(shift)}; ${recorded.length === 0 ? unknown : known}`;
}

/** `3 cells on one side only; only in base: vit fp8 8x3, vit fp16 8x3; only in head: vit int8 8x3`. */
function missingLines({ cells, counts }: Comparison, columns: number): string[] {
  const missing = cells.filter(({ verdict }) => verdict === 'missing');
  const parts = [...Map.groupBy(missing, ({ reasons }) => reasons.join(', '))].map(([why, own]) => {
    const labels = own.map(({ label }) => printable(label));
    return `${why}: ${shortList(labels, SHOWN_MISSING)}`;
  });
  return wrapHanging([`${count(counts.missing, 'cell')} on one side only`, ...parts].join('; '), columns, 2);
}

/** `Common shift of +3.0 %, which fits all 12 cells: a regression by itself`. Rows keep their own verdicts. */
export function shiftSize({ percent, cells, metric, sharing, verdict }: CommonShift): string {
  const who = sharing === cells ? `all ${cells} cells` : `${sharing} of ${cells} cells`;
  const regression = verdict === 'slower' ? ': a regression by itself' : '';
  const of = metric === undefined ? '' : ` in ${metricOf(metric).label}`;
  return `Common shift of ${formatPercent(percent)}${of}, which fits ${who}${regression}`;
}

function verdictLine({ slower, faster, same, unclear, ...others }: Readonly<Record<Verdict, number>>): string {
  const without = Object.values(others).reduce((sum, number) => sum + number, 0);
  const further = Object.entries({ same, unclear, 'no result': without }).filter(([, number]) => number > 0);
  return [`${slower} slower`, `${faster} faster`, ...further.map(([word, number]) => `${number} ${word}`)].join(', ');
}

function sideLine(name: string, side: Side, provenance: string): string {
  const [sweep] = side.sweeps;
  const ids = side.sweeps.map(({ sweepId }) => sweepId.slice(0, 8)).join('+');
  const set = sweep?.recordingSet ?? null;
  const parts = [
    // First, so that a narrow terminal never truncates it.
    set === null ? provenance : `recorded (${printable(set)})`,
    printable(side.ref),
    `sweep ${ids}`,
    printable(sweep?.matrix ?? sweep?.name ?? ''),
    sweep === undefined ? '' : describeCommit(sweep),
  ];
  return `${name}  ${dotted(parts)}`;
}

function verdictTable(cells: readonly ShownCell[], look: Look): string[] {
  const { style } = look;
  const isLackCommon = new Set(cells.map(lackText)).size === 1;
  const verdict: Column<ShownCell> = {
    header: 'verdict',
    text: (cell) => verdictWord(cell.verdict),
    style: (cell) => (cell.verdict === 'failed' ? style.bad : plain),
  };
  const table = cellTable<ShownCell>(
    cells,
    [
      ...sideColumns(cells, ['base', 'head'], ({ base, head }) => [base, head], {
        header: 'change',
        text: ({ changePercent }) => formatPercent(changePercent),
        style: (cell) => changeStyle(cell.verdict, style),
      }),
      { header: 'detectable', short: 'detect.', text: detectableText, align: 'right', dropRank: 6 },
      { header: 'runs', text: ({ runs }) => runs.join('+'), align: 'right', dropRank: 8 },
      { header: 'to decide', text: (cell) => (isLackCommon ? '' : lackText(cell)), dropRank: 7 },
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

function lackText({ moreRunsNeeded: more, runs, verdict }: ComparedCell): string {
  if (verdict !== 'unclear') return '';
  return singleRunReason(runs) ?? (more === null ? '' : `about ${count(more, 'more run')}`);
}

const MAX_CAUSE_LINES = 6;

function causeLines(cells: readonly ShownCell[], { columns, style }: Look): string[] {
  const found = cells.filter(({ cause }) => cause !== null);
  const byTitle = Map.groupBy(found, ({ cause }) => cause?.title ?? '');
  const lines = [...byTitle].map(([title, group]) => {
    const [first] = group;
    const size = !first?.cause || group.length > 1 ? '' : shareText(first.cause, ',', 'of the change');
    const cell = first?.label ?? '';
    const where = group.length === 1 ? cell : `${cell} and ${group.length - 1} more`;
    const text = `  ${printable(title)} (${first?.cause?.certainty ?? ''}${size}): ${printable(where)}`;
    return wrapHanging(text, columns, 4);
  });
  if (lines.length === 0) return [];
  const more = lines.length - MAX_CAUSE_LINES;
  return [
    style.strong('likeliest causes'),
    ...lines.slice(0, MAX_CAUSE_LINES).flat(),
    ...(more > 0 ? [style.dim(`  and ${more} more`)] : []),
  ];
}

const MAX_REASON_LINES = 8;
/** Matches the point after which a reason is specific to the cell. */
const DETAIL = /(?<=contended|left out[^:]*|clock [^:]*|enqueue time now [^:]*): /;

/** Reasons for the verdicts, each once with its number of cells. A reason that the cause names is omitted. */
function reasonLines(cells: readonly ShownCell[], { style, columns }: Look): string[] {
  const reasons = cells.flatMap(({ cause, reasons: own }) =>
    own.filter((reason) => !reason.startsWith(DETECTABLE_FROM) && cause?.title.endsWith(reason) !== true),
  );
  const lines = [...Map.groupBy(reasons, headOf)].map(([head, same]) => {
    const [first = head] = same;
    const text = reasonTitle(first) !== null || same.every((reason) => reason === first) ? first : head;
    return wrapHanging(`${printable(reasonWords(text))} (${count(same.length, 'cell')})`, columns, 2).map(style.dim);
  });
  const more = lines.length - MAX_REASON_LINES;
  return [...lines.slice(0, MAX_REASON_LINES).flat(), ...(more > 0 ? [style.dim(`and ${more} more reasons`)] : [])];
}

function headOf(reason: string): string {
  return reasonTitle(reason) ?? reason.split(DETAIL, 1)[0] ?? reason;
}

function adviceLines({ cells, baseRef, headRef }: Comparison, { columns }: Look): string[] {
  const unclear = cells.filter(({ verdict }) => verdict === 'unclear');
  const most = Math.max(0, ...unclear.map(({ moreRunsNeeded }) => moreRunsNeeded ?? 0));
  const lines: string[] = [];
  if (unclear.length > 0) {
    const least = Math.max(...unclear.map(({ mdePercent }) => mdePercent ?? 0));
    const them = unclear.length === 1 ? 'it' : 'most of them';
    const settle = most === 0 ? '' : `; about ${count(most, 'more run')} per side would settle ${them}`;
    const text = `${count(unclear.length, 'unclear cell')}: changes from ${formatPercent(least, false)} are detectable${settle}`;
    lines.push(...wrapWords(text, columns));
  }
  const cell = cells.find(({ verdict }) => verdict === 'slower')?.key.slice(0, 8);
  if (cell !== undefined) {
    const sides = `${printable(baseRef)} ${printable(headRef)}`;
    const next = [`See it over time: bench trend ${cell}`, `See why: bench why ${cell} ${sides}`];
    lines.push(...next.map((line) => truncate(line, columns)));
  }
  if (cells.length === 0) {
    lines.push(`no cell is on both sides of ${printable(baseRef)} and ${printable(headRef)}`);
  }
  return lines;
}

const SHOWN_MISSING = 3;

/** `geometric mean +1.2 % (0.9 to 1.5), 48 cells` for each metric with several cells. */
export function geometricMeanLines(
  { cells: shown, geometricMeans }: Pick<Comparison, 'cells' | 'geometricMeans'>,
  { columns }: Look,
): string[] {
  return geometricMeans
    .filter(({ by, cells }) => by === 'all' && cells > 1)
    .flatMap((mean) => {
      const of = shown.some(({ metric }) => metric !== mean.metric) ? `${metricOf(mean.metric).label}: ` : '';
      return wrapHanging(`${of}geometric mean ${meanText(mean)}`, columns, 2);
    });
}
