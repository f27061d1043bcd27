import { cellLabel } from '../../../text/cell-label.ts';
import { metricOf } from '../../../records/metric.ts';
import { FLAG_LABELS } from '../../../records/run-flag.ts';
import { formatNumber, formatPercent } from '../../../terminal/numbers.ts';
import { VERDICT_SIGNS } from '../../../terminal/words.ts';
import { changeText } from '../../check/index.ts';
import type { ReportCell, ReportData } from './page-data.ts';
import { type Markup, markup, shortened } from '../../../html/markup.ts';
import { sparkline } from '../../../html/sparkline.ts';
import type { KeyedCell } from '../../../records/cell.ts';
import { cellColumns } from '../../../terminal/cell-columns.ts';

type Compared = NonNullable<ReportData['compare']>['cells'][number];

/** The main table; needs no script. */
export function cellsView(data: ReportData): Markup {
  const { cells, series } = data;
  const words = cellWords(cells.map(({ cell }) => cell));
  const compared = new Map((data.compare?.cells ?? []).map((entry) => [entry.key, entry]));
  const findings = findingsByCell(data);
  return markup`
<section id="cells" aria-labelledby="cells-title">
<h2 id="cells-title">Cells</h2>
<form class="filter script" role="search"><label>Only cells with <input type="search" id="filter" placeholder="vit fp8 b8" autocomplete="off" spellcheck="false"></label> <label><input type="checkbox" id="only-changed"> changed only</label> <output id="filter-count" for="filter only-changed"></output></form>
<div class="wide" tabindex="0" role="region" aria-labelledby="cells-title"><table id="cells-table">
<caption>${cells.length} cells, ${series.provenance} results${words.caption === null ? '' : `; ${words.caption}`}</caption>
<thead><tr><th scope="col">cell</th>${words.headers.map((header) => markup`<th scope="col">${header}</th>`)}<th scope="col" class="number">newest</th><th scope="col">night</th><th scope="col">all nights</th><th scope="col">against ${data.compare?.baseRef ?? 'the sweep before'}</th><th scope="col">finding</th></tr></thead>
<tbody>
${cells.map((cell) => cellRow(cell, data, words.wordsOf(cell.cell), compared.get(cell.cell.key), findings.get(cell.cell.key) ?? []))}</tbody></table></div>
</section>`;
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

function cellRow(
  { cell, leftOut, metric, nights }: ReportCell,
  { sweeps }: ReportData,
  words: readonly string[],
  compared: Compared | undefined,
  findings: readonly FoundInCell[],
): Markup {
  const newest = nights.findLastIndex((night) => night !== null);
  const night = nights[newest] ?? null;
  const date = sweeps[newest]?.startedAt?.slice(0, 10) ?? (newest < 0 ? 'never' : 'unknown');
  const isOld = newest >= 0 && newest < sweeps.length - 1;
  const age = isOld ? markup` class="old" title="not of the newest night"` : null;
  const ineligible = [...new Set(leftOut.map(({ reason }) => reason))].filter(isIneligibleReason);
  const value =
    night === null
      ? markup`–${ineligible.map((reason) => markup` <span class="finding slower">✗ ${reason}</span>`)}`
      : `${formatNumber(night.value)} ${metricOf(metric).unit}`;
  const isChanged = findings.length > 0 || compared?.verdict === 'slower' || compared?.verdict === 'faster';
  return markup`<tr data-key="${cell.key}" data-changed="${isChanged ? 'yes' : 'no'}"><th scope="row"><a href="#cell=${cell.key}" title="${shortened(cellLabel(cell), 300)}"><code>${cell.key.slice(0, 8)}</code></a></th>${words.map((word) => markup`<td>${shortened(word)}</td>`)}<td class="number">${value}</td><td${age}>${date}</td><td>${sparkline(nights.map((one) => one?.value ?? null))}</td>${comparedCell(compared)}<td>${findings.map(findingText)}</td></tr>
`;
}

const INELIGIBLE_LABELS = [FLAG_LABELS.upperBound, FLAG_LABELS.invalidOutput, FLAG_LABELS.profilingOn];

/** Reasons that exclude a measured value. */
function isIneligibleReason(reason: string): boolean {
  return INELIGIBLE_LABELS.some((label) => reason.split(', ').includes(label));
}

function comparedCell(compared: Compared | undefined): Markup {
  if (compared === undefined || compared.verdict === 'missing') {
    return markup`<td class="none">–</td>`;
  }
  const { verdict, changePercent, ciPercent, reasons } = compared;
  const change = changePercent === null ? '' : ` ${formatPercent(changePercent)}`;
  const interval =
    ciPercent === null ? reasons.join('; ') : `95 %: ${formatPercent(ciPercent[0])} to ${formatPercent(ciPercent[1])}`;
  return markup`<td class="verdict ${verdict}"><span>${VERDICT_SIGNS[verdict]} ${verdict}${change}</span>${interval === '' ? null : markup`<small>${shortened(interval, 160)}</small>`}</td>`;
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
