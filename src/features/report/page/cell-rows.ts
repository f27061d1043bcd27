import { type Markup, markup, shortened } from '../../../html/markup.ts';
import type { KeyedCell } from '../../../records/cell.ts';
import { cellColumns } from '../../../terminal/cell-columns.ts';
import { scalePercent, sparkline } from '../../../terminal/charts/sparkline.ts';
import { reasonWords } from '../../../terminal/words.ts';
import { type CheckedFinding, sentences, verdictText } from '../../check/index.ts';
import type { ReportCell, ReportData } from '../html-data.ts';
import { shortList } from '../../../text/printable.ts';
import { commitUrl, compareUrl } from '../../../tools/git/forge.ts';

type Finding = ReportData['check']['findings'][number];
export type Change = Finding['details'][number];

/** A row of the table of cells. */
export type Row = ReturnType<typeof rowsOf>[number];

export type FoundInCell = Row['findings'][number];

/** Weights by which the table is sorted first. The size of the change decides between equal weights. */
const WEIGHTS: Readonly<Record<string, number>> = { slower: 4, failed: 2, missing: 2, 'no result': 2, faster: 1 };
/** Weight of a cell that is worse only in another metric. */
const WORSE_OTHERWISE = 3;
const WEIGHT = 1e9;

/** The data of the page, with what several views show. */
export type PageModel = ReturnType<typeof pageModel>;

export function pageModel(data: ReportData) {
  const cells = data.cells.map(({ cell }) => cell);
  // As in terminal tables, the caption states once what all cells share.
  const { columns, caption } = cellColumns(cells, (cell) => cell);
  const wordsOf = (cell: KeyedCell) => columns.map(({ text }) => text(cell));
  /** From the columns of the table, without what all cells share. */
  const names = new Map(cells.map((cell) => [cell.key, wordsOf(cell).filter(Boolean).join(' ')]));
  const words = { headers: columns.map(({ header }) => header), caption, wordsOf };
  return { ...data, words, names, rows: rowsOf(data) };
}

/** Worst first. */
function rowsOf({ cells, check, compare }: ReportData) {
  const rows = cells.map((report) => {
    const { judgement, values } = report;
    const { base, changePercent, ciPercent, head, reasons } = judgement;
    const findings = lastingIn(report, check.findings);
    // With two named sides, the order follows their comparison.
    const isWorse = compare === null && findings.some(({ finding }) => finding.direction === 'slower');
    const verdict = verdictText(judgement) || null;
    const weight = Math.max(WEIGHTS[verdict ?? ''] ?? 0, isWorse ? WORSE_OTHERWISE : 0);
    return {
      report,
      findings,
      verdict,
      changePercent,
      ciPercent,
      /** Reference level, or value of the base. */
      before: base,
      /** The judged value, else the newest one; null without a result. */
      now: head ?? (verdict === 'no result' ? null : (values.findLast((one) => one !== null) ?? null)),
      /** Why there is no verdict. */
      reasons: reasons.map(reasonWords),
      badness: weight * WEIGHT + Math.min(Math.abs(changePercent ?? 0), WEIGHT / 2),
    };
  });
  return rows.toSorted((a, b) => b.badness - a.badness);
}

export function isChange({ verdict }: Row): boolean {
  return verdict === 'slower' || verdict === 'faster';
}

/** Present findings with their change of the cell: in its own metric if there is one. */
function lastingIn({ cell: { key }, metric }: ReportCell, findings: readonly Finding[]) {
  return findings.flatMap((finding) => {
    if (finding.state === 'recovered') return [];
    const changes = finding.details.filter((one) => one.key === key);
    const change = changes.find((one) => one.metric === metric) ?? changes[0];
    return change === undefined ? [] : [{ finding, change }];
  });
}

/** Number of newest sweeps in a picture. */
export const SPARK_SWEEPS = 16;

/** Pictures of the newest sweeps of each row as in `bench check`. All rows share the scale; `percent` is at its ends. */
export function cellSparks(rows: readonly Row[]) {
  // Larger changes are marked as beyond the scale, because they would flatten all others.
  const percent = Math.min(10, scalePercent(rows.filter(isChange).map(({ changePercent }) => changePercent)));
  const of = ({ before, report }: Row) => sparkline(report.values, SPARK_SWEEPS, { level: before, percent });
  return { percent, of };
}

/** Its cells and their change: `12 cells slower`, ` by 4.7 to 5.3 %`. */
export function cellsText(finding: CheckedFinding, page: PageModel): readonly [what: string, size: string] {
  const { size, what } = sentences(finding, page);
  // A non-breaking space keeps number and sign on one line.
  return [what, size.replaceAll(' %', '\u00a0%')];
}

/** What the cells have in common: `all fp8 of vit_small and vit_base`, else a few of their names. */
function whichText({ cells, labels }: CheckedFinding, group: string, page: PageModel): string {
  if (group !== '') return shortened(group);
  const own = cells.map((key, place) => shortened(page.names.get(key) ?? labels[place] ?? key, 80));
  return shortList(own, 2, ', ', ' and ');
}

/** Which cells a finding is about, since when, and its state. */
export function aboutText(finding: CheckedFinding, page: PageModel): Markup {
  const { acknowledged } = finding;
  const { group, span, state } = sentences(finding, page);
  const which = whichText(finding, group, page);
  const reason = acknowledged === null ? '' : `: ${shortened(acknowledged.reason)}`;
  return markup`<b>${which.startsWith('all ') ? capitalized(which) : which}</b>, ${span}: ${state}${reason}.`;
}

export function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** `4aac0ffa`, as a link if the forge is known. */
export function commitLink({ forge }: Pick<ReportData, 'forge'>, commit: string): Markup {
  const text = markup`<code>${commit.slice(0, 8)}</code>`;
  return linked(text, forge === null ? null : commitUrl(forge, commit));
}

function linked(text: Markup, url: string | null): Markup {
  return url === null ? text : markup`<a href="${url}" rel="noreferrer">${text}</a>`;
}

export type Fact = readonly [term: string, says: Markup];

/** The known facts of a finding: since when, causes, certainty and owner. */
export function factsOf(finding: CheckedFinding, page: PageModel): Fact[] {
  const { causes, edges, evidence } = sentences(finding, page);
  const { owner } = finding;
  return [
    ...firstBadFact(finding, edges.first, page),
    ...causes.map(([term, says]) => [capitalized(term), markup`${shortened(says, 300)}`] as const),
    ...(evidence.length === 0 ? [] : [['Evidence', markup`${evidence.join(', ').replaceAll(' … ', ' to ')}`] as const]),
    ...(owner === null ? [] : [['Owner', markup`${shortened(owner)}`] as const]),
  ];
}

function firstBadFact({ cause, commits, firstBad, lastGood }: CheckedFinding, first: string, data: ReportData): Fact[] {
  // No commit makes a machine slow.
  if (firstBad === null || cause === 'machine') return [];
  const [good, bad] = [lastGood?.commit ?? null, firstBad.commit];
  if (bad === null) return [[capitalized(`${first} sweep`), markup`<code>${firstBad.sweepId.slice(0, 8)}</code>`]];
  const subject = commits.find(({ commit }) => commit === bad)?.subject ?? null;
  const compared = good === null || data.forge === null ? null : compareUrl(data.forge, good, bad);
  const says =
    good === bad
      ? markup` in both sweeps: the cause is not a commit`
      : [
          subject === null ? null : markup` \u201c${shortened(subject)}\u201d`,
          compared === null ? null : markup` ${linked(markup`compare with the one before`, compared)}`,
        ];
  return [[capitalized(`${first} commit`), markup`${commitLink(data, bad)}${says}`]];
}

export function factList(facts: readonly Fact[]): Markup | null {
  if (facts.length === 0) return null;
  return markup`<dl class="facts">${facts.map(([term, says]) => markup`<dt>${term}</dt><dd>${says}</dd>`)}</dl>`;
}

/** ID of the element of a finding on the page. */
export function findingAnchor({ id }: Pick<CheckedFinding, 'id'>): string {
  return `finding-${id.slice(0, 8)}`;
}

/** A link that opens the report at the cell. */
export function cellLink(key: string, label: string): Markup {
  return markup`<a href="#cell=${key}">${shortened(label)}</a>`;
}
