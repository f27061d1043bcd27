import type { KeyedCell } from '../../records/cell.ts';
import { gatedMetricOf } from '../../records/gated-metric.ts';
import { cellTable, withCells } from '../../terminal/cell-columns.ts';
import type { Look } from '../../terminal/look.ts';
import { count } from '../../terminal/numbers.ts';
import { dotted, truncate, wrapHanging, wrapWords } from '../../terminal/text-width.ts';
import { reasonWords } from '../../terminal/words.ts';
import { describeCommit } from '../../text/commit-label.ts';
import { printable } from '../../text/printable.ts';
import { causeLines } from './cause-text.ts';
import { changeText, directionText, groupText, levelText, rangeText } from './change-text.ts';
import { isOfSeries, isShownWhole } from './headline.ts';
import type { Checked, CheckedFinding, CheckedSeries } from './output.ts';

type Cells = ReadonlyMap<string, KeyedCell>;

/** One block for each series, the newest first. */
export function checkText({ findings, series }: Checked, cells: Cells, look: Look): string[] {
  const isOnly = series.length === 1;
  return series.flatMap((one, index) => {
    const own = findings.filter((finding) => isOfSeries(finding, one));
    const block = one.verdict === 'stale' ? staleText(one, look) : seriesText(one, own, cells, isOnly, look);
    const isClose = one.verdict === 'stale' && series[index - 1]?.verdict === 'stale';
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
  cells: Cells,
  isOnly: boolean,
  look: Look,
): string[] {
  const { columns, style } = look;
  const headline = isOnly ? series.headline : `${nameOf(series)}: ${series.headline}`;
  const paint = series.verdict === 'slower' || series.verdict === 'limit' ? style.bad : style.strong;
  return [
    ...wrapHanging(printable(headline), columns, 2).map((line) => paint(style.strong(line))),
    ...wrapHanging(aboutText(series), columns, 2),
    ...findings.filter(isShownWhole).flatMap((finding) => ['', ...findingText(finding, series, cells, look)]),
    ...earlierText(
      findings.filter((finding) => !isShownWhole(finding)),
      look,
    ),
    ...statusText(series, look),
    ...failedText(series, look),
    ...(series.notes.length === 0
      ? []
      : ['', ...series.notes.flatMap((note) => wrapWords(note, columns).map(style.dim))]),
  ];
}

function aboutText({ branch, cells, commit, matrix, provenance, startedAt, sweepId, sweeps }: CheckedSeries): string {
  return dotted([
    provenance,
    `sweep ${sweepId.slice(0, 8)}`,
    startedAt?.slice(0, 10) ?? '',
    printable(matrix ?? ''),
    describeCommit({ branch, commit, dirty: null }),
    count(cells.length, 'cell'),
    count(sweeps, 'sweep'),
  ]);
}

function findingText(finding: CheckedFinding, series: CheckedSeries, cells: Cells, look: Look): string[] {
  const { columns, style } = look;
  const { direction, group, kind, owner } = finding;
  const sign = finding.state === 'suspected' ? '?' : direction === 'slower' ? '▲' : '▼';
  const paint =
    finding.state === 'suspected' || finding.isWarning ? style.warn : direction === 'slower' ? style.bad : style.good;
  const which = group.length === 0 ? '' : `, ${groupText(group)}`;
  const since = finding.firstBad?.startedAt?.slice(0, 10) ?? 'an unknown date';
  const of = `${finding.cells.length} of ${count(series.cells.length, 'cell')}`;
  const title = `${sign} ${stateWords(finding)} ${finding.id.slice(0, 8)}: ${of} ${whatHappened(finding)} since ${since}${which}${owner === null ? '' : `, owner ${printable(owner)}`}`;
  const changes = withCells(firstOfEach(finding), cells);
  const table = cellTable(
    changes.slice(0, SHOWN_CELLS),
    [
      { header: 'metric', text: ({ metric }) => printable(gatedMetricOf(metric).label), dropRank: 3 },
      {
        header: kind === 'limit' ? 'limit' : 'before',
        text: (row) => levelText(row, row.before),
        align: 'right',
        dropRank: 2,
      },
      {
        header: kind === 'limit' ? 'value' : 'after',
        text: (row) => levelText(row, row.after),
        align: 'right',
        dropRank: 1,
      },
      { header: kind === 'limit' ? 'beyond' : 'change', text: changeText, align: 'right' },
    ],
    { ...look, columns: columns - 2 },
    { all: changes },
  );
  const more = changes.length - SHOWN_CELLS;
  return [
    ...wrapHanging(title, columns, 2).map(paint),
    ...causeLines(finding, look),
    ...[...table, ...(more > 0 ? [style.dim(`and ${more} more: --json has all`)] : [])].map((line) => `  ${line}`),
    ...alsoText(finding).flatMap((text) => wrapHanging(`  ${text}`, columns, 4)),
    ...nextSteps(finding, series).flatMap((step) => wrapHanging(`  ${step}`, columns, 4)),
  ];
}

function stateWords({ isWarning, kind, state }: CheckedFinding): string {
  if (isWarning) return 'warning';
  if (kind === 'limit') return 'limit broken';
  return kind === 'environment' ? `environment, ${state}` : state;
}

/** Of each cell the metric by which it is shown. */
function firstOfEach({ details }: CheckedFinding): CheckedFinding['details'] {
  return [...Map.groupBy(details, ({ key }) => key).values()].flatMap(([first]) => first ?? []);
}

/** The other metrics, each with the range of its changes. */
function alsoText(finding: CheckedFinding): string[] {
  const first = new Set(firstOfEach(finding));
  const others = finding.details.filter((change) => !first.has(change));
  const byMetric = [...Map.groupBy(others, ({ metric }) => metric)];
  const texts = byMetric.map(([metric, own]) => `${printable(gatedMetricOf(metric).label)} ${rangeText(own)}`);
  return texts.length === 0 ? [] : [`also: ${texts.join(', ')}`];
}

function whatHappened(finding: CheckedFinding): string {
  const { kind } = finding;
  const shown = firstOfEach(finding);
  const [clearest] = shown;
  const own = shown.filter(({ metric }) => metric === clearest?.metric);
  const size = clearest === undefined ? '' : ` (${gatedMetricOf(clearest.metric).label} ${rangeText(own)})`;
  return `${kind === 'limit' ? 'beyond a limit' : directionText(finding)}${printable(size)}`;
}

function nextSteps({ firstBad, id, kind, lastGood, state }: CheckedFinding, series: CheckedSeries): string[] {
  const [good, bad] = [lastGood?.sweepId.slice(0, 8), firstBad?.sweepId.slice(0, 8)];
  const pair = good === undefined || bad === undefined ? null : `bench compare ${good} ${bad}`;
  if (state === 'suspected') {
    return [`to be sure now: bench run --resume ${series.sweepId.slice(0, 8)} --confirm`];
  }
  if (kind === 'limit') return [`it may stay: bench ack ${id.slice(0, 8)} --reason "…"`];
  return [`next: ${[pair, `bench ack ${id.slice(0, 8)} --reason "…"`].filter((step) => step !== null).join(', or ')}`];
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
    ...[...lasting, ...ended].map((finding) => {
      const [first] = firstOfEach(finding);
      const size = first === undefined ? '' : `, ${printable(gatedMetricOf(first.metric).label)} ${changeText(first)}`;
      const text = `  ${markWords(finding).padEnd(12)} ${finding.id.slice(0, 8)}  ${whichText(finding)}${size}${spanText(finding)}`;
      return truncate(finding.state === 'open' && finding.acknowledged === null ? text : style.dim(text), columns);
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
