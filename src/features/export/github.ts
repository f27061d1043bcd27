import { printable } from '../../text/printable.ts';
import { shiftSize, shiftText } from '../compare/index.ts';
import { scalePercent, sparkline } from '../../terminal/charts/sparkline.ts';
import { count, formatNumber, formatPercent, intervalText, meanText, rangeText } from '../../terminal/numbers.ts';
import { insideTimes, marksOf, type ReportedSweep, type ReportRow as Row, rowsOf } from './reported-sweep.ts';

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

/** Markdown for a comment on a pull request: changes first, the rest folded. */
export function markdownText(report: ReportedSweep): string {
  const rows = rowsOf(report);
  const title = `### ${titleOf(report, rows)}`;
  const about = aboutLine(report, rows);
  const textOf = (most: number) => [title, '', about, '', ...bodyLines(report, rows, most)].join('\n');
  // The largest number of lines per section that fits.
  return textOf([500, 100, 20].find((most) => textOf(most).length <= MAX_CHARACTERS) ?? 3);
}

function bodyLines({ gate, notes }: ReportedSweep, rows: readonly Row[], most: number): string[] {
  const byStatus = Map.groupBy(rows, ({ status }) => status);
  const isOnlyValues = rows.every(({ status }) => status === 'measured' || status === 'new');
  const findings = (gate?.findings ?? []).map(({ id, text }) => `- finding \`${id.slice(0, 8)}\`: ${markdown(text)}`);
  const sections = SECTIONS.flatMap(([status, sign, words, isOpen]) => {
    const of = byStatus.get(status) ?? [];
    if (of.length === 0) return [];
    const table = tableOf(isOpen ? of.toSorted(bySize) : of, sign, most);
    if (isOpen || isOnlyValues) return [...table, ...causesOf(of), ''];
    const folded = [...table, ...causesOf(of), '', '</details>', ''];
    return [`<details><summary>${count(of.length, 'cell')} ${words}</summary>`, '', ...folded];
  });
  if (findings.length > 0) findings.push('');
  return [...notes.flatMap((note) => [`> ${markdown(note)}`, '']), ...findings, ...sections];
}

function bySize(a: Row, b: Row): number {
  return Math.abs(b.changePercent ?? 0) - Math.abs(a.changePercent ?? 0);
}

function titleOf({ gate, shift }: ReportedSweep, rows: readonly Row[]): string {
  if (gate !== null) return `${gate.findings.length > 0 ? '▲ ' : ''}${markdown(gate.headline)}`;
  const byStatus = Map.groupBy(rows, ({ status }) => status);
  const parts = SECTIONS.flatMap(([status, , words, isOpen]) => {
    const of = status !== 'slower' && (isOpen || UNJUDGED.has(status)) ? byStatus.get(status) : undefined;
    return of === undefined ? [] : [`${of.length} ${words}`];
  });
  const rest = parts.length === 0 ? '' : ` (${parts.join(', ')})`;
  const all = count(rows.length, 'cell');
  const slower = byStatus.get('slower') ?? [];
  if (slower.length > 0) {
    const sizes = slower.map(({ changePercent }) => Math.abs(changePercent ?? 0));
    return `▲ ${slower.length} of ${all} slower by ${rangeText(sizes)}${rest}`;
  }
  if (shift?.verdict === 'slower') return `▲ ${shiftSize(shift)}${rest}`;
  if (rows.every(({ kind }) => kind === 'values')) return `${all}${rest}`;
  const judged = rows.filter(({ status }) => !UNJUDGED.has(status)).length;
  return judged === 0 ? `No verdict in ${all}${rest}` : `No slower cell among ${judged}${rest}`;
}

function aboutLine(report: ReportedSweep, rows: readonly Row[]): string {
  const { baseRef, baseSweep, cells, geometricMean, ref, sweeps } = report;
  const [sweep] = sweeps;
  const set = sweep.recordingSet === null ? '' : ` (${markdown(sweep.recordingSet)})`;
  const gpus = new Set(rows.flatMap(({ gpu }) => gpu ?? []));
  const base = baseRef === null ? '' : `${markdown(baseRef)}${commitText(baseSweep?.commit ?? null)} → `;
  return [
    `**${sweep.provenance}**${set}`,
    markdown(sweep.matrix ?? sweep.name ?? ''),
    `${base}${markdown(ref)}${commitText(sweep.commit)}${sweep.dirty === true ? ' (uncommitted changes)' : ''}`,
    ...[...gpus].map(markdown),
    sweep.tensorrt === null ? '' : `TensorRT ${markdown(sweep.tensorrt)}`,
    geometricMean === null || geometricMean.cells < 2 ? '' : `geometric mean ${meanText(geometricMean)}`,
    insideTimes(cells.filter(({ runs }) => runs.length > 0)) ?? '',
  ]
    .filter((part) => part !== '')
    .join(' · ');
}

function commitText(commit: string | null): string {
  return commit === null ? '' : ` \`${commit.replace(/[^\w-]/g, '').slice(0, 8)}\``;
}

/** A column of escaped texts. */
type Column = readonly [header: string, rule: '---' | '--:', text: (row: Row) => string];

/** Without columns that say nothing of any row. @param most rows to show */
function tableOf(rows: readonly Row[], sign: string, most: number): string[] {
  const [before, now] = rows[0]?.kind === 'judged' ? ['reference', 'now'] : ['base', 'head'];
  const percent = scalePercent(rows.map(({ changePercent }) => changePercent));
  const trend = ({ recent, ...row }: Row) =>
    recent.length > 1
      ? sparkline(recent, SHOWN_SWEEPS, { level: row.kind === 'judged' ? row.base : null, percent })
      : '';
  const changes: readonly Column[] = [
    [before, '--:', (row) => levelText(row, row.base)],
    [now, '--:', (row) => levelText(row, row.kind === 'values' ? row.value : row.head)],
    ['change', '--:', ({ changePercent }) => formatPercent(changePercent)],
  ];
  const values: readonly Column[] = [['value', '---', ({ message }) => markdown(message)]];
  const columns: readonly Column[] = [
    ['', '---', () => sign],
    ['cell', '---', nameText],
    ...(rows.some(({ changePercent }) => changePercent !== null) ? changes : values),
    ['95 % interval', '--:', ({ ciPercent: ci }) => (ci === null ? '–' : intervalText(ci).replace(' … ', ' to '))],
    ['to decide', '---', ({ reasonsText, status }) => (status === 'unclear' ? markdown(reasonsText) : '')],
    [`last sweeps, ±${percent} %`, '---', trend],
    ['owner', '---', ({ owner, status }) => (status === 'slower' || status === 'failed' ? markdown(owner ?? '') : '')],
  ];
  const shown = columns.filter(([, , text]) => rows.some((row) => !['', '–'].includes(text(row))));
  const body = rows.slice(0, most).map((row) => shown.map(([, , text]) => text(row)));
  const texts = [shown.map(([header]) => header), shown.map(([, rule]) => rule), ...body];
  const more = rows.length > most ? ['', `and ${count(rows.length - most, 'more cell', 'more cells')}`] : [];
  return [...texts.map((line) => `| ${line.join(' | ')} |`), ...more];
}

/** Numbers that are not results get a warning. */
function nameText({ name, runs }: Row): string {
  const marks = marksOf({ runs });
  const short = name.length <= MAX_NAME ? name : `${name.slice(0, MAX_NAME - 1).toWellFormed()}…`;
  return `${markdown(short)}${marks === '' ? '' : ` **✗ ${marks}**`}`;
}

function levelText({ metric }: Row, value: number | null): string {
  return value === null ? '–' : `${formatNumber(value)} ${metric.unit}`;
}

/** Each likeliest cause, and each reason why cells cannot be compared, with its number of cells. */
function causesOf(rows: readonly Row[]): string[] {
  const texts = rows.flatMap(({ cause, reasonsText, status }) => {
    if (status === 'incomparable') return reasonsText;
    return cause === null ? [] : `likeliest cause: ${cause.title} (${cause.certainty})`;
  });
  const lines = [...Map.groupBy(texts, (text) => text)].map(([text, same]) => {
    return `- ${markdown(text)}${same.length === rows.length ? '' : ` (${count(same.length, 'cell')})`}`;
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
export function githubAnnotations(report: ReportedSweep): string[] {
  const { gate, shift } = report;
  const findings = gate?.findings ?? [];
  const ofFindings = findings.map(({ id, text }) => `::error title=finding ${id.slice(0, 8)}::${data(text)}`);
  const shared = shift?.verdict === 'slower' ? [`::error title=common shift::${data(shiftText(shift))}`] : [];
  const ofCells = rowsOf(report)
    .toSorted(bySize)
    .flatMap(({ isRegression, message, name, owner, status }) => {
      const level = isRegression ? 'error' : status === 'failed' ? 'warning' : null;
      if (level === null) return [];
      const title = data(name).replaceAll(':', '%3A').replaceAll(',', '%2C');
      return [`::${level} title=${title}::${data(owner === null ? message : `${message} (owner: ${owner})`)}`];
    });
  return [...ofFindings, ...shared, ...ofCells];
}

function data(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}
