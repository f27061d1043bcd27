import { firstOfEach, isPresent, isShownWhole, nextCommands, ownClearest } from '../../check/index.ts';
import type { ComparedCell } from '../../compare/index.ts';
import { type Markup, markup, shortened, shortRef } from '../../../html/markup.ts';
import { ALERTING } from '../../../judge/history/settings.ts';
import type { GeometricMean } from '../../../records/verdict.ts';
import { median } from '../../../statistics/median.ts';
import { count, formatPercent, intervalText } from '../../../terminal/numbers.ts';
import { shellLine } from '../../../text/shell-quote.ts';
import {
  asSentence,
  commitLink,
  dateText,
  factsOf,
  type Finding,
  namesOf,
  cellsText,
  stateText,
  whichText,
} from './finding-words.ts';
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

interface Counts {
  readonly slower: number;
  readonly faster: number;
  readonly steady: number;
  /** Of the steady ones, those that too few runs decide nothing about. */
  readonly unclear: number;
  readonly without: number;
  readonly mean: GeometricMean | null;
}

export function storyOf(data: ReportData): Story {
  if (data.isOfSides && data.compare !== null) return comparedStory(data, data.compare);
  const { findings, series } = data.check;
  const shown = findings.filter(isShownWhole);
  const certain = shown.filter((one) => isSlower(one) && one.state !== 'suspected' && !one.isWarning);
  const suspected = shown.filter((one) => isSlower(one) && one.state === 'suspected');
  const open = findings.filter((one) => isSlower(one) && isPresent(one) && !isShownWhole(one));
  const warnings = shown.filter((one) => isSlower(one) && one.isWarning);
  const faster = shown.filter((one) => !isSlower(one) && isPresent(one));
  if (certain.length > 0) return findingStory(certain, data, '');
  if (suspected.length > 0) return findingStory(suspected, data, 'perhaps ');
  if (open.length > 0) return findingStory(open, data, 'still ');
  if (warnings.length > 0) return findingStory(warnings, data, '');
  if (faster.length > 0) return findingStory(faster, data, '');
  const cells = count(series.cells.length, 'cell');
  const isFirst = series.judgedBy === 'first';
  const counts = countsOf(data);
  return {
    tone: counts.without > 0 ? 'slower' : 'quiet',
    headline:
      counts.without > 0
        ? [`${counts.without} of ${cells}`, ' without a result']
        : isFirst
          ? ['First sweep', `: ${cells} measured`]
          : counts.unclear > 0 && counts.unclear === counts.steady
            ? ['No verdict', ` in ${cells}: too few runs`]
            : ['Nothing new', ` in ${cells}`],
    lead: isFirst
      ? markup`There is no sweep before this one to compare it with. The next sweep of this matrix and branch will be.`
      : markup`${detectableText(data)}${judgedText(data)}`,
    facts: [],
    commands: [],
    cell: steadiest(data),
    finding: null,
    counts,
  };
}

function isSlower({ direction }: Finding): boolean {
  return direction === 'slower';
}

function findingStory(findings: readonly Finding[], data: ReportData, adverb: string): Story {
  const [worst] = findings;
  const [what, size] = cellsText(findings);
  const tone = worst?.direction ?? 'quiet';
  const which = worst === undefined ? '' : whichText(worst, data);
  const since = worst === undefined ? '' : dateText(worst.firstBad?.startedAt);
  const keys = new Set(data.cells.map(({ cell }) => cell.key));
  const shown = worst === undefined ? [] : firstOfEach(worst).filter(({ key }) => keys.has(key));
  const clearest = worst === undefined ? undefined : ownClearest(worst, shown, data.check.findings);
  const others = data.check.findings.filter((one) => one !== worst && (isShownWhole(one) || isPresent(one))).length;
  return {
    tone,
    headline: [what.replace(/ (?=\w+$)/, ` ${adverb}`), size],
    lead:
      worst === undefined
        ? markup``
        : markup`${findings.length > 1 ? markup`First: ${cellsText([worst]).join('')}, ` : null}<b>${findings.length > 1 ? which : asSentence(which)}</b>, since ${since}. ${stateText(worst)}${judgedText(data)}${others === 0 ? null : markup` <a href="#findings">${count(others, 'more finding')}</a>`}`,
    facts: worst === undefined ? [] : factsOf(worst, data),
    commands: [
      ...(data.check.isStored ? [] : ['bench check']),
      ...(worst === undefined ? [] : nextCommands(worst, data.check.series)),
    ],
    cell: clearest?.key ?? steadiest(data),
    finding: worst?.id ?? null,
    counts: countsOf(data),
  };
}

/** What it was judged against, where that is not its own history. */
function judgedText({ check: { series } }: ReportData): string {
  const young =
    series.judgedBy === 'previousSweep'
      ? ` Too little history (${series.sweeps} of ${ALERTING.firstNight} sweeps): compared with the previous sweep.`
      : '';
  return series.baseBranch === null ? young : ` Judged against ${shortened(series.baseBranch, 60)}.${young}`;
}

/** Where nothing is found: what would have been. */
function detectableText({ compare }: ReportData): string {
  const decided = (compare?.cells ?? []).filter(({ verdict }) => verdict !== 'unclear');
  if (compare !== null && decided.length === 0) {
    return 'One run of a cell does not show its noise: measure with three or more runs a sweep.';
  }
  const effects = decided.flatMap(({ mdePercent }) => mdePercent ?? []);
  const middle = median(effects);
  if (middle === null) return 'There is no sweep before this one with a value to compare it with.';
  return `Against the previous sweep, a change of ${formatPercent(middle, false)} would have been found nine times in ten in half of the cells, and one of ${formatPercent(Math.max(...effects), false)} in ${decided.length === compare?.cells.length ? 'all of them' : `${decided.length} of ${compare?.cells.length ?? 0}`}. Smaller ones show after more sweeps.`;
}

/** The cell with the largest change that the comparison has, else the first with a value. */
function steadiest({ cells, compare }: ReportData): string | null {
  const largest = byChange(compare?.cells ?? [])[0]?.key;
  const measured = cells.filter(({ values }) => values.some((one) => one !== null));
  return (measured.find(({ cell }) => cell.key === largest) ?? measured[0])?.cell.key ?? null;
}

function byChange(cells: readonly ComparedCell[]): ComparedCell[] {
  return cells.toSorted((a, b) => Math.abs(b.changePercent ?? 0) - Math.abs(a.changePercent ?? 0));
}

function countsOf({ cells, check, compare }: ReportData): Counts {
  const present = check.findings.filter(({ state }) => state === 'confirmed' || state === 'open');
  const keysOf = (direction: Finding['direction']) =>
    new Set(present.filter((one) => one.direction === direction).flatMap((one) => one.cells));
  const [slow, fast] = [keysOf('slower'), keysOf('faster')];
  const shown = new Set(cells.map(({ cell }) => cell.key));
  const judged = check.series.cells.filter(({ key }) => shown.has(key));
  const failed = judged.filter(({ status }) => status === 'failed' || status === 'missing');
  const rest = judged.filter((cell) => !failed.includes(cell));
  const slower = rest.filter(({ key }) => slow.has(key)).length;
  const faster = rest.filter(({ key }) => fast.has(key) && !slow.has(key)).length;
  const mean = check.series.geometricMean;
  const steady = rest.length - slower - faster;
  // A history decides by more than the runs of its last two sweeps.
  const unclear = check.series.judgedBy === 'previousSweep' ? Math.min(steady, compare?.counts.unclear ?? 0) : 0;
  return { slower, faster, steady, unclear, without: failed.length, mean };
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
    counts: {
      slower: slower.length,
      faster: faster.length,
      steady: counts.same + counts.unclear,
      unclear: counts.unclear,
      without,
      mean: mean.length === 1 ? (mean[0] ?? null) : null,
    },
  };
}
