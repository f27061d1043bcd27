import type { PageLayers, ReportLayer } from '../page-types.ts';
import { formatMs, formatNumber, formatPercent } from '../../terminal/numbers.ts';
import { colourKey, element, pictureStage, svg } from './dom.ts';
import { clamp } from './scale.ts';
import { hideTip, say, showTip } from './tip.ts';
import { nestedTreeMap, type Tile } from './tree-map.ts';

const WIDTH = 960;
const HEIGHT = 400;
/** Width of a letter in pixels, and the shortest label worth drawing. */
const LETTER = 7.4;
const LEAST_LETTERS = 5;
const KINDS = 8;

/**
 * The layers as areas, by their share of the time.
 * @param nameOf what they are coloured by
 */
export function layerMap(
  { rest, totalMs }: Pick<PageLayers, 'rest' | 'totalMs'>,
  layers: readonly ReportLayer[],
  nameOf: (layer: ReportLayer) => string,
): HTMLElement {
  const ms = layers.map((layer) => layer.ms);
  const names = layers.map((layer) => nameOf(layer) || 'not known');
  const kinds = kindsOf(names, ms);
  const all = rest.layers > 0 && rest.ms > 0 ? [...ms, rest.ms] : ms;
  const blocks = all.map((_, place) => blockName(layers[place]?.block ?? 'smaller layers'));
  const groups = nestedTreeMap(all, blocks, WIDTH, HEIGHT);
  const linesOf = (place: number): string[] => describe(layers[place] ?? null, rest, totalMs);
  const drawTile = ({ place, x, y, width, height }: Tile): SVGGElement => {
    const kind = place >= ms.length ? 'other' : (kinds.get(names[place] ?? '') ?? 'other');
    const tile = svg('g', { class: `tile kind-${kind}`, 'data-place': place });
    tile.append(svg('rect', { x, y, width, height }));
    const text = layers[place]?.label ?? `${rest.layers} smaller`;
    const fits = Math.floor((width - 7) / LETTER);
    if (fits >= LEAST_LETTERS && height > 17) {
      tile.append(svg('text', { x: x + 4, y: y + 13 }, shortName(text, fits)));
      const time = formatNumber(all[place] ?? 0, 3);
      if (height > 32 && time.length <= fits) {
        tile.append(svg('text', { x: x + 4, y: y + 27 }, time));
      }
    }
    return tile;
  };
  const drawn = groups.map(({ name, frame, tiles: own }) => ({
    tiles: own.map(drawTile),
    frame: groupFrame(name, frame, own[0]?.y ?? frame.y),
  }));
  const tiles = drawn.flatMap((group) => group.tiles);
  const stage = pictureStage(
    'tree map',
    'Layers by their share of the time. Arrow keys move block by block; the table below has the same.',
    svg(
      'svg',
      { class: 'tree-map', viewBox: `0 0 ${WIDTH} ${HEIGHT}`, 'aria-hidden': 'true', focusable: 'false' },
      ...drawn.flatMap((group) => [...group.tiles, ...group.frame]),
    ),
  );
  listen(stage, tiles, linesOf);
  return element('div', {}, stage, colourKey(kinds));
}

/** `blocks.3` of `blocks.3/attn`: the repeated part of a network. */
function blockName(block: string): string {
  const [first = block] = block.split('/', 1);
  return first;
}

function groupFrame(name: string, { x, y, width, height }: Tile, from: number): SVGElement[] {
  const frame = svg('rect', { class: 'group-frame', x, y, width, height });
  const fits = Math.floor((width - 6) / LETTER);
  if (from <= y || fits < LEAST_LETTERS) return [frame];
  const shown = name.length <= fits ? name : `${name.slice(0, fits - 1)}…`;
  return [frame, svg('text', { class: 'group-name', x: x + 4, y: y + 12 }, shown)];
}

/** The end of the scope distinguishes layers: `…mlp.fc1` of `blocks.3.mlp.fc1: Add, MatMul`. */
function shortName(label: string, fits: number): string {
  if (label.length <= fits) return label;
  const [scope = label] = label.split(/[:,+]/, 1);
  return scope.length <= fits ? scope : `…${scope.slice(scope.length - fits + 1)}`;
}

function placeOf(tile: Element): number {
  return Number(tile.getAttribute('data-place') ?? 0);
}

function listen(stage: HTMLElement, tiles: readonly SVGGElement[], linesOf: (place: number) => string[]): void {
  let current = -1;
  stage.addEventListener('pointermove', (event) => {
    const tile = event.target instanceof Element ? event.target.closest('.tile') : null;
    if (tile === null) return hideTip();
    showTip(linesOf(placeOf(tile)), event.clientX, event.clientY);
  });
  stage.addEventListener('pointerleave', hideTip);
  stage.addEventListener('blur', () => {
    hideTip();
    tiles[current]?.classList.remove('current');
  });
  stage.addEventListener('keydown', (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    tiles[current]?.classList.remove('current');
    current = clamp(current + step, 0, tiles.length - 1);
    const tile = tiles[current];
    if (tile === undefined) return;
    tile.classList.add('current');
    const box = tile.getBoundingClientRect();
    const lines = linesOf(placeOf(tile));
    showTip(lines, box.left + box.width / 2, box.top + box.height / 2);
    say(lines);
  });
}

function kindsOf(names: readonly string[], ms: readonly number[]): Map<string, string> {
  const sums = new Map<string, number>();
  for (const [place, name] of names.entries()) sums.set(name, (sums.get(name) ?? 0) + (ms[place] ?? 0));
  const sorted = [...sums].toSorted((a, b) => b[1] - a[1]).slice(0, KINDS);
  return new Map(sorted.map(([name], place) => [name, String(place)]));
}

function describe(layer: ReportLayer | null, rest: PageLayers['rest'], totalMs: number): string[] {
  const ms = layer?.ms ?? rest.ms;
  const share = `${formatMs(ms)}, ${formatPercent((ms / totalMs) * 100, false)} of the time`;
  if (layer === null) return [`${rest.layers} smaller layers`, share];
  const named = [
    ['block', layer.block],
    ['for', layer.purpose],
    ['type', layer.type],
    ['takes in', layer.precision],
    ['tactic', layer.tactic],
  ] as const;
  return [layer.label, share, ...named.flatMap(([name, text]) => (text === '' ? [] : [`${name}: ${text}`]))];
}
