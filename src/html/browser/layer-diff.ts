import { columnValues } from '../columns.ts';
import type { PageData, PageDiff } from '../page-types.ts';
import { formatMs, formatNumber } from '../../terminal/numbers.ts';
import { element, picker, svg, textTable } from './dom.ts';

/** What became of the layers between two profiles. */
export function layerDiff(data: PageData, diffs: readonly PageDiff[]): HTMLElement {
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
