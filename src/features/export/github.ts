import { printable } from '../../text/printable.ts';
import { shiftSize, shiftText } from '../compare/index.ts';
import { scalePercent, sparkline } from '../../terminal/charts/sparkline.ts';
import { count, formatNumber, formatPercent, meanText } from '../../terminal/numbers.ts';
import {
  environmentOf,
  judgementOf,
  marksOf,
  messageOf,
  type ReportedCell,
  type ReportedSweep,
  valueOf,
} from './reported-sweep.ts';

type Row = ReturnType<typeof rowOf>;
type Status = Row['status'];

/** GitHub limits comments to 65,536 characters. */
const MAX_CHARACTERS = 60_000;
const MAX_NAME = 120;
/** Maximum number of sweeps in a trend, newest last. */
const SHOWN_SWEEPS = 20;

/** Sections in order; those with changes are open. */
const SECTIONS: readonly (readonly [status: Status, sign: string, words: string, isOpen: boolean])[] = [
  ['slower', '▲ slower', 'slower', true],
  ['failed', '✗ no result', 'without a result', true],
  ['faster', '▼ faster', 'faster', true],
  ['unclear', '? unclear', 'unclear', true],
  ['same', '= same', 'the same', false],
  ['new', 'new', 'without a reference yet', false],
  ['measured', 'measured', 'measured', false],
  ['incomparable', '≠ incomparable', 'that cannot be compared', false],
  ['missing', '∅ missing', 'on one side only', false],
];

/** It is unknown whether these cells are slower. */
const UNJUDGED: ReadonlySet<Status> = new Set(['failed', 'unclear', 'incomparable', 'missing']);

function rowOf(cell: ReportedCell) {
  return {
    ...cell,
    ...judgementOf(cell),
    message: messageOf(cell),
    marks: marksOf(cell),
    value: valueOf(cell, cell.metric),
  };
}

/** Markdown for a comment on a pull request: changes first, the rest folded. */
export function markdownText(report: ReportedSweep): string {
  const rows = report.cells.map(rowOf);
  const title = `### ${titleOf(report, rows)}`;
  const about = aboutLine(report);
  // Use the largest number of lines per section that fits.
  for (const most of [500, 200, 100, 50, 20, 10, 3]) {
    const text = [title, '', about, '', ...bodyLines(report, rows, most)].join('\n');
    if (text.length <= MAX_CHARACTERS || most === 3) return text;
  }
  return '';
}

function bodyLines({ gate, notes }: ReportedSweep, rows: readonly Row[], most: number): string[] {
  const byStatus = Map.groupBy(rows, ({ status }) => status);
  const isOnlyValues = rows.every(({ status }) => status === 'measured' || status === 'new');
  const findings = (gate?.findings ?? []).map(({ id, text }) => `- finding \`${id.slice(0, 8)}\`: ${markdown(text)}`);
  const sections = SECTIONS.flatMap(([status, sign, words, isOpen]) => {
    const of = byStatus.get(status) ?? [];
    if (of.length === 0) return [];
    const table = tableOf(of, sign, most);
    if (isOpen || isOnlyValues) return [...table, ...causesOf(of), ''];
    const summary = `${count(of.length, 'cell')} ${words}`;
    return [`<details><summary>${summary}</summary>`, '', ...table, '', '</details>', ''];
  });
  const more = findings.length === 0 ? [] : [''];
  return [...notes.flatMap((note) => [`> ${markdown(note)}`, '']), ...findings, ...more, ...sections];
}

function titleOf({ gate, shift }: ReportedSweep, rows: readonly Row[]): string {
  if (gate !== null) return `${gate.findings.length > 0 ? '▲ ' : ''}${markdown(gate.headline)}`;
  const numberOf = (status: Status): number => rows.filter((row) => row.status === status).length;
  const parts = SECTIONS.flatMap(([status, , words, isOpen]) =>
    status !== 'slower' && (isOpen || UNJUDGED.has(status)) && numberOf(status) > 0
      ? [`${numberOf(status)} ${words}`]
      : [],
  );
  const rest = parts.length === 0 ? '' : ` (${parts.join(', ')})`;
  const slower = rows.filter(({ status }) => status === 'slower');
  if (slower.length > 0) {
    const sizes = slower.map(({ changePercent }) => Math.abs(changePercent ?? 0));
    const [least, largest] = [Math.min(...sizes), Math.max(...sizes)].map((size) => formatPercent(size, false));
    const range = least === largest ? `${least}` : `${least?.replace(/ %$/, '')} to ${largest}`;
    return `▲ ${slower.length} of ${count(rows.length, 'cell')} slower by ${range}${rest}`;
  }
  if (shift?.verdict === 'slower') return `▲ ${shiftSize(shift)}${rest}`;
  if (rows.every(({ kind }) => kind === 'values')) return `${count(rows.length, 'cell')}${rest}`;
  const judged = rows.filter(({ status }) => !UNJUDGED.has(status)).length;
  return judged === 0 ? `No verdict in ${count(rows.length, 'cell')}${rest}` : `No slower cell among ${judged}${rest}`;
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

/** A column of escaped texts. */
type Column = readonly [header: string, rule: '---' | '--:', text: (row: Row) => string];

/** @param most rows to show */
function tableOf(rows: readonly Row[], sign: string, most: number): string[] {
  const isJudged = rows[0]?.kind === 'judged';
  const percent = scalePercent(rows.map(({ changePercent }) => changePercent));
  const changes: readonly Column[] = [
    [isJudged ? 'reference' : 'base', '--:', (row) => levelText(row, row.base)],
    [isJudged ? 'now' : 'head', '--:', (row) => levelText(row, row.kind === 'values' ? row.value : row.head)],
    ['change', '--:', ({ changePercent }) => formatPercent(changePercent)],
  ];
  const shown = (column: Column, isThere: boolean): readonly Column[] => (isThere ? [column] : []);
  const columns: readonly Column[] = [
    ['', '---', () => sign],
    ['cell', '---', nameText],
    ...(rows.some(({ changePercent }) => changePercent !== null)
      ? changes
      : [['value', '---', ({ message }) => markdown(message)] satisfies Column]),
    ...shown(
      ['95 % interval', '--:', intervalText],
      rows.some(({ ciPercent }) => ciPercent !== null),
    ),
    ...shown(
      [
        `last sweeps, ±${percent} %`,
        '---',
        ({ recent }) => (recent.length > 1 ? sparkline(recent, SHOWN_SWEEPS, { level: null, percent }) : ''),
      ],
      rows.some(({ recent }) => recent.length > 1),
    ),
    ...shown(
      ['owner', '---', ({ owner }) => markdown(owner ?? '')],
      rows.some(({ owner, status }) => owner !== null && (status === 'slower' || status === 'failed')),
    ),
  ];
  const more = rows.length - most;
  return [
    columns.map(([header]) => header),
    columns.map(([, rule]) => rule),
    ...rows.slice(0, most).map((row) => columns.map(([, , text]) => text(row))),
  ]
    .map((texts) => `| ${texts.join(' | ')} |`)
    .concat(more > 0 ? ['', `and ${count(more, 'more cell', 'more cells')}`] : []);
}

/** Numbers that are not results get a warning. */
function nameText({ marks, name }: Row): string {
  const short = name.length <= MAX_NAME ? name : `${name.slice(0, MAX_NAME - 1).toWellFormed()}…`;
  return `${markdown(short)}${marks === '' ? '' : ` **✗ ${marks}**`}`;
}

function levelText({ metric }: Row, value: number | null): string {
  return value === null ? '–' : `${formatNumber(value)} ${metric.unit}`;
}

function intervalText({ ciPercent }: Row): string {
  if (ciPercent === null) return '–';
  const [low, high] = ciPercent;
  return `${formatPercent(low).replace(/ %$/, '')} to ${formatPercent(high)}`;
}

/** Each cause once, with the number of cells whose likeliest cause it is. */
function causesOf(rows: readonly Row[]): string[] {
  const byTitle = Map.groupBy(
    rows.flatMap(({ cause }) => cause ?? []),
    ({ title }) => title,
  );
  const lines = [...byTitle].map(([title, same]) => {
    const of = same.length === rows.length ? '' : ` (${count(same.length, 'cell')})`;
    return `- likeliest cause: ${markdown(title)} (${same[0]?.certainty})${of}`;
  });
  return lines.length === 0 ? [] : ['', ...lines];
}

/** Escapes untrusted text: no markup, mention, link or table cell. */
function markdown(text: string): string {
  return printable(text)
    .replace(/[&<>|`*~[\]@#\\!$]|(?<![a-z\d])_|_(?![a-z\d])/gi, (c) => `&#${c.charCodeAt(0)};`)
    .replace(/:\/\//g, '&#58;//')
    .replace(/www\./gi, (match) => `${match.slice(0, 3)}&#46;`);
}

/**
 * Workflow commands (docs.github.com, "Workflow commands for GitHub Actions"): one for each cell that needs attention,
 * for a shared slow-down, and for each finding. GitHub shows ten of each kind per step; the log has all.
 */
export function githubAnnotations({ cells, gate, shift }: ReportedSweep): string[] {
  const findings = gate?.findings ?? [];
  const ofFindings = findings.map(({ id, text }) => `::error title=finding ${id.slice(0, 8)}::${data(text)}`);
  const shared = shift?.verdict === 'slower' ? [`::error title=common shift::${data(shiftText(shift))}`] : [];
  const ofCells = cells.flatMap((cell) => {
    const { isRegression, status } = judgementOf(cell);
    const level = isRegression ? 'error' : status === 'failed' ? 'warning' : null;
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
