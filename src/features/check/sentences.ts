import { ALL_CELLS } from '../../judge/gate/cell-words.ts';
import type { KeyedCell } from '../../records/cell.ts';
import { gatedMetricOf, isJudgedOnly } from '../../records/gated-metric.ts';
import {
  count,
  directionWord,
  formatDecibels,
  formatNumber,
  formatPercent,
  intervalText,
  isSpeed,
  shareText,
} from '../../terminal/numbers.ts';
import { printable } from '../../text/printable.ts';
import { IDENTICAL_DB } from './evidence.ts';
import type { CheckedFinding, CheckedSeries } from './output.ts';

type Change = CheckedFinding['details'][number];
type Levels = Pick<Change, 'metric' | 'changePercent' | 'before' | 'after'>;
/** What the commands after a finding need of its series. `isStored`: commands can name the finding. */
export type Resumable = Pick<CheckedSeries, 'canConfirm' | 'sweepId'> & { readonly isStored?: boolean };

export interface Around {
  readonly cells: readonly { readonly cell: KeyedCell }[];
  readonly sweeps: readonly { readonly sweepId: string }[];
}

/** Phrases about a finding, equal in every output and safe to print. */
export function sentences(finding: CheckedFinding, { cells: all, sweeps }: Around) {
  const { cells, details, direction, group, isWarning, kind, labels } = finding;
  const own = new Set(cells);
  const modelsOf = (some: Around['cells']): string[] => some.map(({ cell }) => cell.model);
  const shared = groupText(group, modelsOf(all.filter(({ cell }) => own.has(cell.key))), modelsOf(all));
  const [word, size] = sizeOf(finding);
  const span = spanOf(finding);
  const which = cells.length === 1 ? printable(labels[0] ?? '') : null;
  const titled = (many: string): string =>
    `${which ?? many} ${word}${size}${shared === '' || which !== null ? '' : `: ${shared}`}, ${span}`;
  const said = isReference(finding) ? 'now the reference' : finding.state;
  const state = `${said}${isWarning ? ', a warning' : kind === 'limit' ? ', a broken limit' : ''}`;
  const first = new Set(firstOfEach(finding));
  const [begins, before] = direction === 'faster' ? ['first faster', 'last before'] : ['first bad', 'last good'];
  return {
    /** `12 cells slower`; `size` is ` by 4.9 to 5.3 %`. */
    what: `${count(cells.length, 'cell')} ${word}`,
    size,
    /** `all fp8 of vit_base`; empty if the cells share nothing that others lack. */
    group: shared,
    span,
    state,
    /** `new in GPU compute time`. */
    about: details[0] === undefined ? state : `${state} in ${printable(gatedMetricOf(details[0].metric).label)}`,
    evidence: evidenceOf(finding, sweeps),
    causes: causesOf(finding),
    edges: { first: begins, last: before },
    /** Changes of its other metrics. */
    also: rangesText(details.filter((change) => !first.has(change))),
    /** `12 cells slower by 4.9 to 5.3 %: all fp8, since 2026-02-24`; in `titleOfAll`, `12 of 48 cells`. */
    title: titled(`${cells.length} cells`),
    titleOfAll: titled(`${cells.length}${all.length === cells.length ? '' : ` of ${all.length}`} cells`),
  };
}

/** `all fp8 of vit_base and vit_small`, `all cells`; empty without a group. */
export function groupText(group: readonly string[], own: readonly string[] = [], all: readonly string[] = []): string {
  if (group.length === 0) return '';
  if (group.includes(ALL_CELLS)) return ALL_CELLS;
  const models = new Set(own);
  const isNamed = models.size > 3 || models.size === new Set(all).size || group.includes(own[0] ?? '');
  return printable(`all ${group.join(' ')}${isNamed ? '' : ` of ${[...models].toSorted().join(' and ')}`}`);
}

/** The displayed metric of each cell, clearest cell first. */
export function firstOfEach({ details }: Pick<CheckedFinding, 'details'>): Change[] {
  return [...Map.groupBy(details, ({ key }) => key).values()].flatMap(([first]) => first ?? []);
}

/** The change of its cells: `slower` and ` by 4.9 to 5.3 %`. */
function sizeOf(finding: CheckedFinding): readonly [word: string, size: string] {
  const first = firstOfEach(finding);
  const isLimit = finding.kind === 'limit';
  const word = isLimit ? 'beyond a limit' : directionWord(finding.direction, first[0]?.unit ?? '');
  const size = rangeText(first);
  // The text names the metrics if there are several, if the size is not a percentage, or if the word is `worse`.
  const isSeveral = first.some(({ metric }) => metric !== first[0]?.metric);
  const isNamed = isSeveral || size.includes('→') || (!isLimit && !isOfSpeed(finding));
  if (size === '') return [word, ''];
  return [word, isNamed ? `: ${rangesText(first)}` : ` by ${size}`];
}

/** `GPU compute time +4.9 to +5.3 %, throughput -5.1 %`. */
function rangesText(changes: readonly Change[]): string {
  const byMetric = [...Map.groupBy(changes, ({ metric }) => metric)];
  return byMetric
    .map(([metric, own]) => `${printable(gatedMetricOf(metric).label)} ${rangeText(own, true)}`)
    .join(', ');
}

/** `15.8 to 25.5 %` of one metric in several cells. Without a sign, because the words around it give the direction. */
function rangeText(changes: readonly Levels[], isSigned = false): string {
  const sorted = changes.toSorted((a, b) => Math.abs(a.changePercent) - Math.abs(b.changePercent));
  const [least = '', most = ''] = [sorted[0], sorted.at(-1)].map((change) => {
    const text = change === undefined ? '' : changeText(change);
    return isSigned ? text : text.replace(/^[+-](?=\d)/, '');
  });
  return least === most || least.includes('→') ? most : `${least.replace(/ %$/, '')} to ${most}`;
}

/** A faster level that lasts: it is over as a finding, and has no last sweep. */
function isReference({ direction, lastBad, state }: CheckedFinding): boolean {
  return state === 'recovered' && direction === 'faster' && lastBad === null;
}

/** `since 2026-02-10`; for a finding that is over, `from 2026-02-10 to 2026-02-11` or `on 2026-02-10 only`. */
function spanOf(finding: CheckedFinding): string {
  const { firstBad, lastBad, state } = finding;
  const [from = 'an unknown date', to = from] = [firstBad?.startedAt?.slice(0, 10), lastBad?.startedAt?.slice(0, 10)];
  if (state !== 'recovered' || isReference(finding)) return `since ${from}`;
  return from === to ? `on ${from} only` : `from ${from} to ${to}`;
}

function evidenceOf(finding: CheckedFinding, sweeps: Around['sweeps']) {
  const { details, firstBad, lastBad, lasts } = finding;
  const ids = sweeps.map(({ sweepId }) => sweepId);
  const [from, last] = [ids.indexOf(firstBad?.sweepId ?? ''), ids.indexOf(lastBad?.sweepId ?? '')];
  const number = (last === -1 ? sweeps.length : last + 1) - from;
  const interval = intervalText(details[0]?.ciPercent ?? null);
  return [
    pairsText(finding),
    from >= 0 && number >= 2 && `${number} sweeps${lasts === 'history' ? ', a lasting level' : ''}`,
    interval !== '' && `95 % interval ${interval} in the clearest cell`,
  ].filter((text) => text !== false);
}

function pairsText({ cells, details: [clearest], pairs }: CheckedFinding): string | false {
  if (pairs === null) return false;
  if (pairs.outcome === 'notComparable') return 'no pair that could be compared with the last good engine';
  const { cells: own, metric } = pairs;
  const where = [0, cells.length].includes(own.length) ? '' : ` in ${own.length} of its ${cells.length} cells`;
  const other = metric === null || metric === clearest?.metric ? '' : `${gatedMetricOf(metric).label} `;
  const median = `(median ${other}${formatPercent(pairs.changePercent)})`;
  // The last good sweep had the same engine, so there were no pairs.
  if (pairs.count === 0) return `the engine is the last good one, measured again${where} ${median}`;
  return `${pairs.agreeing} of ${count(pairs.count, 'pair')} with the last good engine${where} ${median}`;
}

const CAUSES: Readonly<Record<string, string>> = {
  engine: 'the engine: the last good one is still faster',
  machine: 'the machine: the last good engine is now as slow',
  buildLuck: 'build luck: another build of the same inputs',
  environment: 'the environment',
  version: 'another version of TensorRT',
};

function causesOf({ buildChanges, cause, environmentChanges, likeliestCause: likeliest }: CheckedFinding) {
  const share = likeliest === null ? '' : shareText(likeliest, ', accounts for');
  const changes = [...environmentChanges, ...buildChanges].filter((change) => !likeliest?.title.includes(change));
  return [
    // The likeliest cause of an environment change is more specific.
    { term: 'cause', says: cause === null || cause === likeliest?.kind ? '' : (CAUSES[cause] ?? cause) },
    { term: 'likeliest cause', says: likeliest === null ? '' : `${likeliest.title} (${likeliest.certainty}${share})` },
    { term: 'in the same sweep', says: changes.length === 0 ? '' : `${changes.join('; ')} (likelier than a commit)` },
  ].flatMap(({ says, term }) => (says === '' ? [] : [[term, printable(says)] as const]));
}

export function nextCommands(finding: CheckedFinding, { canConfirm, isStored = true, sweepId }: Resumable): string[] {
  const { cause, direction, firstBad, id, kind, lastGood, lasts, pairs, state } = finding;
  const [own, good, bad] = [id, lastGood?.sweepId, firstBad?.sweepId].map((one) => one?.slice(0, 8));
  const isExplained = kind !== 'limit' && cause !== 'machine' && good !== undefined && bad !== undefined;
  const isUnpaired = state === 'new' && lasts === null && pairs === null && direction === 'slower';
  // A finding that is faster or over needs no acknowledgement.
  const isToAccept = direction === 'slower' && (state === 'new' || state === 'open');
  const compare = isExplained ? [`bench compare ${good} ${bad}`] : [];
  if (!isStored) return compare;
  return [
    ...(isUnpaired && canConfirm ? [`bench run --resume ${sweepId.slice(0, 8)} --confirm`] : []),
    ...(isExplained ? [`bench why ${own}`] : []),
    ...compare,
    ...(isToAccept ? [`bench ack ${own} --reason "…"`] : []),
  ];
}

export function isOfSpeed({ details: [first] }: { readonly details: readonly Pick<Change, 'metric'>[] }): boolean {
  return first === undefined || isSpeed(gatedMetricOf(first.metric).unit);
}

/** The relative change of a share, or of a ratio in decibels, is not meaningful. */
export function changeText({ after, before, changePercent, metric }: Levels): string {
  if (metric === 'sqnrDb') return `${decibelText(before)} → ${decibelText(after)}`;
  if (isJudgedOnly(metric)) return `${formatPercent(before, false)} → ${formatPercent(after, false)}`;
  return formatPercent(changePercent);
}

export function levelText({ metric, unit }: Pick<Change, 'metric' | 'unit'>, value: number): string {
  return metric === 'sqnrDb' ? decibelText(value) : `${formatNumber(value)} ${printable(unit)}`;
}

function decibelText(value: number): string {
  return formatDecibels(value >= IDENTICAL_DB ? null : value);
}
