import type { PageCell, PageData } from '../page-types.ts';
import { count } from '../../terminal/numbers.ts';
import { listenToBrush } from './brush.ts';
import { comparePicker, lineKey } from './compared-cells.ts';
import { inPercent, sweepName, valuesOf } from './data.ts';
import { element, pictureStage, showAsTable, svg, svgLine } from './dom.ts';
import { clamp } from './scale.ts';
import { SweepRange } from './sweep-range.ts';
import { hideTip, say, showTip } from './tip.ts';
import { BOTTOM, TOP } from './trend-axes.ts';
import { drawTrend, type TrendDrawing } from './trend-drawing.ts';
import { sweepLines, sweepTable, valueText } from './trend-words.ts';

const HEIGHT = 300;

function button(name: string, label: string, act: () => void): HTMLElement {
  const made = element('button', { type: 'button', 'aria-label': label }, name);
  made.addEventListener('click', act);
  return made;
}

/** The sweeps of one cell: zoom by dragging, buttons, keys, or the wheel while focused. */
export class TrendChart {
  readonly node: HTMLElement;
  private readonly data: PageData;
  private readonly cell: PageCell;
  private readonly stage: HTMLElement;
  private readonly zoomed: (from: number, to: number) => void;
  private readonly range: SweepRange;
  private cursor: number;
  private drawing: TrendDrawing | null = null;
  /** What is drawn, the cell first: with others, all are in percent of their level. */
  private drawn: readonly [PageCell, ...PageCell[]];
  private readonly rangeText = element('span', { class: 'range' });
  private readonly legend = element('p', { class: 'key' });
  private readonly tables = element('div');

  constructor(
    data: PageData,
    cell: PageCell,
    zoomed: (from: number, to: number) => void,
    start: { readonly from: number | null; readonly to: number | null },
  ) {
    this.data = data;
    this.cell = cell;
    this.drawn = [cell];
    this.zoomed = zoomed;
    this.range = new SweepRange(data.sweeps.ids.length, start.from, start.to);
    this.cursor = this.range.to;
    this.stage = pictureStage(
      'chart',
      `${cell.metric} of ${cell.label} by sweep. Arrow keys move, plus and minus zoom, 0 shows all sweeps.`,
    );
    const key =
      'level line: median between changes · upright or level dashes: environment, baseline · band: from the least to the most of the runs';
    this.node = element(
      'div',
      {},
      this.controls(),
      this.stage,
      element('p', { class: 'key' }, key),
      this.legend,
      this.tables,
    );
    this.compare([]);
    this.listen();
    new ResizeObserver(() => this.draw()).observe(this.stage);
  }

  private controls(): HTMLElement {
    return element(
      'div',
      { class: 'controls' },
      button('+', 'zoom in', () => this.zoom(0.5)),
      button('−', 'zoom out', () => this.zoom(2)),
      ...[30, 90].map((number) => button(`${number} sweeps`, `the last ${number} sweeps`, () => this.showLast(number))),
      button('all', 'all sweeps', () => this.showLast(Infinity)),
      ...comparePicker(this.data, this.cell, (others) => this.compare(others)),
      this.rangeText,
    );
  }

  private compare(others: readonly PageCell[]): void {
    this.drawn = others.length === 0 ? [this.cell] : [inPercent(this.cell), ...others.map(inPercent)];
    this.legend.replaceChildren(...(others.length === 0 ? [] : lineKey(this.drawn)));
    const { drawn } = this;
    this.tables.replaceChildren(showAsTable(() => drawn.map((one) => sweepTable(this.data, one))));
    this.draw();
  }

  private showLast(number: number): void {
    const { last } = this.range;
    this.show(last + 1 - Math.min(number, last + 1), last);
  }

  private show(from: number, to: number): void {
    this.range.show(from, to);
    this.changed();
  }

  private zoom(factor: number, around = this.cursor): void {
    this.range.zoom(factor, around);
    this.changed();
  }

  private changed(): void {
    this.draw();
    this.zoomed(this.range.from, this.range.to);
  }

  private draw(): void {
    const { from, to } = this.range;
    const [cell, ...others] = this.drawn;
    const width = Math.max(320, this.stage.clientWidth);
    this.drawing = drawTrend(this.data, cell, { width, height: HEIGHT, from, to }, others);
    this.stage.replaceChildren(this.drawing.picture);
    this.rangeText.textContent = `${sweepName(this.data, from)} to ${sweepName(this.data, to)}, ${count(to - from + 1, 'sweep')}`;
  }

  private listen(): void {
    const { stage } = this;
    listenToBrush(stage, {
      moved: (event) => this.point(this.sweepAt(event), event.clientX, event.clientY, false),
      dragged: (from, to) => this.drawSelection(from, to),
      selected: (from, to) => this.show(this.drawing?.x.back(from) ?? 0, this.drawing?.x.back(to) ?? 0),
      left: () => {
        hideTip();
        this.clearCursor();
      },
    });
    stage.addEventListener('dblclick', () => this.showLast(Infinity));
    stage.addEventListener('blur', hideTip);
    stage.addEventListener('keydown', (event) => this.key(event));
    stage.addEventListener(
      'wheel',
      (event) => {
        if (document.activeElement !== stage && !event.ctrlKey) return;
        event.preventDefault();
        this.zoom(event.deltaY > 0 ? 1.25 : 0.8, this.sweepAt(event));
      },
      { passive: false },
    );
  }

  private sweepAt(event: MouseEvent): number {
    return clamp(Math.round(this.drawing?.x.back(event.offsetX) ?? 0), this.range.from, this.range.to);
  }

  private key(event: KeyboardEvent): void {
    const far = event.shiftKey ? 10 : 1;
    const moves: Readonly<Record<string, () => void>> = {
      ArrowLeft: () => this.moveTo(this.cursor - far),
      ArrowRight: () => this.moveTo(this.cursor + far),
      Home: () => this.moveTo(0),
      End: () => this.moveTo(this.range.last),
      '+': () => this.zoom(0.5),
      '=': () => this.zoom(0.5),
      '-': () => this.zoom(2),
      '0': () => this.showLast(Infinity),
    };
    const move = moves[event.key];
    if (move === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    move();
  }

  private moveTo(sweep: number): void {
    const target = clamp(sweep, 0, this.range.last);
    if (!this.range.has(target)) {
      this.range.reach(target);
      this.changed();
    }
    const box = this.stage.getBoundingClientRect();
    this.point(target, box.left + (this.drawing?.x.at(target) ?? 0), box.top + HEIGHT / 2, true);
  }

  private point(sweep: number, x: number, y: number, aloud: boolean): void {
    this.cursor = sweep;
    const [cell, ...others] = this.drawn;
    const lines = [
      ...sweepLines(this.data, cell, sweep),
      ...others.map((one) => `${one.label}: ${valueText(one, sweep)}`),
    ];
    this.clearCursor();
    const at = this.drawing?.x.at(sweep) ?? 0;
    const found = valuesOf(cell)[sweep] ?? null;
    this.drawing?.picture.append(svgLine('cursor', [at, TOP], [at, HEIGHT - BOTTOM]));
    if (found !== null) {
      const cy = this.drawing?.y.at(found.value) ?? 0;
      this.drawing?.picture.append(svg('circle', { class: 'cursor', cx: at, cy, r: 4.5 }));
    }
    showTip(lines, x, y, this.stage.getBoundingClientRect().bottom);
    if (aloud) say(lines);
  }

  private clearCursor(): void {
    for (const node of this.stage.querySelectorAll('.cursor, .selection')) node.remove();
  }

  private drawSelection(from: number, to: number): void {
    this.drawing?.picture.append(
      svg('rect', { class: 'selection', x: from, width: to - from, y: TOP, height: HEIGHT - TOP - BOTTOM }),
    );
  }
}
