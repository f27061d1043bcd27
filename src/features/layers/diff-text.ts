import { type ChangeRow, type ChangeRows, partRows } from '../../layers/change-rows.ts';
import type { LayerChange, LayersDiff } from '../../layers/diff-layers.ts';
import { printable } from '../../text/printable.ts';
import type { ProfiledEngine } from '../../engines/profiled-engine.ts';
import { engineJson, hasTimes } from './text.ts';
import type { Look } from '../../terminal/look.ts';
import { count, formatMs, formatNumber, formatPercent } from '../../terminal/numbers.ts';
import { type Column, renderTable } from '../../terminal/table.ts';
import { wrapHanging } from '../../terminal/text-width.ts';

export interface LayersDiffReport {
  readonly base: ProfiledEngine;
  readonly head: ProfiledEngine;
  readonly diff: LayersDiff;
  readonly rows: ChangeRows;
  readonly top: number;
  /** Each row with its layers one by one. */
  readonly isOpen: boolean;
  /** Median SM clock beside each profile; null where nobody looked. */
  readonly smClockMhz: readonly [number | null, number | null];
}

export function layersDiffJson({ base, head, diff, rows }: LayersDiffReport) {
  const timed = hasTimes(base) && hasTimes(head);
  return {
    schemaVersion: 1,
    base: { ...engineJson(base), layers: base.layers.length, totalMs: timed ? diff.baseMs : null },
    head: { ...engineJson(head), layers: head.layers.length, totalMs: timed ? diff.headMs : null },
    deltaMs: timed ? diff.deltaMs : null,
    commonPercent: diff.commonPercent,
    rows: rows.rows.map((row) => rowJson(row, timed)),
    unknown: rows.unknown === null ? null : rowJson(rows.unknown, timed),
    unchanged: rows.unchanged === null ? null : rowJson(rows.unchanged, timed),
    unattributed: rows.unattributed === null ? null : rowJson(rows.unattributed, timed),
  };
}

function rowJson(row: ChangeRow, timed: boolean) {
  const { change, label, detail, isCause, baseLayers, headLayers, parts } = row;
  return {
    change,
    label,
    detail,
    isCause,
    baseLayers,
    headLayers,
    baseMs: timed ? row.baseMs : null,
    headMs: timed ? row.headMs : null,
    deltaMs: timed ? row.deltaMs : null,
    moved: parts.filter(({ moved }) => moved).length,
    parts: parts.map((part) => ({
      base: part.base.map(({ name }) => name),
      head: part.head.map(({ name }) => name),
      baseKernels: part.base.map(({ tactic }) => tactic),
      headKernels: part.head.map(({ tactic }) => tactic),
      deltaMs: timed ? part.deltaMs : null,
    })),
  };
}

export const CHANGE_WORDS: Readonly<Record<LayerChange, string>> = {
  same: 'same kernel',
  unknown: 'kernel not known',
  otherHash: 'generated anew',
  tactic: 'other tactic',
  precision: 'other precision',
  split: 'fusion lost',
  merged: 'fused',
  regrouped: 'fused otherwise',
  new: 'new',
  gone: 'gone',
};

export function layersDiffText(report: LayersDiffReport, look: Look): string[] {
  const { base, head, diff, rows } = report;
  const { style, columns } = look;
  const timed = hasTimes(base) && hasTimes(head);
  const lines = [
    ...wrapHanging(headline(report, timed), columns, 2).map(style.strong),
    ...wrapHanging(sideLine('base', base, timed ? diff.baseMs : null), columns, 6),
    ...wrapHanging(sideLine('head', head, timed ? diff.headMs : null), columns, 6),
    ...[base, head].flatMap(({ notes }) =>
      notes.flatMap((note) => wrapHanging(`note: ${printable(note)}`, columns, 2).map(style.warn)),
    ),
  ];
  const shown = rows.rows.slice(0, report.top);
  const rest = rows.rows.slice(report.top);
  const opened = report.isOpen ? shown.flatMap(withParts) : shown;
  if (shown.length > 0) lines.push('', ...rowTable(opened, diff, timed, look));
  lines.push('', ...sumLines(rest, report, timed).flatMap((line) => wrapHanging(line, columns, 2)));
  return lines;
}

/** A row of several parts, and below it each of them. */
function withParts(row: ChangeRow): ChangeRow[] {
  return row.parts.length < 2 ? [row] : [row, ...partRows(row).map((part) => ({ ...part, label: `· ${part.label}` }))];
}

function headline({ base, head, diff, rows }: LayersDiffReport, timed: boolean): string {
  const changed = rows.rows.reduce((sum, { headLayers }) => sum + headLayers, 0);
  const what = printable(base.cellLabel ?? base.ref);
  const of = base.cellLabel === head.cellLabel ? what : `${what} → ${printable(head.cellLabel ?? head.ref)}`;
  if (!timed) return `${of}: ${changed} of ${head.layers.length} layers changed (no times)`;
  const relative = diff.baseMs > 0 ? ` (${formatPercent((diff.deltaMs / diff.baseMs) * 100)})` : '';
  return `${of}: ${signedMs(diff.deltaMs)} a query${relative}, ${changed} of ${head.layers.length} layers changed`;
}

function sideLine(name: string, engine: ProfiledEngine, totalMs: number | null): string {
  const { layers, provenance, runId, ref } = engine;
  const total = totalMs === null ? 'no profile' : formatMs(totalMs);
  return `${name}  ${total} in ${count(layers.length, 'layer')} · ${provenance} · ${printable(ref)} · run ${runId.slice(0, 8)}`;
}

function signedMs(value: number): string {
  return `${value > 0 ? '+' : ''}${formatMs(value)}`;
}

function rowTable(rows: readonly ChangeRow[], diff: LayersDiff, timed: boolean, look: Look): string[] {
  const { style } = look;
  const right = 'right' as const;
  const times: Column<ChangeRow>[] = [
    {
      header: 'change',
      text: ({ deltaMs }) => signedMs(deltaMs),
      align: right,
      style: ({ deltaMs, isCause }) => {
        if (!isCause) return style.dim;
        return deltaMs > 0 ? style.bad : style.good;
      },
    },
    { header: 'of all', text: ({ deltaMs }) => shareOf(deltaMs, diff), align: right, dropRank: 4 },
    {
      header: 'base → head, ms',
      text: ({ baseMs, headMs }) => `${formatNumber(baseMs, 3)} → ${formatNumber(headMs, 3)}`,
      align: right,
      dropRank: 3,
    },
  ];
  return renderTable<ChangeRow>(
    [
      ...(timed ? times : []),
      {
        header: 'layers',
        text: ({ baseLayers, headLayers }) =>
          baseLayers === headLayers ? String(headLayers) : `${baseLayers} → ${headLayers}`,
        align: right,
        dropRank: 2,
      },
      { header: '', text: ({ change }) => CHANGE_WORDS[change] },
      { header: 'ONNX nodes', text: ({ label }) => printable(label), minWidth: 18 },
      { header: 'how', text: ({ detail }) => printable(detail ?? ''), minWidth: 24, dropRank: 1 },
    ],
    rows,
    look,
  );
}

function shareOf(deltaMs: number, diff: LayersDiff): string {
  return diff.deltaMs === 0 ? '–' : formatPercent((deltaMs / diff.deltaMs) * 100, false);
}

function sumLines(
  rest: readonly ChangeRow[],
  { diff, rows: { unknown, unchanged, unattributed }, smClockMhz }: LayersDiffReport,
  timed: boolean,
): string[] {
  const ms = (value: number): string => (timed ? ` ${signedMs(value)},` : '');
  const lines: string[] = [];
  if (rest.length > 0) {
    const sum = rest.reduce((total, { deltaMs }) => total + deltaMs, 0);
    lines.push(`${count(rest.length, 'more change')}:${ms(sum)} see --all`);
  }
  if (unknown !== null) {
    lines.push(
      `kernels not known (names only: build with --profilingVerbosity=detailed):${ms(unknown.deltaMs)} ${count(unknown.headLayers, 'layer')}`,
    );
  }
  if (unchanged !== null) {
    lines.push(`same kernels on both sides:${ms(unchanged.deltaMs)} ${count(unchanged.headLayers, 'layer')}`);
  }
  if (unattributed !== null) {
    const layers = unattributed.baseLayers + unattributed.headLayers;
    lines.push(`not attributed:${ms(unattributed.deltaMs)} ${count(layers, 'layer')} without any ONNX node`);
  }
  if (timed && diff.commonPercent !== null && Math.abs(diff.commonPercent) >= 1) {
    lines.push(
      `layers that kept their kernels changed by ${formatPercent(diff.commonPercent)}, all of them: ${clockText(diff.commonPercent, smClockMhz)}`,
    );
  }
  return lines;
}

/** Steps of a clock are 15 MHz: one of them is no change. */
const CLOCK_MOVED = 0.01;

/** A clock is the cause only where it was seen to move, and that way. */
function clockText(commonPercent: number, [was, is]: readonly [number | null, number | null]): string {
  if (was === null || is === null || was <= 0) {
    return 'a clock or the scatter of the profiler; no clock was recorded beside both profiles';
  }
  const moved = is / was - 1;
  return Math.abs(moved) >= CLOCK_MOVED && moved * commonPercent < 0
    ? `the clock, not the engine: SM clock ${was} → ${is} MHz`
    : `the scatter of the profiler, as the SM clock did not move (${was} and ${is} MHz)`;
}
