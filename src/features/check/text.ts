import type { KeyedCell } from '../../records/cell.ts';
import { printable } from '../../text/printable.ts';
import { cellTable, withCells } from '../../terminal/cell-columns.ts';
import type { Night } from './night.ts';
import type { CheckedFinding, CheckedGroup, CheckedSweep } from './output.ts';
import type { Look } from '../../terminal/look.ts';
import { count, formatDecibels, formatNumber, formatPercent } from '../../terminal/numbers.ts';
import { reasonWords } from '../../terminal/words.ts';
import { describeCommit } from '../../text/commit-label.ts';
import { dotted, truncate, wrapHanging, wrapWords } from '../../terminal/text-width.ts';

/** Shown in the text, not part of `--json`. */
interface CheckedDetails {
  readonly night: Night;
  readonly cells: ReadonlyMap<string, KeyedCell>;
}

function fallenText({ model, precision, before, after, keys }: CheckedSweep['accuracy'][number]): string {
  const [was, is] = [before, after].map(formatDecibels);
  return `accuracy fell: ${printable(model)} ${precision} ${was} → ${is} SQNR (${count(keys.length, 'cell')})`;
}

export function checkText(checked: CheckedSweep, { night, cells }: CheckedDetails, look: Look): string[] {
  const { groups, failed, off, accuracy, earlier } = checked;
  const notes = checked.notes.slice(night.note === null ? 0 : 1);
  const { style, columns } = look;
  const reported = groups.flatMap(({ findings }) => findings).length;
  const lines = [
    style.strong(
      reported === 0
        ? quietTitle(accuracy.length, off.length)
        : `${count(reported, 'new finding')} in ${count(groups.length, 'group')}`,
    ),
    ...wrapHanging(
      dotted([
        checked.provenance,
        `night of ${dateOf(checked)}`,
        `sweep ${checked.sweepId.slice(0, 8)}`,
        printable(checked.matrix ?? ''),
        describeCommit(night.sweep),
        count(checked.cells, 'cell'),
        count(checked.nights, 'night'),
      ]),
      columns,
      2,
    ),
  ];
  if (night.note !== null) lines.push(...wrapWords(night.note, columns).map(style.dim));
  for (const group of groups) lines.push('', ...groupText(group, checked.cells, cells, look));
  if (accuracy.length > 0) {
    lines.push('', ...accuracy.map((fallen) => style.bad(truncate(fallenText(fallen), columns))));
  }
  lines.push(...offText(withCells(off, cells), look), ...earlierText(earlier, look));
  if (failed.length > 0) {
    lines.push('', style.bad(`${count(failed.length, 'cell')} without a result in the newest sweep`));
    for (const { label, reasons } of failed) {
      const why = reasons.map(reasonWords).join('; ');
      lines.push(...wrapHanging(`  ${printable(label)}: ${why}`, columns, 4));
    }
  }
  if (notes.length > 0) {
    lines.push('', ...notes.flatMap((note) => wrapWords(note, columns).map(style.dim)));
  }
  return lines;
}

function quietTitle(accuracyFalls: number, off: number): string {
  if (accuracyFalls > 0) return 'no time is new; an accuracy fell';
  return off === 0 ? 'nothing new' : `no new findings; ${count(off, 'cell')} outside the expected range`;
}

function dateOf(sweep: Pick<CheckedSweep, 'startedAt'> | null): string {
  return sweep?.startedAt?.slice(0, 10) ?? 'an unknown date';
}

function groupText(group: CheckedGroup, all: number, cells: ReadonlyMap<string, KeyedCell>, look: Look): string[] {
  const { style, columns } = look;
  const { direction, findings, firstBad, shared } = group;
  const sign = direction === 'slower' ? '▲' : '▼';
  const paint = direction === 'slower' ? style.bad : style.good;
  const which = shared.length === 0 ? '' : `, all ${printable(shared.join(' '))}`;
  const title = `${sign} ${findings.length} of ${count(all, 'cell')} ${direction} by ${rangeOf(findings)} since the night of ${dateOf(firstBad)}${which}`;
  return [
    ...wrapHanging(title, columns, 2).map(paint),
    ...causeText(group, look),
    ...findingTable(withCells(findings, cells), look),
  ];
}

function rangeOf(findings: readonly CheckedFinding[]): string {
  const sizes = findings.map(({ changePercent }) => Math.abs(changePercent)).toSorted((a, b) => a - b);
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

type FindingRow = CheckedFinding & { readonly cell: KeyedCell };

function findingTable(findings: readonly FindingRow[], look: Look): string[] {
  const level = (finding: FindingRow, which: 'before' | 'after') => `${formatNumber(finding[which])} ${finding.unit}`;
  const table = cellTable<FindingRow>(
    findings.slice(0, SHOWN_FINDINGS),
    [
      { header: 'before', text: (row) => level(row, 'before'), align: 'right', dropRank: 2 },
      { header: 'after', text: (row) => level(row, 'after'), align: 'right', dropRank: 1 },
      { header: 'change', text: ({ changePercent }) => formatPercent(changePercent), align: 'right' },
      { header: 'evidence', text: ({ margin }) => `${formatNumber(margin, 2)}×`, align: 'right', dropRank: 3 },
    ],
    narrowed(look),
    { all: findings, before: [{ header: 'finding', text: ({ id }) => id.slice(0, 8) }] },
  );
  return [...table, ...moreLine(findings.length - SHOWN_FINDINGS, look)].map(indented);
}

function narrowed(look: Look): Look {
  return { ...look, columns: look.columns - 2 };
}

function indented(line: string): string {
  return `  ${line}`;
}

function moreLine(more: number, { style }: Look): string[] {
  return more > 0 ? [style.dim(`and ${more} more: --json has all`)] : [];
}

/** What became of the older findings. */
function earlierText(earlier: readonly CheckedFinding[], { style, columns }: Look): string[] {
  if (earlier.length === 0) return [];
  const lines = ['', style.strong('reported before')];
  for (const { changePercent, id, label, state } of earlier) {
    const text = `  ${state.padEnd(9)} ${id.slice(0, 8)}  ${printable(label)} ${formatPercent(changePercent)}`;
    lines.push(truncate(state === 'open' ? text : style.dim(text), columns));
  }
  return lines;
}

type OffCell = CheckedSweep['off'][number] & { readonly cell: KeyedCell };

const SHOWN_OFF = 8;

/** Without a finding: cells off their level, and what to do about it. */
function offText(off: readonly OffCell[], look: Look): string[] {
  if (off.length === 0) return [];
  const sorted = off.toSorted((a, b) => Math.abs(b.changePercent) - Math.abs(a.changePercent));
  const inner = narrowed(look);
  const right = 'right' as const;
  const table = cellTable<OffCell>(
    sorted.slice(0, SHOWN_OFF),
    [
      { header: 'level', text: (row) => `${formatNumber(row.before)} ${row.unit}`, align: right, dropRank: 2 },
      { header: 'now', text: (row) => `${formatNumber(row.now)} ${row.unit}`, align: right },
      { header: 'change', text: (row) => formatPercent(row.changePercent), align: right },
      { header: 'nights', text: ({ nights }) => String(nights), align: right, dropRank: 3 },
      { header: 'runs', text: ({ runs }) => String(runs), align: right, dropRank: 4 },
    ],
    inner,
    { all: sorted },
  );
  const advice = `to be sure now: bench compare ${sorted[0]?.lastGoodSweepId?.slice(0, 8) ?? 'latest~1'} latest, or run again with --confirm`;
  return [
    '',
    look.style.warn(truncate(`outside their expected range, too few nights to report: ${off.length}`, look.columns)),
    ...[...table, ...moreLine(sorted.length - SHOWN_OFF, look), ...wrapWords(advice, inner.columns)].map(indented),
  ];
}
