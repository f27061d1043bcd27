import { metricOf } from '../../../records/metric.ts';
import { gatedMetricOf } from '../../../records/gated-metric.ts';
import { count, formatNumber, formatPercent, intervalText } from '../../../terminal/numbers.ts';
import { FLAG_LABELS, RUN_MARKS } from '../../../records/outcome.ts';
import { changeText } from '../../check/index.ts';
import { insideTimes } from '../../export/index.ts';
import { type FoundInCell, type PageModel, type Row, SPARK_SWEEPS, cellSparks, findingAnchor } from './cell-rows.ts';
import { type HtmlColumn, htmlTable, type Markup, markup, shortened, shortRef } from '../../../html/markup.ts';
import type { KeyedCell } from '../../../records/cell.ts';

/**
 * The main table, worst cells first. It works without a script; the script sorts and filters it and changes its metric.
 */
export function cellsView(page: PageModel): Markup {
  const { cells, compare, rows, series, words } = page;
  const hasLevels = rows.some(({ before }) => before !== null);
  const columns = columnsOf(page, hasLevels).filter(({ show }) => rows.some((row) => show(row) !== null));
  const metrics = [...new Set(cells.map(({ metric }) => metricOf(metric).label))].join(', ');
  const against = compare === null ? 'the last accepted level of each cell' : shortRef(compare.baseRef);
  const notes = [
    `${count(cells.length, 'cell')} by ${metrics}, ${series.provenance} results`,
    hasLevels ? `worst first: verdict and change against ${against}` : null,
    words.caption,
    insideTimes(cells),
  ];
  const caption = notes.filter(Boolean).join('; ');
  const table = htmlTable(caption, columns, rows, ({ report, verdict }) => {
    return markup` data-key="${report.cell.key}" data-verdict="${verdict}"`;
  });
  return markup`
<section id="cells" aria-labelledby="cells-title">
<h2 id="cells-title">Cells</h2>
<form class="filter script" role="search"><label>Only cells with <input type="search" id="filter" placeholder="vit fp8 b8" autocomplete="off" spellcheck="false"></label> <output id="filter-count" for="filter"></output></form>
<div id="cells-table">${table}</div>
</section>`;
}

/**
 * Without content, `show` is null, and a column without content is omitted. A narrow window hides `roomy` columns.
 * @param hasLevels whether any cell has a reference
 */
function columnsOf(page: PageModel, hasLevels: boolean): HtmlColumn<Row>[] {
  const { compare, sweeps, words } = page;
  const sparks = cellSparks(page.rows);
  const shown = Math.min(SPARK_SWEEPS, sweeps.length);
  const [name, ...others] = words.headers;
  return [
    { header: 'verdict', kind: 'verdict', show: ({ verdict }) => verdict },
    { header: name ?? 'cell', kind: 'name', show: ({ report: { cell } }) => nameOf(cell, words) },
    ...others.map((header, place) => ({
      header,
      kind: 'roomy',
      show: ({ report: { cell } }: Row) => shortened(words.wordsOf(cell)[place + 1] ?? '') || null,
    })),
    {
      header: 'change',
      kind: 'number change',
      show: ({ changePercent }) => (changePercent === null ? null : formatPercent(changePercent)),
    },
    { header: 'change, 95 % interval', kind: 'roomy', show: intervalOf },
    { header: compare === null ? 'reference' : 'base', kind: 'number roomy', show: levelOf },
    { header: 'now', kind: hasLevels ? 'number roomy' : 'number', show: valueOf },
    { header: 'bound by', kind: 'roomy', show: ({ report }) => report.boundBy },
    {
      header: shown < 2 ? '' : `last ${shown} sweeps, ±${sparks.percent} %`,
      kind: 'sparks',
      show: (row) => (shown < 2 ? null : markup`<span aria-hidden="true">${sparks.of(row)}</span>`),
    },
    {
      header: 'finding',
      kind: 'roomy found',
      show: ({ findings, report }) =>
        findings.length === 0 ? null : markup`${findings.map((one) => findingText(one, report, compare !== null))}`,
    },
  ];
}

/** The first word. In a narrow window, the others appear below it. */
function nameOf(cell: KeyedCell, { wordsOf }: PageModel['words']): Markup {
  const [name = '', ...others] = wordsOf(cell).filter(Boolean);
  const rest = others.length === 0 ? null : markup`<small class="narrow">${shortened(others.join(' '))}</small>`;
  return markup`<a href="#cell=${cell.key}">${name === '' ? cell.key.slice(0, 8) : shortened(name)}</a>${rest}`;
}

/** Interval of the shown change; without a verdict, the reasons. */
function intervalOf({ ciPercent, reasons }: Row): Markup | string | null {
  if (ciPercent !== null) return intervalText(ciPercent).replace(' … ', ' to ');
  return reasons.length === 0 ? null : reasonsText(reasons, '');
}

/** Invalid outputs and upper bounds are red. */
function reasonsText(reasons: readonly string[], sign: string): Markup | string {
  const text = shortened(reasons.join('; '), 160);
  const isMarked = RUN_MARKS.some((id) => text.includes(FLAG_LABELS[id]));
  return isMarked ? markup`<span class="slower">✗ ${text}</span>` : `${sign}${text}`.trim();
}

function levelOf({ before, report: { metric } }: Row): string | null {
  return before === null ? null : `${formatNumber(before)} ${metricOf(metric).unit}`;
}

/** The newest value, or why runs do not count. */
function valueOf({ now, report }: Row): Markup | string {
  if (now !== null) return `${formatNumber(now)} ${metricOf(report.metric).unit}`;
  return reasonsText([...new Set(report.leftOut.map(({ reason }) => reason))], '– ');
}

/** A finding with its change, unless the row shows that change. */
function findingText({ change, finding }: FoundInCell, { metric }: Row['report'], isCompared: boolean): Markup {
  const { direction, kind, state } = finding;
  const isShown = !isCompared && kind !== 'limit' && change.metric === metric;
  const what = kind === 'limit' ? 'limit broken, ' : '';
  const size = markup`${what}${gatedMetricOf(change.metric).label} <span class="${direction}">${changeText(change)}</span> `;
  return markup`${isShown ? null : size}<a href="#${findingAnchor(finding)}">${state} in ${count(finding.cells.length, 'cell')}</a> `;
}
