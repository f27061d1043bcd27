import { cellLabel } from '../../../text/cell-label.ts';
import { metricOf } from '../../../records/metric.ts';
import { gatedMetricOf } from '../../../records/gated-metric.ts';
import { FLAG_LABELS } from '../../../records/run-flag.ts';
import { formatNumber, formatPercent, intervalText } from '../../../terminal/numbers.ts';
import { changeText } from '../../check/index.ts';
import { cellSparks } from './cell-sparks.ts';
import type { ReportCell, ReportData } from './page-data.ts';
import { Markup, markup, shortened } from '../../../html/markup.ts';
import { SPARK_SWEEPS } from '../../../html/sparkline.ts';
import { batchOf, type KeyedCell } from '../../../records/cell.ts';
import { cellColumns } from '../../../terminal/cell-columns.ts';

type Compared = NonNullable<ReportData['compare']>['cells'][number];

/** The main table, worst cells first; needs no script, which only makes it sortable and filters it. */
export function cellsView(data: ReportData): Markup {
  const { cells, series } = data;
  const words = cellWords(cells.map(({ cell }) => cell));
  const compared = new Map((data.compare?.cells ?? []).map((entry) => [entry.key, entry]));
  const failed = new Set(data.check.series.cells.filter(({ status }) => status === 'failed').map(({ key }) => key));
  const findings = findingsByCell(data);
  const rows = cells
    .map((cell) => rowOf(cell, compared.get(cell.cell.key), findings.get(cell.cell.key) ?? [], failed))
    .toSorted((a, b) => b.badness - a.badness);
  const columns = columnsOf(data, words).filter(({ show }) => rows.some((row) => show(row) !== null));
  return markup`
<section id="cells" aria-labelledby="cells-title">
<h2 id="cells-title">Cells</h2>
<form class="filter script" role="search"><label>Only cells with <input type="search" id="filter" placeholder="vit fp8 b8" autocomplete="off" spellcheck="false"></label> <output id="filter-count" for="filter"></output></form>
<p class="note">${cells.length} cells, ${series.provenance} results, worst first; verdict and change: of the finding where there is one, else against ${shortened(data.compare?.baseRef ?? 'the previous sweep')}${words.caption === null ? '' : `; ${words.caption}`}</p>
<div class="wide" tabindex="0" role="region" aria-label="Table of cells"><table id="cells-table">
<thead><tr>${columns.map(({ header, kind }) => markup`<th scope="col" class="${kind}">${header}</th>`)}</tr></thead>
<tbody>
${rows.map((row) => cellRow(row, columns))}</tbody></table></div>
</section>`;
}

interface Row {
  readonly report: ReportCell;
  readonly findings: readonly FoundInCell[];
  /** Null where there is nothing to compare with. */
  readonly verdict: string | null;
  /** In percent; positive is a larger value, not always a slower one. */
  readonly changePercent: number | null;
  readonly ciPercent: readonly [number, number] | null;
  /** Why there is no verdict. */
  readonly reasons: readonly string[];
  /** The order of the table: the larger, the worse. */
  readonly badness: number;
}

/** What a verdict weighs before the size of its change does. */
const WEIGHTS: Readonly<Record<string, number>> = { slower: 4, failed: 2, missing: 2, faster: 1 };
/** Of a cell that is worse in another metric only. */
const WORSE_OTHERWISE = 3;
const WEIGHT = 1e9;

function rowOf(
  report: ReportCell,
  compared: Compared | undefined,
  findings: readonly FoundInCell[],
  failed: ReadonlySet<string>,
): Row {
  const own = findings.filter(({ change, finding }) => finding.kind !== 'limit' && change.metric === report.metric);
  const found = own.find(({ finding }) => finding.direction === 'slower') ?? own[0];
  const verdict = found?.finding.direction ?? compared?.verdict ?? (failed.has(report.cell.key) ? 'failed' : null);
  const { changePercent = null, ciPercent = null } = found?.change ?? compared ?? {};
  const size = Math.min(Math.abs(changePercent ?? 0), WEIGHT / 2);
  const isWorse = findings.some(({ finding }) => finding.direction === 'slower');
  const weight = Math.max(WEIGHTS[verdict ?? ''] ?? 0, isWorse ? WORSE_OTHERWISE : 0);
  const reasons = found === undefined ? (compared?.reasons ?? []) : [];
  return { report, findings, verdict, changePercent, ciPercent, reasons, badness: weight * WEIGHT + size };
}

type Finding = ReportData['check']['findings'][number];
type Change = Finding['details'][number];

/** Lasting findings, each with its change of the cell, in the metric of the report where it has that. */
function findingsByCell({ cells, check }: ReportData): Map<string, FoundInCell[]> {
  const metrics = new Map(cells.map(({ cell, metric }) => [cell.key, metric]));
  const lasting = check.findings.filter(({ state }) => state === 'confirmed' || state === 'open');
  const found = lasting.flatMap((finding) =>
    finding.cells.flatMap((key): FoundInCell[] => {
      const changes = finding.details.filter((one) => one.key === key);
      const change = changes.find(({ metric }) => metric === metrics.get(key)) ?? changes[0];
      return change === undefined ? [] : [{ key, finding, change }];
    }),
  );
  return Map.groupBy(found, ({ key }) => key);
}

interface FoundInCell {
  readonly key: string;
  readonly finding: Finding;
  readonly change: Change;
}

interface Column {
  readonly header: string;
  /** Classes of its head and its cells; `roomy` is left out where the window is narrow. */
  readonly kind: string;
  /** Null where there is nothing to show: a column of nothing is left out. */
  readonly show: (row: Row) => Markup | string | null;
  /** What it is sorted by, where that is not its text. */
  readonly sort?: (row: Row) => number | null;
}

function columnsOf(data: ReportData, words: CellWords): Column[] {
  const { sweeps } = data;
  const sparks = cellSparks(data);
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
    { header: 'change', kind: 'number', show: changeOf, sort: ({ changePercent }) => changePercent },
    { header: '95 %', kind: 'roomy', show: intervalOf },
    { header: 'now', kind: 'number roomy', show: valueOf, sort: ({ report }) => newestOf(report)?.value ?? null },
    {
      header: shown < 2 ? '' : `last ${shown} sweeps, ±${sparks.percent} %`,
      kind: 'sparks',
      show: ({ report }) => (shown < 2 ? null : sparks.of(report)),
    },
    { header: 'last measured', kind: 'roomy old', show: ({ report }) => oldDateOf(report, sweeps) },
    {
      header: 'finding',
      kind: 'roomy',
      show: ({ findings, report }) =>
        findings.length === 0 ? null : markup`${findings.map((found) => findingText(found, report))}`,
    },
    {
      header: 'cell',
      kind: 'roomy',
      show: ({ report: { cell } }) => markup`<a href="#cell=${cell.key}"><code>${cell.key.slice(0, 8)}</code></a>`,
    },
  ];
}

function cellRow(row: Row, columns: readonly Column[]): Markup {
  const { report, verdict } = row;
  const isChanged = verdict === 'slower' || verdict === 'faster';
  const { cudaGraph, key, model, precision, shapes } = report.cell;
  return markup`<tr data-key="${key}" data-verdict="${verdict}" data-model="${shortened(model)}" data-precision="${precision}" data-batch="${batchOf(shapes)}" data-graph="${cudaGraph ? 'on' : 'off'}">${columns.map(
    ({ kind, show, sort }) => {
      const text = show(row) ?? '';
      if (kind === 'name') return markup`<th scope="row">${text}</th>`;
      const classes = kind === 'verdict' && !isChanged ? `verdict ${text instanceof Markup ? '' : text}` : kind;
      return sort === undefined
        ? markup`<td class="${classes}">${text}</td>`
        : markup`<td class="${classes}" data-sort="${sort(row)}">${text}</td>`;
    },
  )}</tr>
`;
}

/** The first word, and below it the others where the window is narrow. */
function nameOf(cell: KeyedCell, { wordsOf }: CellWords): Markup {
  const [name = '', ...others] = wordsOf(cell).filter(Boolean);
  const rest = others.length === 0 ? null : markup`<small class="narrow">${shortened(others.join(' '))}</small>`;
  return markup`<a href="#cell=${cell.key}" title="${shortened(cellLabel(cell), 300)}">${name === '' ? cell.key.slice(0, 8) : shortened(name)}</a>${rest}`;
}

function changeOf({ changePercent, verdict }: Row): Markup | null {
  if (changePercent === null) return null;
  const kind = verdict === 'slower' || verdict === 'faster' ? verdict : 'none';
  return markup`<span class="${kind}">${formatPercent(changePercent)}</span>`;
}

/** Of the change that the row shows; why there is none, where there is no verdict. */
function intervalOf({ ciPercent, reasons }: Row): string | null {
  if (ciPercent !== null) return intervalText(ciPercent).replace(' … ', ' to ');
  return reasons.length === 0 ? null : shortened(reasons.join('; '), 160);
}

function newestOf({ values }: ReportCell) {
  return values.findLast((one) => one !== null) ?? null;
}

const INELIGIBLE_LABELS = [FLAG_LABELS.upperBound, FLAG_LABELS.invalidOutput, FLAG_LABELS.profilingOn];

/** Or why its measured values do not count. */
function valueOf({ report }: Row): Markup | string {
  const value = newestOf(report)?.value ?? null;
  if (value !== null) return `${formatNumber(value)} ${metricOf(report.metric).unit}`;
  const reasons = [...new Set(report.leftOut.map(({ reason }) => reason))].filter((reason) =>
    INELIGIBLE_LABELS.some((label) => reason.split(', ').includes(label)),
  );
  return markup`–${reasons.map((reason) => markup` <span class="slower">✗ ${reason}</span>`)}`;
}

/** Null where it was measured in the newest sweep. */
function oldDateOf({ values }: ReportCell, sweeps: ReportData['sweeps']): string | null {
  const newest = values.findLastIndex((one) => one !== null);
  if (newest === sweeps.length - 1) return null;
  return newest < 0 ? 'never' : (sweeps[newest]?.startedAt?.slice(0, 10) ?? 'unknown');
}

/** Its change is in the row already where it is of the same metric. */
function findingText({ change, finding }: FoundInCell, { metric }: ReportCell): Markup {
  const { acknowledged, direction, id, kind, state } = finding;
  const isOwn = change.metric === metric && kind !== 'limit';
  const what = kind === 'limit' ? 'limit broken, ' : '';
  const size = markup`${what}${gatedMetricOf(change.metric).label} <span class="${direction}">${changeText(change)}</span> `;
  return markup`<span class="found">${isOwn ? null : size}${acknowledged === null ? state : 'acknowledged'} <code>${id.slice(0, 8)}</code></span> `;
}

/** The four columns that name a cell, with the texts of each row. */
interface CellWords {
  readonly headers: readonly string[];
  /** What all cells share; null when nothing. */
  readonly caption: string | null;
  readonly wordsOf: (cell: KeyedCell) => readonly string[];
}

/** What all cells share is stated once, as in terminal tables. */
export function cellWords(cells: readonly KeyedCell[]): CellWords {
  const { columns: all, caption } = cellColumns(cells, (cell) => cell);
  // The page has every cell's key.
  const columns = all.filter(({ onlyIfAmbiguous }) => onlyIfAmbiguous !== true);
  return {
    headers: columns.map(({ header }) => header),
    caption,
    wordsOf: (cell) => columns.map(({ text }) => text(cell)),
  };
}
