import { formatMs, formatNumber, formatPercent } from '../../terminal/numbers.ts';
import type { PageCell, PageData, PageDiff, PageLayers } from '../page-types.ts';
import { nightName } from './data.ts';
import { element, picker, svg, tableBehind, textTable } from './dom.ts';
import { layerMap } from './layer-map.ts';

/** Where the time of the engine goes, and what became of its layers. */
export function layersView(data: PageData, cell: PageCell): HTMLElement {
  const { layers, diffs } = cell;
  const title = element('h3', {}, 'Layers');
  if (layers === null) {
    return element(
      'section',
      {},
      title,
      element('p', { class: 'note' }, 'No profile of this cell is stored: bench run --profile takes one.'),
    );
  }
  const night = layers.night === null ? 'an unknown night' : nightName(data, layers.night);
  const stage = element('div');
  const by = ['precision', 'type', 'block', 'purpose'] as const;
  const draw = (place: number): void => {
    stage.replaceChildren(layerMap(data, layers, by[place] ?? 'precision'));
  };
  draw(0);
  return element(
    'section',
    {},
    title,
    element('p', {}, summary(layers, night)),
    ...layers.notes.map((note) => element('p', { class: 'note' }, note)),
    ...(layers.iterations === null
      ? []
      : [picker('Colour by', ['precision taken in', 'type', 'block', 'what it is for'], 0, draw), stage]),
    tableBehind('The layers as a table', () => layerTable(data, layers)),
    layerDiff(data, diffs),
  );
}

function summary({ iterations, totalMs, runId, rest }: PageLayers, night: string): string {
  const more = rest.layers === 0 ? '' : `; the ${rest.layers} smallest layers are drawn as one`;
  return iterations === null
    ? `Run ${runId} of ${night} has names and kernels only, no times.`
    : `${formatMs(totalMs)} a query, mean of ${iterations} profiled queries of run ${runId}, ${night}${more}.`;
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

/** What became of the layers between two profiles. */
function layerDiff(data: PageData, diffs: readonly PageDiff[]): HTMLElement {
  const title = element('h4', {}, 'What became of the layers');
  if (diffs.length === 0) {
    return element(
      'div',
      {},
      title,
      element(
        'p',
        { class: 'note' },
        'There is no second profile to compare with: neither an earlier one of this cell nor one of its reference precision.',
      ),
    );
  }
  const stage = element('div');
  const draw = (place: number): void => {
    const diff = diffs[place];
    stage.replaceChildren(...(diff === undefined ? [] : [diffTable(data, diff)]));
  };
  draw(0);
  return element(
    'div',
    {},
    title,
    picker(
      'This profile',
      diffs.map((diff) => diff.title),
      0,
      draw,
    ),
    stage,
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
    signed(delta),
    `${formatNumber(base[place] ?? 0, 3)} → ${formatNumber(head[place] ?? 0, 3)}`,
    (diff.layers[place] ?? []).join(' → '),
  ]);
  const more = diff.moreRows === 0 ? '' : `; ${diff.moreRows} smaller changes: ${signed(diff.moreMs)}`;
  return textTable(
    `${formatMs(diff.baseMs)} → ${formatMs(diff.headMs)} a query${more}`,
    ['ONNX nodes', 'change', 'how', 'slower is right', 'time', 'ms', 'layers'],
    rows,
    4,
  );
}

function signed(ms: number): string {
  return `${ms > 0 ? '+' : ''}${formatMs(ms)}`;
}

/** From the middle to the right for more time, to the left for less. */
function bar(share: number): SVGElement {
  const width = Math.abs(share) * 40;
  return svg(
    'svg',
    { class: 'delta', width: 84, height: 14, viewBox: '0 0 84 14', 'aria-hidden': 'true' },
    svg('line', { class: 'grid', x1: 42, x2: 42, y1: 0, y2: 14 }),
    svg('rect', { class: share > 0 ? 'worse' : 'better', x: share > 0 ? 42 : 42 - width, y: 3, width, height: 8 }),
  );
}
