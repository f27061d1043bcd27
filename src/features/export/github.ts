import { printable } from '../../text/printable.ts';
import { shiftSize, shiftText } from '../compare/index.ts';
import { scalePercent, sparkline } from '../../terminal/charts/sparkline.ts';
import { count, formatNumber, formatPercent, meanText } from '../../terminal/numbers.ts';
import { messageOf } from './junit.ts';
import {
  environmentOf,
  isRegression,
  judgedMetric,
  marksOf,
  type ReportedCell,
  type ReportedSweep,
  statusOf,
  valueOf,
} from './reported-sweep.ts';

type Status = ReturnType<typeof statusOf>;

/** GitHub limits comments to 65,536 characters. */
const MAX_CHARACTERS = 60_000;
const MAX_NAME = 120;
const MAX_OPEN_UNCLEAR = 10;

const SECTIONS: readonly {
  readonly status: Status;
  readonly sign: string;
  readonly words: string;
  readonly isOpen: boolean;
}[] = [
  { status: 'slower', sign: '▲ slower', words: 'slower', isOpen: true },
  { status: 'failed', sign: '✗ no result', words: 'without a result', isOpen: true },
  { status: 'faster', sign: '▼ faster', words: 'faster', isOpen: true },
  { status: 'unclear', sign: '? unclear', words: 'unclear', isOpen: true },
  { status: 'same', sign: '= same', words: 'the same', isOpen: false },
  { status: 'new', sign: 'new', words: 'without a reference yet', isOpen: false },
  { status: 'measured', sign: 'measured', words: 'measured', isOpen: false },
  { status: 'incomparable', sign: '≠ incomparable', words: 'that cannot be compared', isOpen: false },
  { status: 'missing', sign: '∅ missing', words: 'on one side only', isOpen: false },
];

/** Of these nobody knows whether they are slower. */
const UNJUDGED: ReadonlySet<Status> = new Set(['failed', 'unclear', 'incomparable', 'missing']);

/** For a pull request comment: changes first, the rest folded. */
export function markdownText(report: ReportedSweep): string {
  const byStatus = Map.groupBy(report.cells, statusOf);
  // The largest number of lines per section that fits.
  for (const most of [500, 200, 100, 50, 20, 10, 3]) {
    const text = whole(report, byStatus, most);
    if (text.length <= MAX_CHARACTERS || most === 3) return text;
  }
  return '';
}

function whole(report: ReportedSweep, byStatus: ReadonlyMap<Status, readonly ReportedCell[]>, most: number): string {
  const isOnlyValues = [...byStatus.keys()].every((status) => status === 'measured' || status === 'new');
  const lines = [`### ${titleOf(report, byStatus)}`, '', aboutLine(report), ''];
  for (const note of report.notes) lines.push(`> ${markdown(note)}`, '');
  for (const { id, text } of report.gate?.findings ?? [])
    lines.push(`- finding \`${id.slice(0, 8)}\`: ${markdown(text)}`);
  if ((report.gate?.findings ?? []).length > 0) lines.push('');
  for (const { isOpen, sign, status, words } of SECTIONS) {
    const cells = byStatus.get(status) ?? [];
    if (cells.length === 0) continue;
    const table = tableOf(cells, sign, most);
    const isFolded = !isOpen || (status === 'unclear' && cells.length > MAX_OPEN_UNCLEAR);
    if (!isFolded || isOnlyValues) lines.push(...table, ...causesOf(cells), '');
    else {
      const summary = `${count(cells.length, 'cell')} ${words}${hiddenText(cells)}`;
      lines.push(`<details><summary>${summary}</summary>`, '', ...table, '', '</details>', '');
    }
  }
  return lines.join('\n');
}

function titleOf(
  { cells, gate, shift }: ReportedSweep,
  byStatus: ReadonlyMap<Status, readonly ReportedCell[]>,
): string {
  if (gate !== null) return `${gate.findings.length > 0 ? '▲ ' : ''}${markdown(gate.headline)}`;
  const slower = byStatus.get('slower') ?? [];
  const numberOf = (status: Status): number => byStatus.get(status)?.length ?? 0;
  const parts = SECTIONS.flatMap(({ isOpen, status, words }) =>
    status !== 'slower' && (isOpen || UNJUDGED.has(status)) && numberOf(status) > 0
      ? [`${numberOf(status)} ${words}`]
      : [],
  );
  const rest = parts.length === 0 ? '' : ` (${parts.join(', ')})`;
  if (slower.length > 0) {
    return `▲ ${slower.length} of ${count(cells.length, 'cell')} slower by ${rangeOf(slower)}${rest}`;
  }
  if (shift?.verdict === 'slower') return `▲ ${shiftSize(shift)}${rest}`;
  const isCompared = cells.some(({ judgement }) => judgement.kind !== 'values');
  if (!isCompared) return `${count(cells.length, 'cell')}${rest}`;
  const judged = [...UNJUDGED].reduce((left, status) => left - numberOf(status), cells.length);
  return judged === 0 ? `No verdict in ${count(cells.length, 'cell')}${rest}` : `No slower cell among ${judged}${rest}`;
}

function hiddenText(cells: readonly ReportedCell[]): string {
  const hidden = cells.flatMap(({ judgement }) =>
    judgement.kind !== 'values' && judgement.verdict === 'unclear' ? (judgement.mdePercent ?? []) : [],
  );
  return hidden.length === 0 ? '' : `: changes from ${formatPercent(Math.max(...hidden), false)} are detectable`;
}

function changeOf({ judgement }: ReportedCell): number | null {
  return judgement.kind === 'values' ? null : judgement.changePercent;
}

function rangeOf(cells: readonly ReportedCell[]): string {
  const sizes = cells.flatMap((cell) => Math.abs(changeOf(cell) ?? 0));
  const [least, most] = [Math.min(...sizes), Math.max(...sizes)].map((size) => formatPercent(size, false));
  return least === most ? `${least}` : `${least?.replace(/ %$/, '')} to ${most}`;
}

function aboutLine({ baseRef, baseSweep, cells, environments, geometricMean, ref, sweeps }: ReportedSweep): string {
  const [sweep] = sweeps;
  const set = sweep.recordingSet === null ? '' : ` (${markdown(sweep.recordingSet)})`;
  const gpus = new Set(cells.flatMap((cell) => environmentOf(cell, environments)?.gpuName ?? []));
  const base = baseRef === null ? '' : `${markdown(baseRef)}${commitText(baseSweep?.commit ?? null)} → `;
  return [
    `**${sweep.provenance}**${set}`,
    markdown(sweep.matrix ?? sweep.name ?? ''),
    `${base}${markdown(ref)}${commitText(sweep.commit)}${sweep.dirty === true ? ' (uncommitted changes)' : ''}`,
    ...[...gpus].map(markdown),
    sweep.tensorrt === null ? '' : `TensorRT ${markdown(sweep.tensorrt)}`,
    geometricMean === null || geometricMean.cells < 2 ? '' : `geometric mean ${meanText(geometricMean)}`,
  ]
    .filter((part) => part !== '')
    .join(' · ');
}

function commitText(commit: string | null): string {
  return commit === null ? '' : ` \`${commit.replace(/[^\w-]/g, '').slice(0, 8)}\``;
}

interface MarkdownColumn<Row = ReportedCell> {
  readonly header: string;
  readonly rule: '---' | '--:';
  /** Escaped. */
  readonly text: (row: Row) => string;
}

/** @param most rows that are shown */
function markdownTable<Row>(columns: readonly MarkdownColumn<Row>[], rows: readonly Row[], most: number): string[] {
  const more = rows.length - most;
  return [
    row(columns.map(({ header }) => header)),
    row(columns.map(({ rule }) => rule)),
    ...rows.slice(0, most).map((one) => row(columns.map(({ text }) => text(one)))),
    ...(more > 0 ? ['', `and ${count(more, 'more cell', 'more cells')}`] : []),
  ];
}

function changeColumns([first]: readonly ReportedCell[]): MarkdownColumn[] {
  const [base, head] = first?.judgement.kind === 'judged' ? ['reference', 'now'] : ['base', 'head'];
  return [
    { header: base, rule: '--:', text: (cell) => levelText(cell, 'base') },
    { header: head, rule: '--:', text: (cell) => levelText(cell, 'head') },
    { header: 'change', rule: '--:', text: (cell) => formatPercent(changeOf(cell)) },
  ];
}
const VALUE_COLUMN: MarkdownColumn = { header: 'value', rule: '---', text: (cell) => markdown(messageOf(cell)) };
const INTERVAL_COLUMN: MarkdownColumn = { header: '95 % interval', rule: '--:', text: intervalText };
/** This many values, the newest. */
const SHOWN_SWEEPS = 20;

const OWNER_COLUMN: MarkdownColumn = { header: 'owner', rule: '---', text: ({ owner }) => markdown(owner ?? '') };
const NEEDS_SOMEBODY: ReadonlySet<Status> = new Set(['slower', 'failed']);

function row(texts: readonly string[]): string {
  return `| ${texts.join(' | ')} |`;
}

function tableOf(cells: readonly ReportedCell[], sign: string, most: number): string[] {
  const hasChange = cells.some((cell) => changeOf(cell) !== null);
  const hasInterval = cells.some(({ judgement }) => judgement.kind !== 'values' && judgement.ciPercent !== null);
  const hasTrend = cells.some(({ recent }) => recent.length > 1);
  const percent = scalePercent(cells.map(changeOf));
  const trend: MarkdownColumn = {
    header: `last sweeps, ±${percent} %`,
    rule: '---',
    text: ({ recent }) => (recent.length > 1 ? sparkline(recent, SHOWN_SWEEPS, { level: null, percent }) : ''),
  };
  const hasOwner = cells.some((cell) => cell.owner !== null && NEEDS_SOMEBODY.has(statusOf(cell)));
  const columns: readonly MarkdownColumn[] = [
    { header: '', rule: '---', text: () => sign },
    { header: 'cell', rule: '---', text: nameText },
    ...(hasChange ? changeColumns(cells) : [VALUE_COLUMN]),
    ...(hasInterval ? [INTERVAL_COLUMN] : []),
    ...(hasTrend ? [trend] : []),
    ...(hasOwner ? [OWNER_COLUMN] : []),
  ];
  return markdownTable(columns, cells, most);
}

/** Numbers that are no results get a warning. */
function nameText(cell: ReportedCell): string {
  const marks = marksOf(cell);
  const warning = marks === '' ? '' : ` **✗ ${marks}**`;
  return `${markdown(shortened(cell.name))}${warning}`;
}

function levelText(cell: ReportedCell, side: 'base' | 'head'): string {
  const { judgement, metric } = cell;
  const value = judgement.kind === 'values' ? (side === 'head' ? valueOf(cell, metric) : null) : judgement[side];
  return value === null ? '–' : `${formatNumber(value)} ${judgedMetric(cell).unit}`;
}

function intervalText({ judgement }: ReportedCell): string {
  if (judgement.kind === 'values' || judgement.ciPercent === null) return '–';
  const [low, high] = judgement.ciPercent;
  return `${formatPercent(low).replace(/ %$/, '')} to ${formatPercent(high)}`;
}

/** Each cause once, with the number of cells it is the likeliest for. */
function causesOf(cells: readonly ReportedCell[]): string[] {
  const causes = cells.flatMap(({ judgement }) => (judgement.kind === 'compared' ? (judgement.cause ?? []) : []));
  const byTitle = Map.groupBy(causes, ({ title }) => title);
  const lines = [...byTitle].map(([title, same]) => {
    const of = same.length === cells.length ? '' : ` (${count(same.length, 'cell')})`;
    return `- likeliest cause: ${markdown(title)} (${same[0]?.certainty})${of}`;
  });
  return lines.length === 0 ? [] : ['', ...lines];
}

function shortened(name: string): string {
  return name.length <= MAX_NAME ? name : `${name.slice(0, MAX_NAME - 1).toWellFormed()}…`;
}

/** Escapes untrusted text: no markup, mention, link or table cell. */
export function markdown(text: string): string {
  return printable(text)
    .replace(/[&<>|`*~[\]@#\\!$]|(?<![a-z\d])_|_(?![a-z\d])/gi, (c) => `&#${c.charCodeAt(0)};`)
    .replace(/:\/\//g, '&#58;//')
    .replace(/www\./gi, (match) => `${match.slice(0, 3)}&#46;`);
}

/**
 * Workflow commands (docs.github.com, "Workflow commands for GitHub Actions"): one for each cell that needs attention,
 * one for a shared slow-down, one for each finding. GitHub shows ten of each kind per step; all are in the log.
 */
export function githubAnnotations({ cells, gate, shift }: ReportedSweep): string[] {
  const findings = gate?.findings ?? [];
  const ofFindings = findings.map(({ id, text }) => `::error title=finding ${id.slice(0, 8)}::${data(text)}`);
  const shared = shift?.verdict === 'slower' ? [`::error title=common shift::${data(shiftText(shift))}`] : [];
  const ofCells = cells.flatMap((cell) => {
    const level = isRegression(cell) ? 'error' : statusOf(cell) === 'failed' ? 'warning' : null;
    if (level === null) return [];
    const owner = cell.owner === null ? '' : ` (owner: ${cell.owner})`;
    return [`::${level} title=${property(cell.name)}::${data(`${messageOf(cell)}${owner}`)}`];
  });
  return [...ofFindings, ...shared, ...ofCells];
}

function data(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}

function property(text: string): string {
  return data(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
}
