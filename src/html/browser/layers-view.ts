import { columnValues } from '../columns.ts';
import type { PageCell, PageData, PageLayers } from '../page-types.ts';
import { formatMs, formatPercent } from '../../terminal/numbers.ts';
import { nightName } from './data.ts';
import { element, picker, tableBehind, textTable } from './dom.ts';
import { layerDiff } from './layer-diff.ts';
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
  const rows = columnValues(layers.ms).map((ms, place) => [
    text(layers.labels, place),
    text(layers.purposes, place),
    text(layers.types, place),
    text(layers.precisions, place),
    text(layers.tactics, place),
    formatMs(ms),
    layers.totalMs > 0 ? formatPercent(((ms ?? 0) / layers.totalMs) * 100, false) : '–',
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
