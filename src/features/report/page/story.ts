import {
  type CheckedFinding,
  firstOfEach,
  isPresent,
  isShownWhole,
  newFirst,
  nextCommands,
  ownClearest,
  standingOf,
  statesText,
} from '../../check/index.ts';
import type { ComparedCell } from '../../compare/index.ts';
import { type Markup, markup, shortened, shortRef } from '../../../html/markup.ts';
import type { GeometricMean } from '../../../records/verdict.ts';
import { median } from '../../../statistics/median.ts';
import { count, formatPercent, intervalText } from '../../../terminal/numbers.ts';
import { shellLine } from '../../../text/shell-quote.ts';
import { ownRows } from './cell-rows.ts';
import { aboutText, capitalized, cellsText, commitLink, factsOf, namesOf } from './finding-words.ts';
import type { ReportData } from './report-data.ts';

/** What the first screen says. */
export interface Story {
  readonly tone: 'slower' | 'faster' | 'quiet';
  /** One sentence; its first part is in the color of the tone. */
  readonly headline: readonly [string, string];
  readonly lead: Markup;
  readonly facts: readonly (readonly [term: string, says: Markup])[];
  /** To be typed next. */
  readonly commands: readonly string[];
  /** Key of the cell whose chart is shown; null if none has a value. */
  readonly cell: string | null;
  /** Id of the finding that it is about. */
  readonly finding: string | null;
  readonly counts: Counts;
}

/** Cells by what is said of them. */
interface Counts {
  readonly cells: readonly (readonly [number: number, verdict: string])[];
  readonly mean: GeometricMean | null;
}

export function storyOf(data: ReportData): Story {
  if (data.compare !== null) return comparedStory(data, data.compare);
  const { findings, series } = data.check;
  const { failed, faster, limits, slower, warnings } = standingOf(findings, series.cells);
  const reported = [newFirst([...slower, ...limits]), warnings, faster].find(({ length }) => length > 0) ?? [];
  const counts = countsOf(data, series.geometricMean);
  const [worst] = reported;
  if (worst !== undefined) return { ...findingStory(worst, reported, data), counts };
  return {
    tone: failed > 0 ? 'slower' : 'quiet',
    headline: [capitalized(series.headline), ''],
    lead:
      series.judgedBy === 'first'
        ? markup`There is no sweep before this one to compare it with. The next sweep of this matrix and branch will be.`
        : markup`${detectableText(data)}`,
    facts: [],
    commands: [],
    cell: steadiest(data),
    finding: null,
    counts,
  };
}

/** About those that are similar to the first: of one kind, in one metric. */
function findingStory(
  worst: CheckedFinding,
  reported: readonly CheckedFinding[],
  data: ReportData,
): Omit<Story, 'counts'> {
  const { findings, isStored, series } = data.check;
  const similar = reported.filter(
    ({ details: [clearest], kind }) => kind === worst.kind && clearest?.metric === worst.details[0]?.metric,
  );
  const [what, size] = cellsText(similar);
  const keys = new Set(data.cells.map(({ cell }) => cell.key));
  const clearest = ownClearest(
    worst,
    firstOfEach(worst).filter(({ key }) => keys.has(key)),
    findings,
  );
  const others = findings.filter((one) => one.id !== worst.id && (isShownWhole(one) || isPresent(one))).length;
  const first = similar.length > 1 ? `First: ${cellsText([worst]).join('')}, ` : '';
  const base = series.baseBranch === null ? '' : ` Compared with ${shortened(series.baseBranch, 60)}.`;
  return {
    tone: worst.direction,
    headline: [what, `${size}: ${statesText(similar)}`],
    lead: markup`${first}${aboutText(worst, data)}${base}${others === 0 ? null : markup` <a href="#findings">${count(others, 'more finding')}</a>`}`,
    facts: factsOf(worst, data),
    commands: [...(isStored ? [] : ['bench check']), ...nextCommands(worst, series)],
    cell: clearest?.key ?? steadiest(data),
    finding: worst.id,
  };
}

/** Where nothing is found: what would have been. */
function detectableText({ cells }: ReportData): string {
  const effects = cells.flatMap(({ judgement }) =>
    judgement.kind === 'values' || (judgement.kind === 'compared' && judgement.verdict === 'unclear')
      ? []
      : (judgement.mdePercent ?? []),
  );
  const middle = median(effects);
  if (middle === null) return 'One run of a cell does not show its noise: measure with three or more runs a sweep.';
  return `A change of ${formatPercent(middle, false)} would have been found nine times in ten in half of the cells, and one of ${formatPercent(Math.max(...effects), false)} in ${effects.length === cells.length ? 'all of them' : `${effects.length} of ${cells.length}`}. Smaller ones show after more sweeps.`;
}

/** The cell at the top of the table of those with a value. */
function steadiest(data: ReportData): string | null {
  const rows = [...ownRows(data).values()];
  return rows.find(({ report }) => report.values.some((one) => one !== null))?.report.cell.key ?? null;
}

function byChange(cells: readonly ComparedCell[]): ComparedCell[] {
  return cells.toSorted((a, b) => Math.abs(b.changePercent ?? 0) - Math.abs(a.changePercent ?? 0));
}

/** Always shown; the others where there are any. */
const COUNTED = ['slower', 'faster', 'same'];

function countsOf(data: ReportData, mean: GeometricMean | null): Counts {
  const byVerdict = Map.groupBy(ownRows(data).values(), ({ verdict }) => verdict ?? 'no result');
  const words = new Set([...COUNTED, ...[...byVerdict.keys()].toSorted()]);
  return { cells: [...words].map((word) => [byVerdict.get(word)?.length ?? 0, word]), mean };
}

/** @param without cells that have no result on one of the sides, or cannot be compared */
function quietHeadline(compared: number, without: number, isUnclear: boolean): Story['headline'] {
  if (compared === 0) return ['Nothing to compare', ` in ${count(without, 'cell')}`];
  const rest = without === 0 ? '' : `, ${without} not compared`;
  return [isUnclear ? 'No clear change' : 'No change', ` in ${count(compared, 'cell')}${rest}`];
}

function comparedStory(data: ReportData, compare: NonNullable<ReportData['compare']>): Story {
  const { base, cells, counts, geometricMeans, head } = compare;
  const [baseRef, headRef] = [shortRef(compare.baseRef), shortRef(compare.headRef)];
  const ofVerdict = (verdict: ComparedCell['verdict']) => byChange(cells.filter((cell) => cell.verdict === verdict));
  const [slower, faster] = [ofVerdict('slower'), ofVerdict('faster')];
  const tone = slower.length > 0 ? 'slower' : faster.length > 0 ? 'faster' : 'quiet';
  const changed = slower.length > 0 ? slower : faster;
  const [worst] = changed;
  const sizes = changed.map(({ changePercent }) => Math.abs(changePercent ?? 0));
  const ends = [...new Set([Math.min(...sizes), Math.max(...sizes)].map((size) => formatPercent(size, false)))];
  const commit = ({ commit: id, note }: typeof base): Markup =>
    markup`${id === null ? null : markup` ${commitLink(data, id)}`}${note === null ? null : ` (${shortened(note, 200)})`}`;
  const mean = geometricMeans.filter(({ by }) => by === 'all');
  const without = counts.missing + counts.failed + counts.incomparable;
  return {
    tone,
    headline:
      worst === undefined
        ? quietHeadline(cells.length - without, without, counts.unclear > 0)
        : [
            `${changed.length} of ${count(cells.length, 'cell')} ${tone}`,
            ` by ${ends.join(' to ').replace(' % to', ' to')}`,
          ],
    lead: markup`<b>${headRef}</b> against <b>${baseRef}</b>.${worst === undefined ? ` ${detectableText(data)}` : markup` The ${tone === 'slower' ? 'worst' : 'largest'}: <b>${shortened(namesOf(data).get(worst.key) ?? worst.label, 80)}</b>, ${formatPercent(worst.changePercent)}.`}${counts.unclear === 0 ? null : ` ${count(counts.unclear, 'cell')} unclear: too few runs.`}`,
    facts: [
      ['Base', markup`${baseRef}${commit(base)}`],
      ['Head', markup`${headRef}${commit(head)}`],
      ...(worst === undefined || worst.cause === null
        ? []
        : [['Likeliest cause', markup`${shortened(worst.cause.title, 300)}`] as const]),
      ...(worst === undefined || worst.ciPercent === null
        ? []
        : [
            [
              'Evidence',
              markup`95 %: ${intervalText(worst.ciPercent).replace(' … ', ' to ')}, ${worst.runs.join(' and ')} runs`,
            ] as const,
          ]),
    ],
    commands: [
      ...(worst === undefined ? [] : [shellLine(['bench', 'why', worst.key.slice(0, 8), baseRef, headRef])]),
      shellLine(['bench', 'compare', baseRef, headRef]),
    ],
    cell: worst?.key ?? steadiest(data),
    finding: null,
    counts: countsOf(data, mean.length === 1 ? (mean[0] ?? null) : null),
  };
}
