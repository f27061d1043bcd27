import { columnValues } from '../report/html/columns.ts';
import type { PageCell, PageData, PageDiff, PageLayers } from '../report/html/page-types.ts';
import { formatMs, formatNumber, formatPercent } from '../report/numbers.ts';
import { nightName } from './data.ts';
import { element, picker, svg, tableBehind, textTable } from './dom.ts';
import { clamp } from './scale.ts';
import { hideTip, say, showTip } from './tip.ts';
import { treeMap } from './tree-map.ts';

const WIDTH = 960;
const HEIGHT = 400;
/** Pixels of a letter in the picture, and the least that is worth writing. */
const LETTER = 6.9;
const LEAST_LETTERS = 5;
const KINDS = 8;

/** Where the time of the engine goes, and what became of its layers. */
export function layersView(data: PageData, cell: PageCell): HTMLElement {
  const { layers, diffs } = cell;
  const title = element('h3', {}, 'Layers');
  if (layers === null) {
    return element(
      'section',
      {},
      title,
      element(
        'p',
        { class: 'note' },
        'No profile of this cell is stored: bench run --profile takes one.',
      ),
    );
  }
  const night = layers.night === null ? 'an unknown night' : nightName(data, layers.night);
  const stage = element('div');
  const by = ['precision', 'type', 'block'] as const;
  const draw = (place: number): void => {
    stage.replaceChildren(mapOf(data, layers, by[place] ?? 'precision'));
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
      : [picker('Colour by', ['precision taken in', 'type', 'block'], 0, draw), stage]),
    tableBehind('The layers as a table', () => layerTable(data, layers)),
    diffView(data, diffs),
  );
}

function summary({ iterations, totalMs, runId, rest }: PageLayers, night: string): string {
  const more = rest.layers === 0 ? '' : `; the ${rest.layers} smallest layers are drawn as one`;
  return iterations === null
    ? `Run ${runId} of ${night} has names and kernels only, no times.`
    : `${formatMs(totalMs)} a query, mean of ${iterations} profiled queries of run ${runId}, ${night}${more}.`;
}

type Colouring = 'precision' | 'type' | 'block';

function mapOf(data: PageData, layers: PageLayers, by: Colouring): HTMLElement {
  const { texts } = data;
  const ms = columnValues(layers.ms).map((value) => value ?? 0);
  const group = { precision: layers.precisions, type: layers.types, block: layers.blocks }[by];
  const names = ms.map((_, place) => texts[group[place] ?? -1] || 'not known');
  const kinds = kindsOf(names, ms);
  const labels = ms.map((_, place) => texts[layers.labels[place] ?? -1] ?? '');
  const all = layers.rest.layers > 0 && layers.rest.ms > 0 ? [...ms, layers.rest.ms] : ms;
  const sizes = all.filter((value) => value > 0).toSorted((a, b) => b - a);
  const order = all
    .map((value, place) => ({ value, place }))
    .filter(({ value }) => value > 0)
    .toSorted((a, b) => b.value - a.value);
  const linesOf = (place: number): string[] =>
    place >= ms.length
      ? [`${layers.rest.layers} smaller layers`, shareText(layers.rest.ms, layers)]
      : [labels[place] ?? '', shareText(ms[place] ?? 0, layers), ...describe(data, layers, place)];
  const tiles = treeMap(sizes, WIDTH, HEIGHT).map(({ place: rank, x, y, width, height }) => {
    const place = order[rank]?.place ?? 0;
    const kind = place >= ms.length ? 'other' : (kinds.get(names[place] ?? '') ?? 'other');
    const tile = svg('g', { class: `tile kind-${kind}`, 'data-place': place });
    tile.append(svg('rect', { x, y, width, height }));
    const text = place >= ms.length ? `${layers.rest.layers} smaller` : (labels[place] ?? '');
    const fits = Math.floor((width - 7) / LETTER);
    if (fits >= LEAST_LETTERS && height > 17) {
      tile.append(svg('text', { x: x + 4, y: y + 13 }, shortName(text, fits)));
      const time = formatNumber(all[place] ?? 0, 3);
      if (height > 32 && time.length <= fits) {
        tile.append(svg('text', { x: x + 4, y: y + 27 }, time));
      }
    }
    return tile;
  });
  const stage = element(
    'div',
    {
      class: 'stage',
      tabindex: 0,
      role: 'application',
      'aria-roledescription': 'tree map',
      'aria-label':
        'Layers by their share of the time. Arrow keys move from the largest on; the table below has the same.',
    },
    svg(
      'svg',
      {
        class: 'tree-map',
        viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
        'aria-hidden': 'true',
        focusable: 'false',
      },
      ...tiles,
    ),
  );
  listen(stage, tiles, linesOf);
  return element('div', {}, stage, legend(kinds));
}

/** The end of the scope tells layers apart: `…mlp.fc1` of `blocks.3.mlp.fc1: Add, MatMul`. */
function shortName(label: string, fits: number): string {
  if (label.length <= fits) return label;
  const [scope = label] = label.split(/[:,+]/, 1);
  return scope.length <= fits ? scope : `…${scope.slice(scope.length - fits + 1)}`;
}

function listen(
  stage: HTMLElement,
  tiles: readonly SVGGElement[],
  linesOf: (place: number) => string[],
): void {
  let current = -1;
  const placeOf = (tile: Element | undefined): number =>
    Number(tile?.getAttribute('data-place') ?? 0);
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

/** The kinds with the most time get a colour each, the others one together. */
function kindsOf(names: readonly string[], ms: readonly number[]): Map<string, string> {
  const sums = new Map<string, number>();
  for (const [place, name] of names.entries())
    sums.set(name, (sums.get(name) ?? 0) + (ms[place] ?? 0));
  const sorted = [...sums].toSorted((a, b) => b[1] - a[1]).slice(0, KINDS);
  return new Map(sorted.map(([name], place) => [name, String(place)]));
}

function legend(kinds: ReadonlyMap<string, string>): HTMLElement {
  return element(
    'p',
    { class: 'key' },
    ...[...kinds].flatMap(([name, kind]) => [
      element('i', { class: `swatch kind-${kind}` }),
      element('span', {}, `${name} `),
    ]),
  );
}

function shareText(ms: number, { totalMs }: PageLayers): string {
  return `${formatMs(ms)}, ${formatPercent((ms / totalMs) * 100, false)} of the time`;
}

function describe({ texts }: PageData, layers: PageLayers, place: number): string[] {
  const named = [
    ['block', layers.blocks],
    ['type', layers.types],
    ['takes in', layers.precisions],
    ['tactic', layers.tactics],
  ] as const;
  return named.flatMap(([name, column]) => {
    const text = texts[column[place] ?? -1] ?? '';
    return text === '' ? [] : [`${name}: ${text}`];
  });
}

function layerTable(data: PageData, layers: PageLayers): HTMLElement {
  const { texts } = data;
  const text = (column: readonly number[], place: number): string =>
    texts[column[place] ?? -1] ?? '';
  const rows = columnValues(layers.ms).map((ms, place) => [
    text(layers.labels, place),
    text(layers.types, place),
    text(layers.precisions, place),
    text(layers.tactics, place),
    formatMs(ms),
    layers.totalMs > 0 ? formatPercent(((ms ?? 0) / layers.totalMs) * 100, false) : '–',
  ]);
  if (layers.rest.layers > 0) {
    rows.push([`${layers.rest.layers} smaller layers`, '', '', '', formatMs(layers.rest.ms), '']);
  }
  return textTable(
    `Layers, ${data.provenance}`,
    ['ONNX nodes, or name', 'type', 'takes in', 'tactic', 'time', 'share'],
    rows,
    4,
  );
}

function diffView(data: PageData, diffs: readonly PageDiff[]): HTMLElement {
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
  const base = columnValues(diff.base);
  const head = columnValues(diff.head);
  const deltas = base.map((value, place) => (head[place] ?? 0) - (value ?? 0));
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
  const more =
    diff.moreRows === 0 ? '' : `; ${diff.moreRows} smaller changes: ${signed(diff.moreMs)}`;
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
    svg('rect', {
      class: share > 0 ? 'worse' : 'better',
      x: share > 0 ? 42 : 42 - width,
      y: 3,
      width,
      height: 8,
    }),
  );
}
