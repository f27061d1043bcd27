import { type CheckedFinding, sentences } from '../../check/index.ts';
import { type Markup, markup, shortened, withOptions } from '../../../html/markup.ts';
import { commitUrl, compareUrl } from '../../../tools/git/forge.ts';
import { cellWords } from './cell-rows.ts';
import type { ReportData } from './report-data.ts';

export type Change = CheckedFinding['details'][number];

/** Its cells and their change: `12 cells slower`, ` by 4.7 to 5.3 %`. */
export function cellsText(finding: CheckedFinding, data: ReportData): readonly [what: string, size: string] {
  const { size, what } = sentences(finding, data);
  // A non-breaking space keeps number and sign on one line.
  return [what, size.replaceAll(' %', '\u00a0%')];
}

/** What the cells have in common: `all fp8 of vit_small and vit_base`, else a few of their names. */
function whichText({ cells, labels }: CheckedFinding, group: string, data: ReportData): string {
  if (group !== '') return shortened(group);
  const names = namesOf(data);
  const own = cells.map((key, place) => names.get(key) ?? labels[place] ?? key);
  const more = own.length > 2 ? ` and ${own.length - 2} more` : '';
  return `${own
    .slice(0, 2)
    .map((name) => shortened(name, 80))
    .join(', ')}${more}`;
}

/** Names of cells from the columns of the table, without what all cells share. */
export function namesOf({ cells }: ReportData): Map<string, string> {
  const { wordsOf } = cellWords(cells.map(({ cell }) => cell));
  return new Map(cells.map(({ cell }) => [cell.key, wordsOf(cell).filter(Boolean).join(' ')]));
}

/** Which cells a finding is about, since when, and its state. */
export function aboutText(finding: CheckedFinding, data: ReportData): Markup {
  const { acknowledged } = finding;
  const { group, span, state } = sentences(finding, data);
  const which = whichText(finding, group, data);
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

function linked(text: Markup | string, url: string | null): Markup {
  return url === null ? markup`${text}` : markup`<a href="${url}" rel="noreferrer">${text}</a>`;
}

export type Fact = readonly [term: string, says: Markup];

/** The known facts of a finding: since when, causes, certainty and owner. */
export function factsOf(finding: CheckedFinding, data: ReportData): Fact[] {
  const { causes, edges, evidence } = sentences(finding, data);
  const { owner } = finding;
  return [
    ...firstBadFact(finding, edges, data),
    ...causes.map(([term, says]) => [capitalized(term), withOptions(shortened(says, 300))] as const),
    ...(evidence.length === 0 ? [] : [['Evidence', markup`${evidence.join(', ').replaceAll(' … ', ' to ')}`] as const]),
    ...(owner === null ? [] : [['Owner', markup`${shortened(owner)}`] as const]),
  ];
}

/** Most cells listed for a finding. */
const LISTED = 50;

function firstBadFact(
  { commits, firstBad, lastGood }: CheckedFinding,
  edge: ReturnType<typeof sentences>['edges'],
  data: ReportData,
): Fact[] {
  if (firstBad === null) return [];
  const [good, bad] = [lastGood?.commit ?? null, firstBad.commit];
  if (bad === null) return [[capitalized(`${edge.first} sweep`), markup`<code>${firstBad.sweepId.slice(0, 8)}</code>`]];
  if (good === bad) {
    return [['Commit', markup`${commitLink(data, bad)} in both sweeps: the cause is not a commit`]];
  }
  const subject = commits.find(({ commit }) => commit === bad)?.subject;
  const before = edge.last === 'last good' ? 'last good one' : 'one before';
  const number = commits.length < LISTED ? String(commits.length) : `${LISTED} or more`;
  const range = commits.length < 2 ? `compare with the ${before}` : `one of ${number} commits`;
  const compared = good === null || data.forge === null ? null : compareUrl(data.forge, good, bad);
  const isShown = commits.length > 1 || compared !== null;
  return [
    [
      capitalized(`${edge.first} commit`),
      markup`${commitLink(data, bad)}${subject === undefined ? null : markup` “${shortened(subject)}”`}${isShown ? markup` <span class="none">${linked(range, compared)}</span>` : null}`,
    ],
  ];
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
