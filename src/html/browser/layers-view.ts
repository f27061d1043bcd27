import { formatMs, formatNumber, formatPercent } from '../../terminal/numbers.ts';
import type { PageCell, PageData, ReportLayer, ReportLayers } from '../page-data.ts';
import { picture, sized, withTip } from './chart.ts';
import { colorKey, element, svg } from './dom.ts';
import { type Tile, treeMap } from './geometry.ts';
import { sweepName } from './trend.ts';

/** Empty without a profile. */
export function layersView(data: PageData, { layers }: PageCell): HTMLElement[] {
  if (layers === null) return [];
  const { iterations, runId, totalMs } = layers;
  const sweep = layers.sweep === null ? 'an unknown sweep' : sweepName(data, layers.sweep);
  const summary =
    iterations === null
      ? `Run ${runId} of ${sweep} has names and kernels only, no times.`
      : `${formatMs(totalMs)} a query, mean of ${iterations} profiled queries of run ${runId}, ${sweep}.`;
  const parts = [
    element('p', {}, summary),
    ...layers.notes.map((text) => element('p', { class: 'note' }, text)),
    ...(iterations === null ? [] : [layerMap(layers)]),
  ];
  return [element('section', {}, element('h3', {}, 'Layers'), ...parts)];
}

const HEIGHT = 400;
/** Width of a letter in pixels; `LEAST` is the shortest label worth drawing. */
const LETTER = 8.4;
const LEAST_LETTERS = 5;

const msOf = (layers: readonly ReportLayer[]): number => layers.reduce((sum, { ms }) => sum + ms, 0);

/** The layers as areas in proportion to their share of the time, colored by purpose. */
function layerMap({ layers, totalMs }: ReportLayers): HTMLElement {
  const byPurpose = Map.groupBy(layers, ({ purpose }) => purpose);
  const purposes = [...byPurpose].toSorted(([, a], [, b]) => msOf(b) - msOf(a)).map(([name]) => name);
  const drawn = layers.filter(({ ms }) => ms > 0).toSorted((a, b) => b.ms - a.ms);
  const drawTile = ({ place, x, y, width, height }: Tile): SVGElement[] => {
    const layer = drawn[place];
    if (layer === undefined) return [];
    const { label, ms, purpose } = layer;
    const fits = Math.floor((width - 7) / LETTER);
    const time = formatNumber(ms, 3);
    const isNamed = fits >= LEAST_LETTERS && height > 20;
    const tile = svg(
      'g',
      { class: 'tile', kind: purposes.indexOf(purpose) },
      svg('rect', { x, y, width, height }),
      isNamed ? svg('text', { x: x + 4, y: y + 15 }, shortName(label, fits)) : null,
      isNamed && height > 38 && time.length <= fits ? svg('text', { x: x + 4, y: y + 32 }, time) : null,
    );
    const share = formatPercent(totalMs > 0 ? (ms / totalMs) * 100 : null, false);
    const lines = [label, `${formatMs(ms)}, ${share} of the time`, ...describe(layer)];
    return [withTip(tile, lines)];
  };
  const sizes = drawn.map(({ ms }) => ms);
  const said = ['img', 'Layers by their share of the time'] as const;
  const stage = sized(element('div'), (width) => {
    const tiles = treeMap(sizes, { place: 0, x: 0, y: 0, width, height: HEIGHT });
    return picture('tree-map', [width, HEIGHT], said, ...tiles.flatMap(drawTile));
  });
  return element('div', {}, stage, colorKey(purposes.entries()));
}

/** Keeps the end of the scope, which distinguishes layers: `…mlp.fc1` of `blocks.3.mlp.fc1: Add, MatMul`. */
function shortName(label: string, fits: number): string {
  if (label.length <= fits) return label;
  const [scope = label] = label.split(/[:,+]/, 1);
  return scope.length <= fits ? scope : `…${scope.slice(scope.length - fits + 1)}`;
}

function describe({ block, precision, purpose, tactic, type }: ReportLayer): string[] {
  const named = { block, for: purpose, type, 'takes in': precision, tactic };
  return Object.entries(named).flatMap(([name, text]) => (text === '' ? [] : [`${name}: ${text}`]));
}
