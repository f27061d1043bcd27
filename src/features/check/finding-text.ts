import { gatedMetricOf } from '../../records/gated-metric.ts';
import { cellTable, shortNames, withCells } from '../../terminal/cell-columns.ts';
import type { Look } from '../../terminal/look.ts';
import { count } from '../../terminal/numbers.ts';
import { labelledItems, truncate, wrapHanging } from '../../terminal/text-width.ts';
import { printable } from '../../text/printable.ts';
import { changeText, groupText, levelText } from './change-text.ts';
import { chartText } from './chart-text.ts';
import { causesOf, edgeWords, evidenceOf, firstOfEach, nextCommands, rangeText, sizeText } from './finding-words.ts';
import type { CheckedFinding, CheckedSeries } from './output.ts';
import type { SeriesPicture } from './picture.ts';
import { shortList } from '../../text/short-list.ts';

const SHOWN_CELLS = 12;

interface SeriesOfFinding extends Pick<CheckedSeries, 'canConfirm' | 'sweepId'> {
  readonly cells: readonly unknown[];
}

/** A finding in full: how sure it is, its causes and commits, its clearest cell over time, and what to type next. */
export function findingText(
  finding: CheckedFinding,
  all: readonly CheckedFinding[],
  series: SeriesOfFinding,
  picture: SeriesPicture,
  look: Look,
): string[] {
  const { columns } = look;
  return [
    ...wrapHanging(`${signOf(finding)} ${titleOf(finding, picture, series.cells.length)}`, columns, 2).map(
      paintOf(finding, look),
    ),
    ...wrapHanging(`  ${stateText(finding, picture)}`, columns, 4),
    ...pairedText(finding, picture).flatMap((text) => wrapHanging(`  ${text}`, columns, 4)),
    ...causeLines(finding, look),
    ...otherMetrics(finding, picture, look),
    ...alsoText(finding).flatMap((text) => wrapHanging(`  ${text}`, columns, 4)),
    ...chartText(finding, all, picture, look),
    ...nextSteps(finding, series, columns),
  ];
}

/** `▲ a40520f1 12 cells slower by 4.9 to 5.3 %: all fp8, since 2026-02-24`. */
export function findingLine(finding: CheckedFinding, picture: SeriesPicture, look: Look): string[] {
  return wrapHanging(`${signOf(finding)} ${titleOf(finding, picture)}`, look.columns, 2).map(paintOf(finding, look));
}

function signOf({ direction }: CheckedFinding): string {
  return direction === 'slower' ? '▲' : '▼';
}

function paintOf({ direction, isWarning }: CheckedFinding, { style }: Look): (text: string) => string {
  if (isWarning) return style.warn;
  return direction === 'slower' ? style.bad : style.good;
}

/** @param ofCells number of cells in the series */
function titleOf(finding: CheckedFinding, picture: SeriesPicture, ofCells: number | null = null): string {
  return `${finding.id.slice(0, 8)} ${sentenceOf(finding, picture, ofCells)}`;
}

/** What got slower, by how much, what its cells share, since when. @param ofCells number of cells in the series */
export function sentenceOf(finding: CheckedFinding, picture: SeriesPicture, ofCells: number | null = null): string {
  const { cells, group, labels } = finding;
  const [own, all] = [cells, picture.cells.keys()].map((keys) =>
    [...keys].flatMap((key) => picture.cells.get(key)?.cell.model ?? []),
  );
  const of = ofCells === null || ofCells === cells.length ? '' : `of ${ofCells} `;
  const which = cells.length === 1 ? printable(labels[0] ?? '') : `${cells.length} ${of}cells`;
  const shared = group.length === 0 || cells.length === 1 ? '' : `: ${groupText(group, own, all)}`;
  return `${which} ${sizeText([finding]).join('')}${shared}, ${spanText(finding)}`;
}

/** `since 2026-02-10`; of what is over `from 2026-02-10 to 2026-02-11`, or `on 2026-02-10 only`. */
export function spanText({ firstBad, lastBad, state }: CheckedFinding): string {
  const [from = 'an unknown date', to = from] = [firstBad?.startedAt?.slice(0, 10), lastBad?.startedAt?.slice(0, 10)];
  if (state !== 'recovered') return `since ${from}`;
  return from === to ? `on ${from} only` : `from ${from} to ${to}`;
}

/** `new, in GPU compute time: 5 of 5 pairs …; owner team-vision`. */
function stateText(finding: CheckedFinding, { sweeps }: SeriesPicture): string {
  const evidence = evidenceOf(finding, sweeps).join(', ');
  const owner = finding.owner === null ? '' : `; owner ${printable(finding.owner)}`;
  return `${stateWords(finding)}${metricText(finding)}${evidence === '' ? '' : `: ${evidence}`}${owner}`;
}

/** Cells that are named of those that were measured in pairs, and of those that were not. */
const NAMED_CELLS = 3;

/** Which cells were measured in pairs, and which follow, where some do. */
function pairedText({ cells, pairs }: CheckedFinding, picture: SeriesPicture): string[] {
  const paired = new Set(pairs?.cells);
  const nameOf = shortNames([...picture.cells.values()].map(({ cell }) => cell));
  const [own, others] = [true, false].map((isOwn) => {
    const names = [...picture.cells]
      .filter(([key]) => cells.includes(key) && paired.has(key) === isOwn)
      .map(([, { cell }]) => printable(nameOf(cell)));
    return shortList(names, NAMED_CELLS);
  });
  return paired.size === 0 || others === '' ? [] : [`measured in pairs: ${own}; moved similarly: ${others}`];
}

/** ` in GPU compute time`, of its clearest cell. */
function metricText({ details: [clearest] }: CheckedFinding): string {
  return clearest === undefined ? '' : ` in ${printable(gatedMetricOf(clearest.metric).label)}`;
}

/** `new`, `open, a broken limit`. */
export function stateWords({ isWarning, kind, state }: CheckedFinding): string {
  const what = isWarning ? ', a warning' : kind === 'limit' ? ', a broken limit' : '';
  return `${state}${what}`;
}

/** Of limits, and of metrics that the table of cells does not have: what they were and are. */
function otherMetrics(finding: CheckedFinding, picture: SeriesPicture, look: Look): string[] {
  const isLimit = finding.kind === 'limit';
  const shown = firstOfEach(finding).filter(({ key, metric }) => isLimit || picture.cells.get(key)?.metric !== metric);
  const table = changesTable(finding, shown.slice(0, SHOWN_CELLS), picture, { ...look, columns: look.columns - 2 });
  const more = shown.length - SHOWN_CELLS;
  return [
    ...table,
    ...(more > 0 ? [look.style.dim(`and ${more} more: bench show ${finding.id.slice(0, 8)}`)] : []),
  ].map((line) => `  ${line}`);
}

/** What some of the metrics of its cells were and are. */
export function changesTable(
  { kind }: CheckedFinding,
  shown: CheckedFinding['details'],
  picture: SeriesPicture,
  look: Look,
): string[] {
  const isLimit = kind === 'limit';
  const cells = new Map([...picture.cells].map(([key, { cell }]) => [key, cell]));
  const changes = withCells(shown, cells);
  if (changes.length === 0) return [];
  return cellTable(
    changes,
    [
      { header: 'metric', text: ({ metric }) => printable(gatedMetricOf(metric).label), minWidth: 8, dropRank: 1 },
      { header: isLimit ? 'limit' : 'before', text: (row) => levelText(row, row.before), align: 'right', dropRank: 3 },
      { header: isLimit ? 'value' : 'after', text: (row) => levelText(row, row.after), align: 'right', dropRank: 2 },
      { header: isLimit ? 'beyond' : 'change', text: changeText, align: 'right' },
    ],
    look,
  );
}

/** The other metrics, each with the range of its changes. */
function alsoText(finding: CheckedFinding): string[] {
  const first = new Set(firstOfEach(finding));
  const others = finding.details.filter((change) => !first.has(change));
  const byMetric = [...Map.groupBy(others, ({ metric }) => metric)];
  const texts = byMetric.map(([metric, own]) => `${printable(gatedMetricOf(metric).label)} ${rangeText(own, true)}`);
  return texts.length === 0 ? [] : [`also: ${texts.join(', ')}`];
}

function nextSteps(finding: CheckedFinding, series: Omit<SeriesOfFinding, 'cells'>, columns: number): string[] {
  const what = finding.kind === 'limit' ? 'it may stay' : 'next';
  return labelledItems(`  ${what}: `, nextCommands(finding, series), columns);
}

/** Ended findings are shown for this number of sweeps. */
const SHOWN_ENDED = 10;

/** Findings that are acknowledged, over, or faster since an earlier sweep. */
export function earlierText(
  findings: readonly CheckedFinding[],
  picture: SeriesPicture,
  { style, columns }: Look,
): string[] {
  const [lasting, ended] = [false, true].map((isEnded) =>
    findings.filter(({ state }) => (state === 'recovered') === isEnded),
  );
  const shown = [...(lasting ?? []), ...(ended ?? []).slice(0, SHOWN_ENDED)];
  if (shown.length === 0) return [];
  return [
    '',
    style.strong('reported before'),
    ...shown.flatMap((finding) =>
      wrapHanging(`  ${finding.state}${metricText(finding)}: ${titleOf(finding, picture)}`, columns, 4).map(style.dim),
    ),
  ];
}

const SHOWN_COMMITS = 5;

/** What speaks for a finding, and what changed with it. */
function causeLines(finding: CheckedFinding, look: Look): string[] {
  const causes = causesOf(finding).flatMap(([term, says]) =>
    wrapHanging(`  ${term}: ${printable(says)}`, look.columns, 4),
  );
  return [...causes, ...commitLines(finding, look)];
}

function commitLines(finding: CheckedFinding, { columns, style }: Look): string[] {
  const { cause, commits, firstBad, lastGood } = finding;
  // A slow machine is nobody's commit.
  if (lastGood === null || firstBad === null || cause === 'machine') return [];
  const edge = edgeWords(finding);
  const [good, bad] = [lastGood.commit?.slice(0, 8), firstBad.commit?.slice(0, 8)];
  if (good === undefined || bad === undefined) {
    return [`  ${edge.last} sweep ${lastGood.sweepId.slice(0, 8)}, ${edge.first} ${firstBad.sweepId.slice(0, 8)}`];
  }
  if (good === bad) return [`  both sweeps measured commit ${good}: no commit did this`];
  const number = commits.length === 0 ? '' : ` (${count(commits.length, 'commit')})`;
  const more = commits.length - SHOWN_COMMITS;
  const own = commits.find(({ commit }) => commit.startsWith(bad));
  const first = own === undefined ? bad : `${bad} "${printable(own.subject)}"`;
  return [
    ...wrapHanging(`  ${edge.first} ${first}, ${edge.last} ${good}${number}`, columns, 4),
    ...(commits.length < 2 ? [] : commits)
      .slice(0, SHOWN_COMMITS)
      .map(({ commit, subject }) => style.dim(truncate(`    ${commit.slice(0, 8)} ${printable(subject)}`, columns))),
    ...(more > 0 ? [style.dim(`    and ${more} more: git log ${good}..${bad}`)] : []),
  ];
}
