import { gatedMetricOf } from '../../records/gated-metric.ts';
import { cellTable, withCells } from '../../terminal/cell-columns.ts';
import type { Look } from '../../terminal/look.ts';
import { count } from '../../terminal/numbers.ts';
import { dotted, truncate, wrapHanging, wrapWords } from '../../terminal/text-width.ts';
import { reasonWords } from '../../terminal/words.ts';
import { describeCommit } from '../../text/commit-label.ts';
import { printable } from '../../text/printable.ts';
import { causeLines } from './cause-text.ts';
import { countsText } from './cell-rows.ts';
import { cellsText } from './cells-text.ts';
import { changeText, directionText, groupText, levelText } from './change-text.ts';
import { chartText } from './chart-text.ts';
import { evidenceOf, firstOfEach, nextCommands, rangeText, sizeText } from './finding-words.ts';
import { isOfSeries, isShownWhole } from './headline.ts';
import type { Checked, CheckedFinding, CheckedSeries } from './output.ts';
import type { SeriesPicture } from './picture.ts';

/** What is printed; not part of `--json`. */
export interface CheckDetails {
  /** By the newest sweep of the series. */
  readonly pictures: ReadonlyMap<string, SeriesPicture>;
  /** Every finding in full, and every cell. */
  readonly isAll: boolean;
}

/** One block for each series, the newest first; of several, a line for each comes before. */
export function checkText({ findings, series }: Checked, details: CheckDetails, look: Look): string[] {
  const isOnly = series.length === 1;
  const blocks = series.map((one) => {
    const own = findings.filter((finding) => isOfSeries(finding, one));
    return one.verdict === 'stale' ? staleText(one, look) : seriesText(one, own, details, isOnly, look);
  });
  return blocks.flatMap((block, index) => {
    const isClose = series[index]?.verdict === 'stale' && series[index - 1]?.verdict === 'stale';
    return [...(index === 0 || isClose ? [] : ['']), ...block];
  });
}

function nameOf({ branch, matrix }: CheckedSeries): string {
  return printable([matrix ?? 'no matrix', branch ?? 'no branch'].join(' · '));
}

function staleText(series: CheckedSeries, { columns, style }: Look): string[] {
  return wrapHanging(`${nameOf(series)}: ${series.headline}`, columns, 2).map(style.dim);
}

function seriesText(
  series: CheckedSeries,
  findings: readonly CheckedFinding[],
  { isAll, pictures }: CheckDetails,
  isOnly: boolean,
  look: Look,
): string[] {
  const { columns, style } = look;
  const picture = pictures.get(series.sweepId) ?? NO_PICTURE;
  const headline = isOnly ? series.headline : `${nameOf(series)}: ${series.headline}`;
  const paint = series.verdict === 'slower' || series.verdict === 'limit' ? style.bad : style.strong;
  const whole = findings.filter(isShownWhole);
  const [worst, ...others] = isAll ? [] : whole;
  const full = isAll ? whole : worst === undefined ? [] : [worst];
  return [
    ...wrapHanging(printable(headline), columns, 2).map((line) => paint(style.strong(line))),
    ...wrapHanging(aboutText(series, picture), columns, 2).map(style.dim),
    ...(series.judgedBy === 'first' ? [] : countsText(series.cells, series.geometricMean, look)),
    ...full.flatMap((finding) => ['', ...findingText(finding, series, picture, look)]),
    ...(others.length === 0 ? [] : ['', ...others.map((finding) => findingLine(finding, look))]),
    ...(others.length === 0 ? [] : wrapHanging('each in full: bench check --all', columns, 2).map(style.dim)),
    ...earlierText(
      findings.filter((finding) => !isShownWhole(finding)),
      look,
    ),
    ...cellsText(series, picture, isAll, look),
    ...statusText(series, look),
    ...failedText(series, look),
    ...(series.notes.length === 0
      ? []
      : ['', ...series.notes.flatMap((note) => wrapWords(note, columns).map(style.dim))]),
  ];
}

const NO_PICTURE: SeriesPicture = { sweeps: [], cells: new Map(), machine: [], metric: null };

function aboutText(series: CheckedSeries, { machine, metric }: SeriesPicture): string {
  const { branch, commit, matrix, provenance, startedAt, sweepId, sweeps } = series;
  return dotted([
    provenance,
    printable(matrix ?? ''),
    describeCommit({ branch, commit, dirty: null }),
    `sweep ${sweepId.slice(0, 8)} of ${startedAt?.slice(0, 10) ?? 'an unknown date'}, number ${sweeps}`,
    ...machine.map(printable),
    metric === null ? '' : printable(gatedMetricOf(metric).label),
  ]);
}

function findingText(finding: CheckedFinding, series: CheckedSeries, picture: SeriesPicture, look: Look): string[] {
  const { columns } = look;
  return [
    ...wrapHanging(`${signOf(finding)} ${titleOf(finding, series.cells.length)}`, columns, 2).map(
      paintOf(finding, look),
    ),
    ...wrapHanging(`  ${stateText(finding, picture)}`, columns, 4),
    ...causeLines(finding, look),
    ...otherMetrics(finding, picture, look),
    ...alsoText(finding).flatMap((text) => wrapHanging(`  ${text}`, columns, 4)),
    ...chartText(finding, picture, look),
    ...wrapHanging(`  ${nextSteps(finding, series)}`, columns, 4),
  ];
}

/** `▲ a40520f1 12 cells slower by 4.9 to 5.3 %: all fp8, since 2026-02-24`. */
function findingLine(finding: CheckedFinding, look: Look): string {
  return paintOf(finding, look)(truncate(`${signOf(finding)} ${titleOf(finding, null)}`, look.columns));
}

function signOf({ direction, state }: CheckedFinding): string {
  return state === 'suspected' ? '?' : direction === 'slower' ? '▲' : '▼';
}

function paintOf({ direction, isWarning, state }: CheckedFinding, { style }: Look): (text: string) => string {
  if (state === 'suspected' || isWarning) return style.warn;
  return direction === 'slower' ? style.bad : style.good;
}

/** What got slower, by how much, what its cells share, since when. @param ofCells number of cells in the series */
function titleOf(finding: CheckedFinding, ofCells: number | null): string {
  const { cells, firstBad, group, id, labels } = finding;
  const of = ofCells === null || ofCells === cells.length ? '' : `of ${ofCells} `;
  const which =
    cells.length === 1 ? printable(labels[0] ?? '') : `${cells.length} ${of}${cells.length === 1 ? 'cell' : 'cells'}`;
  const shared = group.length === 0 || cells.length === 1 ? '' : `: ${groupText(group)}`;
  const since = firstBad?.startedAt?.slice(0, 10) ?? 'an unknown date';
  return `${id.slice(0, 8)} ${which} ${sizeText([finding]).join('')}${shared}, since ${since}`;
}

/** `confirmed in GPU compute time by 5 of 5 pairs …; owner team-vision`. */
function stateText(finding: CheckedFinding, { sweeps }: SeriesPicture): string {
  const { metric } = finding.details[0] ?? {};
  const of = metric === undefined ? '' : ` in ${printable(gatedMetricOf(metric).label)}`;
  const evidence = evidenceOf(finding, sweeps).join(', ');
  const owner = finding.owner === null ? '' : `; owner ${printable(finding.owner)}`;
  return `${stateWords(finding)}${of}${evidence === '' ? '' : `${finding.state === 'suspected' ? ', with' : ' by'} ${evidence}`}${owner}`;
}

function stateWords({ isWarning, kind, state }: CheckedFinding): string {
  if (isWarning) return 'warning';
  if (kind === 'limit') return 'limit broken';
  return kind === 'environment' ? `environment, ${state}` : state;
}

/** Of limits, and of metrics that the table of cells does not have: what they were and are. */
function otherMetrics(finding: CheckedFinding, picture: SeriesPicture, look: Look): string[] {
  const isLimit = finding.kind === 'limit';
  const shown = firstOfEach(finding).filter(
    ({ key, metric }) => isLimit || [...(picture.cells.get(key)?.histories.keys() ?? [])][0] !== metric,
  );
  const cells = new Map([...picture.cells].map(([key, { cell }]) => [key, cell]));
  const changes = withCells(shown, cells);
  if (changes.length === 0) return [];
  const table = cellTable(
    changes.slice(0, SHOWN_CELLS),
    [
      { header: 'metric', text: ({ metric }) => printable(gatedMetricOf(metric).label), dropRank: 3 },
      { header: isLimit ? 'limit' : 'before', text: (row) => levelText(row, row.before), align: 'right', dropRank: 2 },
      { header: isLimit ? 'value' : 'after', text: (row) => levelText(row, row.after), align: 'right', dropRank: 1 },
      { header: isLimit ? 'beyond' : 'change', text: changeText, align: 'right' },
    ],
    { ...look, columns: look.columns - 2 },
    { all: changes },
  );
  const more = changes.length - SHOWN_CELLS;
  return [...table, ...(more > 0 ? [look.style.dim(`and ${more} more: --json has all`)] : [])].map(
    (line) => `  ${line}`,
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

function nextSteps(finding: CheckedFinding, { sweepId }: CheckedSeries): string {
  const what = finding.state === 'suspected' ? 'to be sure now' : finding.kind === 'limit' ? 'it may stay' : 'next';
  return `${what}: ${nextCommands(finding, sweepId).join(' · ')}`;
}

/** Ended findings are shown for this number of sweeps. */
const SHOWN_ENDED = 10;

/** What became of the older findings. */
function earlierText(findings: readonly CheckedFinding[], { style, columns }: Look): string[] {
  const ended = findings
    .filter((finding) => !isThere(finding.state) && finding.state !== 'machine')
    .slice(0, SHOWN_ENDED);
  const lasting = findings.filter((finding) => isThere(finding.state) || finding.state === 'machine');
  if (ended.length + lasting.length === 0) return [];
  return [
    '',
    style.strong('reported before'),
    ...[...lasting, ...ended].flatMap((finding) => {
      const [first] = firstOfEach(finding);
      const size = first === undefined ? '' : `, ${printable(gatedMetricOf(first.metric).label)} ${changeText(first)}`;
      const text = `  ${markWords(finding).padEnd(12)} ${finding.id.slice(0, 8)}  ${whichText(finding)}${size}${spanText(finding)}`;
      const isOpen = finding.state === 'open' && finding.acknowledged === null;
      return wrapHanging(text, columns, 4).map((line) => (isOpen ? line : style.dim(line)));
    }),
  ];
}

/** `2 cells, all vit_small`, or the only cell. */
function whichText({ group, labels }: CheckedFinding): string {
  const shared = group.length === 0 ? '' : `, ${groupText(group)}`;
  return printable(labels.length === 1 ? (labels[0] ?? '') : `${count(labels.length, 'cell')}${shared}`);
}

function markWords({ acknowledged, state }: CheckedFinding): string {
  return acknowledged === null ? state : 'acknowledged';
}

/** `: slower on 2026-02-10 and 2026-02-11, back since`. */
function spanText(finding: CheckedFinding): string {
  const { firstBad, lastBad, state } = finding;
  const [from, to] = [firstBad?.startedAt?.slice(0, 10), lastBad?.startedAt?.slice(0, 10)];
  if (state === 'machine') return `: the machine, on ${from ?? 'an unknown date'}`;
  if (isThere(state) || from === undefined) return from === undefined ? '' : ` since ${from}`;
  const span = to === undefined || to === from ? `on ${from}` : `from ${from} to ${to}`;
  return `: ${directionText(finding)} ${span}, back since`;
}

function isThere(state: CheckedFinding['state']): boolean {
  return state === 'confirmed' || state === 'open';
}

const SHOWN_CELLS = 12;

/** Cells that are new, or were in the sweep before only. */
function statusText({ cells, judgedBy }: CheckedSeries, { columns, style }: Look): string[] {
  if (judgedBy === 'first') return [];
  return (['new', 'missing'] as const).flatMap((status) => {
    const own = cells.filter((cell) => cell.status === status);
    if (own.length === 0) return [];
    const more = own.length > SHOWN_CELLS ? ` and ${own.length - SHOWN_CELLS} more` : '';
    const names = own.slice(0, SHOWN_CELLS).map(({ label }) => printable(label));
    return ['', ...wrapHanging(`${status}: ${names.join(', ')}${more}`, columns, 2).map(style.warn)];
  });
}

function failedText({ cells }: CheckedSeries, { columns, style }: Look): string[] {
  const failed = cells.filter(({ status }) => status === 'failed');
  if (failed.length === 0) return [];
  return [
    '',
    style.bad(`${count(failed.length, 'cell')} without a result in the newest sweep`),
    ...failed.flatMap(({ label, reasons }) =>
      wrapHanging(`  ${printable(label)}: ${reasons.map(reasonWords).join('; ')}`, columns, 4),
    ),
  ];
}
