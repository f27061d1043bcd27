import { cellLabel } from '../../../text/cell-label.ts';
import { metricOf } from '../../../records/metric.ts';
import { FLAG_LABELS } from '../../../records/run-flag.ts';
import { formatNumber, formatPercent, intervalText } from '../../../terminal/numbers.ts';
import { changeText } from '../../check/index.ts';
import type { ReportCell, ReportData } from './page-data.ts';
import { type Markup, markup, shortened } from '../../../html/markup.ts';
import { sparkline } from '../../../html/sparkline.ts';
import type { KeyedCell } from '../../../records/cell.ts';
import { cellColumns } from '../../../terminal/cell-columns.ts';

type Compared = NonNullable<ReportData['compare']>['cells'][number];

/** The main table, worst cells first; needs no script, which only makes it sortable. */
export function cellsView(data: ReportData): Markup {
  const { cells, series } = data;
  const words = cellWords(cells.map(({ cell }) => cell));
  const compared = new Map((data.compare?.cells ?? []).map((entry) => [entry.key, entry]));
  const findings = findingsByCell(data);
  const rows = cells
    .map((cell) => rowOf(cell, compared.get(cell.cell.key), findings.get(cell.cell.key) ?? []))
    .toSorted((a, b) => b.badness - a.badness);
  return markup`
<section id="cells" aria-labelledby="cells-title">
<h2 id="cells-title">Cells</h2>
<form class="filter script" role="search"><label>Only cells with <input type="search" id="filter" placeholder="vit fp8 b8" autocomplete="off" spellcheck="false"></label> <label><input type="checkbox" id="only-changed"> changed only</label> <output id="filter-count" for="filter only-changed"></output></form>
<div class="wide" tabindex="0" role="region" aria-labelledby="cells-title"><table id="cells-table">
<caption>${cells.length} cells, ${series.provenance} results, worst first; verdict and change: of the finding where there is one, else against ${shortened(data.compare?.baseRef ?? 'the previous sweep')}${words.caption === null ? '' : `; ${words.caption}`}</caption>
<thead><tr><th scope="col">verdict</th>${words.headers.map((header) => markup`<th scope="col">${header}</th>`)}<th scope="col" class="number">change</th><th scope="col" class="number">now</th><th scope="col">95 %</th><th scope="col">all sweeps</th><th scope="col">measured</th><th scope="col">finding</th><th scope="col">cell</th></tr></thead>
<tbody>
${rows.map((row) => cellRow(row, data, words.wordsOf(row.report.cell)))}</tbody></table></div>
</section>`;
}

interface Row {
  readonly report: ReportCell;
  readonly compared: Compared | undefined;
  readonly findings: readonly FoundInCell[];
  readonly verdict: string;
  /** In percent; positive is a larger value, not always a slower one. */
  readonly changePercent: number | null;
  /** The order of the table: the larger, the worse. */
  readonly badness: number;
}

/** What a verdict weighs before the size of its change does. */
const WEIGHTS: Readonly<Record<string, number>> = { slower: 3, failed: 2, missing: 2, faster: 1 };
const WEIGHT = 1e9;

function rowOf(report: ReportCell, compared: Compared | undefined, findings: readonly FoundInCell[]): Row {
  const found = findings.find(({ finding }) => finding.direction === 'slower') ?? findings[0];
  const verdict = found?.finding.direction ?? compared?.verdict ?? 'missing';
  const changePercent = found?.change.changePercent ?? compared?.changePercent ?? null;
  const size = Math.min(Math.abs(changePercent ?? 0), WEIGHT / 2);
  return { report, compared, findings, verdict, changePercent, badness: (WEIGHTS[verdict] ?? 0) * WEIGHT + size };
}

type Finding = ReportData['check']['findings'][number];
type Change = Finding['details'][number];

/** Lasting findings, each with the clearest change of the cell. */
function findingsByCell({ check }: ReportData): Map<string, FoundInCell[]> {
  const lasting = check.findings.filter(({ state }) => state === 'confirmed' || state === 'open');
  const found = lasting.flatMap((finding) =>
    finding.cells.flatMap((key): FoundInCell[] => {
      const change = finding.details.find((one) => one.key === key);
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

function cellRow(row: Row, { sweeps }: ReportData, words: readonly string[]): Markup {
  const { changePercent, compared, findings, report, verdict } = row;
  const { cell, leftOut, metric, nights } = report;
  const newest = nights.findLastIndex((night) => night !== null);
  const night = nights[newest] ?? null;
  const date = sweeps[newest]?.startedAt?.slice(0, 10) ?? (newest < 0 ? 'never' : 'unknown');
  const isOld = newest >= 0 && newest < sweeps.length - 1;
  const age = isOld ? markup` class="old" title="not of the newest sweep"` : null;
  const ineligible = [...new Set(leftOut.map(({ reason }) => reason))].filter(isIneligibleReason);
  const value =
    night === null
      ? markup`–${ineligible.map((reason) => markup` <span class="finding slower">✗ ${reason}</span>`)}`
      : `${formatNumber(night.value)} ${metricOf(metric).unit}`;
  const isChanged = verdict === 'slower' || verdict === 'faster';
  const [name = '', ...others] = words;
  const link = (text: Markup | string): Markup =>
    markup`<a href="#cell=${cell.key}" title="${shortened(cellLabel(cell), 300)}">${text}</a>`;
  const title = name === '' ? cell.key.slice(0, 8) : shortened(name);
  return markup`<tr data-key="${cell.key}" data-changed="${isChanged ? 'yes' : 'no'}"><td class="verdict${isChanged ? '' : ` ${verdict}`}">${verdict}</td><th scope="row">${link(title)}</th>${others.map((word) => markup`<td>${shortened(word)}</td>`)}<td class="number" data-sort="${changePercent ?? ''}"><span class="${isChanged ? verdict : 'none'}">${changePercent === null ? '–' : formatPercent(changePercent)}</span></td><td class="number" data-sort="${night?.value ?? ''}">${value}</td><td>${intervalOf(row, compared)}</td><td>${sparkline(nights.map((one) => one?.value ?? null))}</td><td${age}>${date}</td><td>${findings.map(findingText)}</td><td>${link(markup`<code>${cell.key.slice(0, 8)}</code>`)}</td></tr>
`;
}

const INELIGIBLE_LABELS = [FLAG_LABELS.upperBound, FLAG_LABELS.invalidOutput, FLAG_LABELS.profilingOn];

/** Reasons that exclude a measured value. */
function isIneligibleReason(reason: string): boolean {
  return INELIGIBLE_LABELS.some((label) => reason.split(', ').includes(label));
}

/** Of the change that the row shows; why there is none, where there is no verdict. */
function intervalOf({ findings }: Row, compared: Compared | undefined): string {
  const ciPercent = findings.length > 0 ? (findings[0]?.change.ciPercent ?? null) : (compared?.ciPercent ?? null);
  if (ciPercent !== null) return intervalText(ciPercent).replace(' … ', ' to ');
  return findings.length > 0 ? '' : shortened((compared?.reasons ?? []).join('; '), 160);
}

function findingText({ change, finding: { acknowledged, direction, id, state } }: FoundInCell): Markup {
  const sign = direction === 'slower' ? '▲' : '▼';
  const mark = acknowledged === null ? state : 'acknowledged';
  return markup`<span class="finding ${direction}">${sign} ${changeText(change)} ${mark} <code>${id.slice(0, 8)}</code></span> `;
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
