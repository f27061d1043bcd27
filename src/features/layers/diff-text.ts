import { type LayerChange, NO_KERNELS } from '../../layers/diff-layers.ts';
import { printable } from '../../text/printable.ts';
import { stableName } from '../../layers/layer-name.ts';
import type { LayersDiffOutput } from './output.ts';
import { type Look, wrapLines } from '../../terminal/look.ts';
import { count, formatMs, formatNumber, formatPercent, signedMs } from '../../terminal/numbers.ts';
import { renderTable, numberColumn } from '../../terminal/table.ts';
import { opaqueLines } from './text.ts';

type DiffRow = LayersDiffOutput['rows'][number];

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
  const { style } = look;
  const notes = [...new Set([...base.notes, ...head.notes])].map((note) => `note: ${printable(note)}`);
  return [
    ...wrapLines(look, 2, [headline(diff)]).map(style.strong),
    ...wrapLines(look, 6, [sideLine('base', base), sideLine('head', head)]),
    ...wrapLines(look, 2, notes).map(style.warn),
    ...(rows.length > 0 && top > 0 ? ['', ...rowTable(rows.slice(0, top), diff, look)] : []),
    '',
    ...wrapLines(look, 2, sumLines(rows.slice(top), diff)),
  ];
}

function isTimed({ base, head }: LayersDiffOutput): boolean {
  return base.totalMs !== null && head.totalMs !== null;
}

function headline(diff: LayersDiffOutput): string {
  const { base, head, deltaMs, rows, unknown } = diff;
  const changed = rows.reduce((sum, { headLayers }) => sum + headLayers, 0);
  const of = [...new Set([base, head].map(({ label, ref }) => printable(label ?? ref)))].join(' → ');
  const others = unknown === null ? '' : `, ${unknown.headLayers} not known`;
  const layers = `${changed} of ${head.layers} layers changed${others}`;
  if (deltaMs === null) {
    const why = isTimed(diff) ? 'only some layers are listed, so the change per query is unknown' : 'no times';
    return `${of}: ${layers} (${why})`;
  }
  const relative = base.totalMs ? ` (${formatPercent((deltaMs / base.totalMs) * 100)})` : '';
  return `${of}: ${signedMs(deltaMs)} per query${relative}, ${layers}`;
}

function sideLine(name: string, { layers, listedMs, provenance, runId, ref, totalMs }: LayersDiffOutput['base']) {
  const listed = listedMs === null ? 'no profile' : formatMs(listedMs);
  const all = listedMs === totalMs ? '' : ` of ${formatMs(totalMs)} in all`;
  return `${name}  ${listed} in ${count(layers, 'layer')}${all} · ${provenance} · ${printable(ref)} · run ${runId.slice(0, 8)}`;
}

function rowTable(rows: readonly DiffRow[], diff: LayersDiffOutput, look: Look): string[] {
  const { style } = look;
  const timed = (text: string) => (isTimed(diff) ? text : '');
  const changeStyle = ({ deltaMs, isCause }: DiffRow) =>
    !isCause ? style.dim : deltaMs !== null && deltaMs > 0 ? style.bad : style.good;
  const sidesText = ({ baseMs, headMs }: DiffRow) => `${formatNumber(baseMs, 3)} → ${formatNumber(headMs, 3)}`;
  const layersText = ({ baseLayers, headLayers }: DiffRow): string =>
    baseLayers === headLayers ? String(headLayers) : `${baseLayers} → ${headLayers}`;
  const how = ({ change, detail }: DiffRow): string => (change === 'otherHash' ? '' : printable(detail ?? ''));
  return renderTable<DiffRow>(
    [
      numberColumn('change', ({ deltaMs }) => timed(signedMs(deltaMs)), 0, { style: changeStyle }),
      numberColumn('of all', ({ deltaMs }) => timed(shareOf(deltaMs, diff)), 3),
      numberColumn('base → head, ms', (row) => timed(sidesText(row)), 5),
      numberColumn('layers', layersText, 2),
      { header: '', text: ({ change }) => CHANGE_WORDS[change] },
      { header: 'ONNX nodes', text: ({ label }) => printable(label), minWidth: 24, wraps: true },
      { header: 'how', text: how, dropRank: 1, minWidth: 25, wraps: true },
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
    const { baseMs, deltaMs, headLayers, headMs } = unknown;
    const times = deltaMs === null ? '' : `${sumText(deltaMs)} ${formatNumber(baseMs)} → ${formatMs(headMs)},`;
    lines.push(`kernels not known (${NO_KERNELS}):${times} ${count(headLayers, 'layer')}`, ...namedEqually(unknown));
  }
  lines.push(...opaqueLines(Math.max(diff.base.opaqueShare, diff.head.opaqueShare)));
  if (unchanged !== null) {
    lines.push(`same kernels on both sides:${sumText(unchanged.deltaMs)} ${count(unchanged.headLayers, 'layer')}`);
  }
  if (unattributed !== null) {
    const layers = unattributed.baseLayers + unattributed.headLayers;
    lines.push(`not attributed:${sumText(unattributed.deltaMs)} ${count(layers, 'layer')} without any ONNX node`);
  }
  if (isTimed(diff) && commonPercent !== null && Math.abs(commonPercent) >= 1) {
    const changed = `layers that kept their kernels changed by ${formatPercent(commonPercent)}, all of them`;
    lines.push(`${changed}: a clock, or the noise of the profiler`);
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
