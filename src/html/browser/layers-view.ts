import { formatMs, formatNumber, formatPercent, signedMs } from '../../terminal/numbers.ts';
import type { PageCell, PageData, ReportLayer, ReportLayers, ReportLayersDiff } from '../page-data.ts';
import { hideTip, onKeys, picture, pictureStage, showTip, sized, svgLine, tell } from './chart.ts';
import { colorKey, element, note, picked, showAsTable, svg, textTable } from './dom.ts';
import { clamp, type Tile, treeMap } from './geometry.ts';
import { sweepName } from './trend.ts';

const COLORS = [
  ['input precision', 'precision'],
  ['type', 'type'],
  ['purpose', 'purpose'],
  ['roofline', 'limit'],
] as const;

/** Empty without a profile. */
export function layersView(data: PageData, { diffs, layers }: PageCell): HTMLElement[] {
  if (layers === null) return [];
  const sweep = layers.sweep === null ? 'an unknown sweep' : sweepName(data, layers.sweep);
  const colors = COLORS.filter(([, field]) => field !== 'limit' || layers.efficiency.length > 0);
  const parts = [
    element('p', {}, summary(layers, sweep)),
    ...layers.efficiency.map((text) => element('p', {}, text)),
    ...layers.notes.map(note),
    ...(layers.iterations === null
      ? []
      : picked(
          'Color by',
          colors,
          ([name]) => name,
          ([, field]) => layerMap(layers, (layer) => layer[field]),
        )),
    showAsTable(() => [layerTable(data, layers)]),
    ...(diffs.length === 0 ? [] : [layerDiffs(diffs)]),
  ];
  return [element('section', {}, element('h3', {}, 'Layers'), ...parts)];
}

function summary({ iterations, totalMs, runId, rest }: ReportLayers, sweep: string): string {
  const more = rest.layers === 0 ? '' : `; the ${rest.layers} smallest layers are drawn as one`;
  return iterations === null
    ? `Run ${runId} of ${sweep} has names and kernels only, no times.`
    : `${formatMs(totalMs)} a query, mean of ${iterations} profiled queries of run ${runId}, ${sweep}${more}.`;
}

function shareOf(ms: number, totalMs: number): string {
  return totalMs > 0 ? formatPercent((ms / totalMs) * 100, false) : '–';
}

function layerTable({ provenance }: PageData, { efficiency, layers, rest, totalMs }: ReportLayers): HTMLElement {
  const rated = efficiency.length > 0 ? ['of peak', 'roofline'] : [];
  const rows = layers.map(({ label, limit, ms, peak, precision, purpose, tactic, type }) => [
    label,
    purpose,
    type,
    precision,
    tactic,
    ...[peak, limit].slice(0, rated.length),
    formatMs(ms),
    shareOf(ms, totalMs),
  ]);
  const blank = ['', '', '', '', ...rated.map(() => '')];
  if (rest.layers > 0) rows.push([`${rest.layers} smaller layers`, ...blank, formatMs(rest.ms), '']);
  const headers = ['ONNX nodes, or name', 'purpose', 'type', 'input type', 'tactic', ...rated, 'time', 'share'];
  return textTable(`Layers, ${provenance}`, headers, rows, 5 + rated.length);
}

function layerDiffs(diffs: readonly ReportLayersDiff[]): HTMLElement {
  const title = element('h4', {}, 'Changes of the layers');
  const only = diffs.length === 1 ? [element('p', {}, `This profile ${diffs[0]?.title ?? ''}`)] : [];
  return element('div', {}, title, ...only, ...picked('This profile', diffs, (diff) => diff.title, diffTable));
}

function diffTable(diff: ReportLayersDiff): HTMLElement {
  const most = Math.max(1e-9, ...diff.rows.map(({ baseMs, headMs }) => Math.abs(headMs - baseMs)));
  const rows = diff.rows.map(({ baseMs, change, detail, headMs, label, layers }) => [
    label,
    change,
    detail,
    bar((headMs - baseMs) / most),
    signedMs(headMs - baseMs),
    `${formatNumber(baseMs, 3)} → ${formatNumber(headMs, 3)}`,
    layers.join(' → '),
  ]);
  const more = diff.moreRows === 0 ? '' : `; ${diff.moreRows} smaller changes: ${signedMs(diff.moreMs)}`;
  const caption = `${formatMs(diff.baseMs)} → ${formatMs(diff.headMs)} a query${more}`;
  return textTable(caption, ['ONNX nodes', 'change', 'how', 'right: slower', 'time', 'ms', 'layers'], rows, 4);
}

/** A bar to the right for more time, to the left for less. */
function bar(share: number): SVGElement {
  const width = Math.abs(share) * 40;
  const area = { x: share > 0 ? 42 : 42 - width, y: 3, width, height: 8 };
  const rect = svg('rect', { class: share > 0 ? 'worse' : 'better', ...area });
  return picture('delta', [84, 14], null, svgLine('grid', [42, 0], [42, 14]), rect);
}

const HEIGHT = 400;
/** Width of a letter in pixels; `LEAST` is the shortest label worth drawing. */
const LETTER = 8.4;
const LEAST_LETTERS = 5;

const msOf = (layers: readonly ReportLayer[]): number => layers.reduce((sum, { ms }) => sum + ms, 0);

/**
 * The layers as areas in proportion to their share of the time.
 * @param nameOf property that sets the color
 */
function layerMap({ layers, rest, totalMs }: ReportLayers, nameOf: (layer: ReportLayer) => string): HTMLElement {
  const byName = Map.groupBy(layers, (layer) => nameOf(layer) || 'not known');
  const most = [...byName].toSorted(([, a], [, b]) => msOf(b) - msOf(a)).map(([name]) => name);
  const kindOf = (layer: ReportLayer): number => most.indexOf(nameOf(layer) || 'not known');
  const smaller = { label: `${rest.layers} smaller layers`, ms: rest.ms };
  const all = [
    ...layers.map((layer) => ({ ...layer, kind: String(kindOf(layer)), lines: describe(layer) })),
    ...(rest.layers > 0 ? [{ ...smaller, kind: 'other', lines: [] }] : []),
  ]
    .filter(({ ms }) => ms > 0)
    .toSorted((a, b) => b.ms - a.ms);
  const linesOf = (place: number): string[] => {
    const { label, lines, ms } = all[place] ?? { ...smaller, lines: [] };
    return [label, `${formatMs(ms)}, ${shareOf(ms, totalMs)} of the time`, ...lines];
  };
  const drawTile = ({ place, x, y, width, height }: Tile): SVGElement => {
    const { kind, label, ms } = all[place] ?? { ...smaller, kind: 'other' };
    const fits = Math.floor((width - 7) / LETTER);
    const time = formatNumber(ms, 3);
    const isNamed = fits >= LEAST_LETTERS && height > 20;
    return svg(
      'g',
      { class: 'tile', kind, 'data-place': place },
      svg('rect', { x, y, width, height }),
      isNamed ? svg('text', { x: x + 4, y: y + 15 }, shortName(label, fits)) : null,
      isNamed && height > 38 && time.length <= fits ? svg('text', { x: x + 4, y: y + 32 }, time) : null,
    );
  };
  const stage = pictureStage(
    'tree map',
    'Layers by their share of the time. Arrow keys move; the table below has the same.',
  );
  const sizes = all.map(({ ms }) => ms);
  sized(stage, (width) => picture('tree-map', [width, HEIGHT], null, ...treeMap(sizes, width, HEIGHT).map(drawTile)));
  stage.addEventListener('pointermove', ({ clientX, clientY, target }) => {
    const tile = target instanceof Element ? target.closest('.tile') : null;
    if (tile === null) hideTip();
    else showTip(linesOf(placeOf(tile)), clientX, clientY);
  });
  const move = (step: number): void => {
    const tiles = [...stage.querySelectorAll('.tile')];
    const now = tiles.findIndex((one) => one.classList.contains('current'));
    const tile = tiles[clamp(now + step, 0, tiles.length - 1)];
    tiles[now]?.classList.remove('current');
    tile?.classList.add('current');
    if (tile !== undefined) tell(linesOf(placeOf(tile)), tile.getBoundingClientRect());
  };
  onKeys(stage, () => ({
    ArrowRight: () => move(1),
    ArrowDown: () => move(1),
    ArrowLeft: () => move(-1),
    ArrowUp: () => move(-1),
  }));
  return element('div', {}, stage, colorKey(most.slice(0, 8).entries()));
}

function placeOf(tile: Element): number {
  return Number(tile.getAttribute('data-place') ?? 0);
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
