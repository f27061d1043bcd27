import { formatMs, formatNumber, formatPercent, signedMs } from '../../terminal/numbers.ts';
import type { PageCell, PageData, PageDiff, PageLayers } from '../page-types.ts';
import { sweepName } from './data.ts';
import { element, note, pickedPicture, svg, svgLine, showAsTable, textTable } from './dom.ts';
import { layerMap } from './layer-map.ts';

export function layersView(data: PageData, { diffs, layers }: PageCell): HTMLElement {
  const title = element('h3', {}, 'Layers');
  if (layers === null) {
    return element('section', {}, title, note('No profile of this cell is stored: bench run --profile takes one.'));
  }
  const sweep = layers.sweep === null ? 'an unknown sweep' : sweepName(data, layers.sweep);
  const columns = [layers.precisions, layers.types, layers.blocks, layers.purposes];
  const names = ['precision taken in', 'type', 'block', 'what it is for'];
  const draw = (place: number): Element => layerMap(data, layers, columns[place] ?? layers.precisions);
  return element(
    'section',
    {},
    title,
    element('p', {}, summary(layers, sweep)),
    ...layers.notes.map(note),
    ...(layers.iterations === null ? [] : pickedPicture('Colour by', names, draw)),
    showAsTable(() => [layerTable(data, layers)]),
    layerDiff(data, diffs),
  );
}

function summary({ iterations, totalMs, runId, rest }: PageLayers, sweep: string): string {
  const more = rest.layers === 0 ? '' : `; the ${rest.layers} smallest layers are drawn as one`;
  return iterations === null
    ? `Run ${runId} of ${sweep} has names and kernels only, no times.`
    : `${formatMs(totalMs)} a query, mean of ${iterations} profiled queries of run ${runId}, ${sweep}${more}.`;
}

function layerTable(data: PageData, layers: PageLayers): HTMLElement {
  const { texts } = data;
  const text = (column: readonly number[], place: number): string => texts[column[place] ?? -1] ?? '';
  const rows = layers.ms.map((ms, place) => [
    text(layers.labels, place),
    text(layers.purposes, place),
    text(layers.types, place),
    text(layers.precisions, place),
    text(layers.tactics, place),
    formatMs(ms),
    layers.totalMs > 0 ? formatPercent((ms / layers.totalMs) * 100, false) : '–',
  ]);
  if (layers.rest.layers > 0) {
    rows.push([`${layers.rest.layers} smaller layers`, '', '', '', '', formatMs(layers.rest.ms), '']);
  }
  return textTable(
    `Layers, ${data.provenance}`,
    ['ONNX nodes, or name', 'for', 'type', 'takes in', 'tactic', 'time', 'share'],
    rows,
    5,
  );
}

function layerDiff(data: PageData, diffs: readonly PageDiff[]): HTMLElement {
  const titles = diffs.map((diff) => diff.title);
  const draw = (place: number): Element | null => {
    const diff = diffs[place];
    return diff === undefined ? null : diffTable(data, diff);
  };
  const nothing =
    'There is no second profile to compare with: neither an earlier one of this cell nor one of its reference precision.';
  return element(
    'div',
    {},
    element('h4', {}, 'What became of the layers'),
    ...(diffs.length === 0 ? [note(nothing)] : pickedPicture('This profile', titles, draw)),
  );
}

function diffTable({ texts }: PageData, diff: PageDiff): HTMLElement {
  const { base, head } = diff;
  const deltas = base.map((ms, place) => (head[place] ?? 0) - ms);
  const most = Math.max(1e-9, ...deltas.map(Math.abs));
  const rows = deltas.map((delta, place) => [
    texts[diff.labels[place] ?? -1] ?? '',
    texts[diff.changes[place] ?? -1] ?? '',
    texts[diff.details[place] ?? -1] ?? '',
    bar(delta / most),
    signedMs(delta),
    `${formatNumber(base[place] ?? 0, 3)} → ${formatNumber(head[place] ?? 0, 3)}`,
    (diff.layers[place] ?? []).join(' → '),
  ]);
  const more = diff.moreRows === 0 ? '' : `; ${diff.moreRows} smaller changes: ${signedMs(diff.moreMs)}`;
  return textTable(
    `${formatMs(diff.baseMs)} → ${formatMs(diff.headMs)} a query${more}`,
    ['ONNX nodes', 'change', 'how', 'slower is right', 'time', 'ms', 'layers'],
    rows,
    4,
  );
}

/** To the right for more time, to the left for less. */
function bar(share: number): SVGElement {
  const width = Math.abs(share) * 40;
  return svg(
    'svg',
    { class: 'delta', width: 84, height: 14, viewBox: '0 0 84 14', 'aria-hidden': 'true' },
    svgLine('grid', [42, 0], [42, 14]),
    svg('rect', { class: share > 0 ? 'worse' : 'better', x: share > 0 ? 42 : 42 - width, y: 3, width, height: 8 }),
  );
}
