import { formatMs, formatNumber, formatPercent, signedMs } from '../../terminal/numbers.ts';
import type { PageCell, PageData, PageDiff, PageLayers, ReportLayer } from '../page-types.ts';
import { changesOf, layersOf, sweepName } from './data.ts';
import { element, note, pickedPicture, svg, svgLine, showAsTable, textTable } from './dom.ts';
import { layerMap } from './layer-map.ts';

const COLORS = [
  ['precision taken in', 'precision'],
  ['type', 'type'],
  ['block', 'block'],
  ['what it is for', 'purpose'],
  ['roofline', 'limit'],
] as const;

export function layersView(data: PageData, { diffs, layers }: PageCell): HTMLElement {
  const title = element('h3', {}, 'Layers');
  if (layers === null) {
    return element('section', {}, title, note('No profile of this cell is stored: bench run --profile takes one.'));
  }
  const sweep = layers.sweep === null ? 'an unknown sweep' : sweepName(data, layers.sweep);
  const all = layersOf(data, layers);
  const colors = COLORS.filter(([, field]) => field !== 'limit' || layers.efficiency.length > 0);
  const draw = (place: number): Element => layerMap(layers, all, (layer) => layer[colors[place]?.[1] ?? 'precision']);
  return element(
    'section',
    {},
    title,
    element('p', {}, summary(layers, sweep)),
    ...layers.efficiency.map((text) => element('p', {}, text)),
    ...layers.notes.map(note),
    ...(layers.iterations === null
      ? []
      : pickedPicture(
          'Color by',
          colors.map(([name]) => name),
          draw,
        )),
    showAsTable(() => [layerTable(data, layers, all)]),
    layerDiff(data, diffs),
  );
}

function summary({ iterations, totalMs, runId, rest }: PageLayers, sweep: string): string {
  const more = rest.layers === 0 ? '' : `; the ${rest.layers} smallest layers are drawn as one`;
  return iterations === null
    ? `Run ${runId} of ${sweep} has names and kernels only, no times.`
    : `${formatMs(totalMs)} a query, mean of ${iterations} profiled queries of run ${runId}, ${sweep}${more}.`;
}

function layerTable(data: PageData, layers: PageLayers, all: readonly ReportLayer[]): HTMLElement {
  const isRated = layers.efficiency.length > 0;
  const rated = isRated ? ['of peak', 'roofline'] : [];
  const rows = all.map(({ label, limit, ms, peak, precision, purpose, tactic, type }) => [
    label,
    purpose,
    type,
    precision,
    tactic,
    ...(isRated ? [peak, limit] : []),
    formatMs(ms),
    layers.totalMs > 0 ? formatPercent((ms / layers.totalMs) * 100, false) : '–',
  ]);
  if (layers.rest.layers > 0) {
    rows.push([
      `${layers.rest.layers} smaller layers`,
      '',
      '',
      '',
      '',
      ...rated.map(() => ''),
      formatMs(layers.rest.ms),
      '',
    ]);
  }
  return textTable(
    `Layers, ${data.provenance}`,
    ['ONNX nodes, or name', 'for', 'type', 'takes in', 'tactic', ...rated, 'time', 'share'],
    rows,
    5 + rated.length,
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

function diffTable(data: PageData, diff: PageDiff): HTMLElement {
  const changes = changesOf(data, diff);
  const most = Math.max(1e-9, ...changes.map(({ baseMs, headMs }) => Math.abs(headMs - baseMs)));
  const rows = changes.map(({ baseMs, change, detail, headMs, label, layers }) => [
    label,
    change,
    detail,
    bar((headMs - baseMs) / most),
    signedMs(headMs - baseMs),
    `${formatNumber(baseMs, 3)} → ${formatNumber(headMs, 3)}`,
    layers.join(' → '),
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
