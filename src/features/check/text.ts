import type { LocatedFinding } from '../../judge/gate/group-findings.ts';
import type { AccuracyDrop } from '../../judge/accuracy-drop.ts';
import type { AccuracyRecord } from '../../records/accuracy.ts';
import type { FirstCause } from '../../records/cause.ts';
import type { KeyedCell } from '../../records/cell.ts';
import { cellLabel } from '../../text/cell-label.ts';
import { metricOf } from '../../records/metric.ts';
import { printable } from '../../text/printable.ts';
import type { Sweep } from '../../records/sweep.ts';
import { captionLines, cellColumns } from '../../terminal/cell-columns.ts';
import { type OffCell, offJson, offText } from './off-level-text.ts';
import type { Look } from '../../terminal/look.ts';
import { count, formatDecibels, formatNumber, formatPercent } from '../../terminal/numbers.ts';
import { reasonWords } from '../../terminal/outcome-text.ts';
import { describeCommit } from '../show/index.ts';
import { renderTable } from '../../terminal/table.ts';
import { truncate, wrapHanging, wrapWords } from '../../terminal/text-width.ts';

export interface CheckedGroup {
  readonly direction: 'slower' | 'faster';
  readonly findings: readonly LocatedFinding[];
  readonly shared: readonly string[];
  readonly lastGood: Sweep | null;
  readonly firstBad: Sweep | null;
  readonly commits: readonly { readonly commit: string; readonly subject: string }[];
  readonly changes: readonly string[];
  readonly cause: FirstCause | null;
}

export interface CheckReport {
  readonly sweep: Sweep;
  readonly nights: number;
  readonly cells: readonly KeyedCell[];
  /** Told tonight. */
  readonly groups: readonly CheckedGroup[];
  /** Told before, in the states that they are in tonight. */
  readonly earlier: readonly LocatedFinding[];
  readonly failed: readonly { readonly cell: KeyedCell; readonly reasons: readonly string[] }[];
  /** Far off their level tonight, and not told yet: too few nights are there. */
  readonly off: readonly OffCell[];
  readonly accuracy: readonly FallenAccuracy[];
  /** How the series was chosen, where nobody named it; else null. */
  readonly seriesNote: string | null;
  readonly notes: readonly string[];
}

/** A variant whose outputs are further from its reference's than on the night before. */
export interface FallenAccuracy extends AccuracyDrop {
  readonly now: AccuracyRecord;
  readonly cells: readonly KeyedCell[];
}

export function checkJson(report: CheckReport) {
  const { sweep, nights, cells, groups, earlier, failed, off, accuracy, notes } = report;
  return {
    schemaVersion: 1,
    sweepId: sweep.sweepId,
    startedAt: sweep.startedAt,
    commit: sweep.commit,
    branch: sweep.branch,
    matrix: sweep.matrix,
    provenance: sweep.provenance,
    nights,
    cells: cells.length,
    groups: groups.map((group) => ({
      direction: group.direction,
      shared: group.shared,
      lastGood: sweepJson(group.lastGood),
      firstBad: sweepJson(group.firstBad),
      commits: group.commits,
      changes: group.changes,
      cause: group.cause,
      findings: group.findings.map(findingJson),
    })),
    earlier: earlier.map(findingJson),
    failed: failed.map(({ cell, reasons }) => ({ key: cell.key, label: cellLabel(cell), reasons })),
    off: off.map(offJson),
    accuracy: accuracy.map(({ before, now, dropDb, cells: of }) => ({
      model: now.model,
      precision: now.precision,
      before: before.accuracy.sqnrDb,
      after: now.accuracy.sqnrDb,
      dropDb: Number.isFinite(dropDb) ? dropDb : null,
      keys: of.map(({ key }) => key),
    })),
    notes: report.seriesNote === null ? notes : [report.seriesNote, ...notes],
  };
}

function sweepJson(sweep: Sweep | null) {
  if (sweep === null) return null;
  const { sweepId, startedAt, commit, dirty } = sweep;
  return { sweepId, startedAt, commit, dirty };
}

function findingJson({ finding, cell }: LocatedFinding) {
  const { findingId, metric, direction, changePercent, margin, before, after, state } = finding;
  const { firstBadSweepId, toldSweepId } = finding;
  const { unit, betterIs } = metricOf(metric);
  return {
    id: findingId,
    key: cell.key,
    label: cellLabel(cell),
    metric,
    unit,
    betterIs,
    direction,
    changePercent,
    margin,
    before,
    after,
    state,
    firstBadSweepId,
    toldSweepId,
  };
}

function fallenText({ before, now, cells }: FallenAccuracy): string {
  const [was, is] = [before, now].map(({ accuracy: { sqnrDb } }) => formatDecibels(sqnrDb));
  return `accuracy fell: ${printable(now.model)} ${now.precision} ${was} → ${is} SQNR (${count(cells.length, 'cell')})`;
}

export function checkText(report: CheckReport, look: Look): string[] {
  const { sweep, nights, cells, groups, failed, off, accuracy, notes } = report;
  const { style, columns } = look;
  const told = groups.flatMap(({ findings }) => findings).length;
  const lines = [
    style.strong(
      told === 0
        ? quietTitle(accuracy.length, off.length)
        : `${count(told, 'new finding')} in ${count(groups.length, 'group')}`,
    ),
    ...wrapHanging(
      [
        sweep.provenance,
        `night of ${dateOf(sweep)}`,
        `sweep ${sweep.sweepId.slice(0, 8)}`,
        printable(sweep.matrix ?? ''),
        describeCommit(sweep),
        count(cells.length, 'cell'),
        count(nights, 'night'),
      ]
        .filter((part) => part !== '')
        .join(' · '),
      columns,
      2,
    ),
  ];
  if (report.seriesNote !== null) {
    lines.push(...wrapWords(report.seriesNote, columns).map(style.dim));
  }
  for (const group of groups) lines.push('', ...groupText(group, cells, look));
  if (accuracy.length > 0) {
    lines.push('', ...accuracy.map((fallen) => style.bad(truncate(fallenText(fallen), columns))));
  }
  lines.push(...offText(off, look), ...earlierText(report, look));
  if (failed.length > 0) {
    lines.push('', style.bad(`${count(failed.length, 'cell')} without a result tonight`));
    for (const { cell, reasons } of failed) {
      const why = reasons.map(reasonWords).join('; ');
      lines.push(...wrapHanging(`  ${printable(cellLabel(cell))}: ${why}`, columns, 4));
    }
  }
  if (notes.length > 0) {
    lines.push('', ...notes.flatMap((note) => wrapWords(note, columns).map(style.dim)));
  }
  return lines;
}

function quietTitle(accuracyFalls: number, off: number): string {
  if (accuracyFalls > 0) return 'no time is new; an accuracy fell';
  return off === 0 ? 'nothing new' : `nothing told; ${count(off, 'cell')} off the level tonight`;
}

function dateOf(sweep: Sweep | null): string {
  return sweep?.startedAt?.slice(0, 10) ?? 'an unknown date';
}

function groupText(group: CheckedGroup, cells: readonly KeyedCell[], look: Look): string[] {
  const { style, columns } = look;
  const { direction, findings, firstBad, shared } = group;
  const sign = direction === 'slower' ? '▲' : '▼';
  const paint = direction === 'slower' ? style.bad : style.good;
  const which = shared.length === 0 ? '' : `, all ${printable(shared.join(' '))}`;
  const title = `${sign} ${findings.length} of ${count(cells.length, 'cell')} ${direction} by ${rangeOf(findings)} since the night of ${dateOf(firstBad)}${which}`;
  return [...wrapHanging(title, columns, 2).map(paint), ...causeText(group, look), ...findingTable(findings, look)];
}

function rangeOf(findings: readonly LocatedFinding[]): string {
  const sizes = findings.map(({ finding }) => Math.abs(finding.changePercent)).toSorted((a, b) => a - b);
  const [least = 0] = sizes;
  const most = sizes.at(-1) ?? least;
  const [from, to] = [formatPercent(least, false), formatPercent(most, false)];
  return from === to ? from : `${from.replace(/ %$/, '')} to ${to}`;
}

const SHOWN_COMMITS = 5;

function causeText(group: CheckedGroup, { columns, style }: Look): string[] {
  const { lastGood, firstBad, commits, changes, cause } = group;
  const lines: string[] = [];
  if (cause !== null) {
    const share = cause.explainsPercent === null ? '' : `, accounts for ${formatPercent(cause.explainsPercent, false)}`;
    const text = `  likeliest cause: ${printable(cause.title)} (${cause.certainty}${share})`;
    lines.push(...wrapHanging(text, columns, 4));
  }
  if (changes.length > 0) {
    const what = `  on the same night, and likelier than a commit: ${printable(changes.join('; '))}`;
    lines.push(...wrapHanging(what, columns, 4).map(style.warn));
  }
  if (lastGood === null || firstBad === null) return lines;
  const [good, bad] = [lastGood.commit?.slice(0, 8), firstBad.commit?.slice(0, 8)];
  if (good === undefined || bad === undefined) {
    lines.push(`  last good sweep ${lastGood.sweepId.slice(0, 8)}, first bad ${firstBad.sweepId.slice(0, 8)}`);
  } else if (good === bad) {
    lines.push(`  both nights measured commit ${good}: no commit did this`);
  } else {
    const number = commits.length === 0 ? '' : ` (${count(commits.length, 'commit')})`;
    lines.push(`  last good ${good}, first bad ${bad}${number}`);
    for (const { commit, subject } of commits.slice(0, SHOWN_COMMITS)) {
      lines.push(style.dim(truncate(`    ${commit.slice(0, 8)} ${printable(subject)}`, columns)));
    }
    if (commits.length > SHOWN_COMMITS) {
      lines.push(style.dim(`    and ${commits.length - SHOWN_COMMITS} more: git log ${good}..${bad}`));
    }
  }
  return lines;
}

const SHOWN_FINDINGS = 12;

function findingTable(findings: readonly LocatedFinding[], look: Look): string[] {
  const { columns, caption } = cellColumns(findings, ({ cell }) => cell);
  const narrow = { ...look, columns: look.columns - 2 };
  const table = renderTable<LocatedFinding>(
    [
      { header: 'finding', text: ({ finding }) => finding.findingId.slice(0, 8) },
      ...columns,
      { header: 'before', text: (row) => levelText(row, 'before'), align: 'right', dropRank: 2 },
      { header: 'after', text: (row) => levelText(row, 'after'), align: 'right', dropRank: 1 },
      { header: 'change', text: ({ finding }) => formatPercent(finding.changePercent), align: 'right' },
      { header: 'evidence', text: ({ finding }) => `${formatNumber(finding.margin, 2)}×`, align: 'right', dropRank: 3 },
    ],
    findings.slice(0, SHOWN_FINDINGS),
    narrow,
  ).map((line) => `  ${line}`);
  table.push(...captionLines(caption, narrow).map((line) => `  ${line}`));
  const more = findings.length - SHOWN_FINDINGS;
  return more > 0 ? [...table, look.style.dim(`  and ${more} more: --json has all`)] : table;
}

function levelText({ finding }: LocatedFinding, which: 'before' | 'after'): string {
  return `${formatNumber(finding[which])} ${metricOf(finding.metric).unit}`;
}

/** The older findings: what became of them, briefly. */
function earlierText({ earlier }: CheckReport, { style, columns }: Look): string[] {
  if (earlier.length === 0) return [];
  const lines = ['', style.strong('told before')];
  for (const { finding, cell } of earlier) {
    const text = `  ${finding.state.padEnd(9)} ${finding.findingId.slice(0, 8)}  ${printable(cellLabel(cell))} ${formatPercent(finding.changePercent)}`;
    lines.push(truncate(finding.state === 'open' ? text : style.dim(text), columns));
  }
  return lines;
}
