import type { LayerChange } from '../../layers/diff-layers.ts';
import { printable } from '../../text/printable.ts';
import { stableName } from '../../layers/layer-name.ts';
import type { LayersDiffOutput } from './output.ts';
import type { Look } from '../../terminal/look.ts';
import { count, formatMs, formatNumber, formatPercent, signedMs } from '../../terminal/numbers.ts';
import { type Column, renderTable, numberColumn, textColumn } from '../../terminal/table.ts';
import { wrapHanging } from '../../terminal/text-width.ts';

type DiffRow = LayersDiffOutput['rows'][number];

type Engine = LayersDiffOutput['base'];

export const CHANGE_WORDS: Readonly<Record<LayerChange, string>> = {
  same: 'same kernel',
  unknown: 'kernel not known',
  otherHash: 'regenerated',
  tactic: 'other tactic',
  precision: 'other precision',
  split: 'fusion lost',
  merged: 'fused',
  regrouped: 'fused differently',
  new: 'new',
  gone: 'gone',
};

/** @param top number of rows; the rest is summed */
export function layersDiffText(diff: LayersDiffOutput, top: number, look: Look): string[] {
  const { base, head, rows } = diff;
  const { style, columns } = look;
  const lines = [
    ...wrapHanging(headline(diff), columns, 2).map(style.strong),
    ...wrapHanging(sideLine('base', base), columns, 6),
    ...wrapHanging(sideLine('head', head), columns, 6),
    ...[...new Set([...base.notes, ...head.notes])].flatMap((note) =>
      wrapHanging(`note: ${printable(note)}`, columns, 2).map(style.warn),
    ),
  ];
  const shown = rows.slice(0, top);
  if (shown.length > 0) lines.push('', ...rowTable(shown, diff, look));
  lines.push('', ...sumLines(rows.slice(top), diff).flatMap((line) => wrapHanging(line, columns, 2)));
  return lines;
}

function isTimed({ base, head }: LayersDiffOutput): boolean {
  return base.totalMs !== null && head.totalMs !== null;
}

function headline(diff: LayersDiffOutput): string {
  const { base, head, deltaMs, rows } = diff;
  const changed = rows.reduce((sum, { headLayers }) => sum + headLayers, 0);
  const of = [...new Set([base, head].map(({ label, ref }) => printable(label ?? ref)))].join(' → ');
  if (deltaMs === null) {
    const why = isTimed(diff) ? 'only some layers are listed, so the change per query is unknown' : 'no times';
    return `${of}: ${changed} of ${head.layers} layers changed (${why})`;
  }
  const baseMs = base.totalMs ?? 0;
  const relative = baseMs > 0 ? ` (${formatPercent((deltaMs / baseMs) * 100)})` : '';
  return `${of}: ${signedMs(deltaMs)} per query${relative}, ${changed} of ${head.layers} layers changed`;
}

function sideLine(name: string, { layers, listedMs, provenance, runId, ref, totalMs }: Engine): string {
  const listed = listedMs === null ? 'no profile' : formatMs(listedMs);
  const all = listedMs === totalMs ? '' : ` of ${formatMs(totalMs)} in all`;
  return `${name}  ${listed} in ${count(layers, 'layer')}${all} · ${provenance} · ${printable(ref)} · run ${runId.slice(0, 8)}`;
}

function rowTable(rows: readonly DiffRow[], diff: LayersDiffOutput, look: Look): string[] {
  const { style } = look;
  const times: Column<DiffRow>[] = [
    numberColumn('change', ({ deltaMs }) => signedMs(deltaMs), 0, {
      style: ({ deltaMs, isCause }) => {
        if (!isCause) return style.dim;
        return deltaMs !== null && deltaMs > 0 ? style.bad : style.good;
      },
    }),
    numberColumn('of all', ({ deltaMs }) => shareOf(deltaMs, diff), 3),
    numberColumn(
      'base → head, ms',
      ({ baseMs, headMs }) => `${formatNumber(baseMs, 3)} → ${formatNumber(headMs, 3)}`,
      5,
    ),
  ];
  return renderTable<DiffRow>(
    [
      ...(isTimed(diff) ? times : []),
      numberColumn(
        'layers',
        ({ baseLayers, headLayers }) =>
          baseLayers === headLayers ? String(headLayers) : `${baseLayers} → ${headLayers}`,
        2,
      ),
      { header: '', text: ({ change }) => CHANGE_WORDS[change] },
      { header: 'ONNX nodes', text: ({ label }) => printable(label), minWidth: 24, wraps: true },
      textColumn('how', ({ change, detail }) => (change === 'otherHash' ? '' : printable(detail ?? '')), 1, {
        minWidth: 25,
        wraps: true,
      }),
    ],
    rows,
    look,
  );
}

function shareOf(deltaMs: number | null, { deltaMs: all }: LayersDiffOutput): string {
  return deltaMs === null || all === null || all === 0 ? '–' : formatPercent((deltaMs / all) * 100, false);
}

function sumText(value: number | null): string {
  return value === null ? '' : ` ${signedMs(value)},`;
}

function sumLines(rest: readonly DiffRow[], diff: LayersDiffOutput): string[] {
  const { commonPercent, unknown, unchanged, unattributed } = diff;
  const lines: string[] = [];
  if (rest.length > 0) {
    const sum = rest.reduce((total, row) => total + (row.deltaMs ?? 0), 0);
    lines.push(`${count(rest.length, 'more change')}:${sumText(isTimed(diff) ? sum : null)} see --all`);
  }
  if (unknown !== null) {
    lines.push(
      `kernels not known (names only: build with --profilingVerbosity=detailed):${sumText(unknown.deltaMs)}${unknown.deltaMs === null ? '' : ` ${formatNumber(unknown.baseMs)} → ${formatMs(unknown.headMs)},`} ${count(unknown.headLayers, 'layer')}`,
      ...namedEqually(unknown),
    );
  }
  if (unchanged !== null) {
    lines.push(`same kernels on both sides:${sumText(unchanged.deltaMs)} ${count(unchanged.headLayers, 'layer')}`);
  }
  if (unattributed !== null) {
    const layers = unattributed.baseLayers + unattributed.headLayers;
    lines.push(`not attributed:${sumText(unattributed.deltaMs)} ${count(layers, 'layer')} without any ONNX node`);
  }
  if (isTimed(diff) && commonPercent !== null && Math.abs(commonPercent) >= 1) {
    lines.push(
      `layers that kept their kernels changed by ${formatPercent(commonPercent)}, all of them: a clock, or the noise of the profiler`,
    );
  }
  return lines;
}

/** Lists layers with equal names whose times differ by this factor: the three largest changes. */
const NAMED_FROM = 1.1;
const NAMED = 3;

/**
 * Pairs of layers that share only a name, such as those of two harnesses. The kernel has that name in any precision.
 */
function namedEqually({ parts }: DiffRow): string[] {
  return parts
    .flatMap(({ base: [was, ...more], head: [is, ...others], baseMs, headMs, deltaMs }) => {
      const factor = Math.max((baseMs ?? 0) / (headMs ?? 0), (headMs ?? 0) / (baseMs ?? 0));
      const isPair = was !== undefined && is !== undefined && more.length + others.length === 0;
      if (!isPair || deltaMs === null || !Number.isFinite(factor) || factor < NAMED_FROM) return [];
      const times = `${formatNumber(baseMs)} → ${formatMs(headMs)}`;
      const how = `${factor.toFixed(2)}x as ${deltaMs > 0 ? 'long' : 'fast'}, by its name alone`;
      return [{ line: `  ${printable(stableName(is))}: ${times}, ${how}`, size: Math.abs(deltaMs) }];
    })
    .toSorted((a, b) => b.size - a.size)
    .slice(0, NAMED)
    .map(({ line }) => line);
}
