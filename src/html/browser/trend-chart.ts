import type { PageCell, PageData } from '../page-types.ts';
import { sweepName, valuesOf } from './data.ts';
import { element, pictureStage, picker, svg, svgLine, tableBehind } from './dom.ts';
import { clamp } from './scale.ts';
import { hideTip, say, showTip } from './tip.ts';
import { drawTrend, type TrendDrawing } from './trend-drawing.ts';
import { sweepLines, sweepTable } from './trend-words.ts';

const HEIGHT = 300;
const LEAST_SWEEPS = 4;
const LEAST_DRAG = 6;
const MOST_OTHERS = 3;

/** For the words next to it: 0 is the cell itself, then those compared with it. */
function sampleLine(place: number): SVGElement {
  return svgLine(place === 0 ? 'line' : `line other-${place - 1}`, [0, 4], [36, 4]);
}

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
  private readonly range: HTMLElement;
  private readonly zoomed: (from: number, to: number) => void;
  private readonly last: number;
  private from: number;
  private to: number;
  private cursor: number;
  private drawing: TrendDrawing | null = null;
  private others: readonly PageCell[] = [];
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
    this.zoomed = zoomed;
    this.last = Math.max(0, data.sweeps.ids.length - 1);
    this.from = clamp(start.from ?? 0, 0, this.last);
    this.to = clamp(start.to ?? this.last, this.from, this.last);
    this.cursor = this.to;
    this.stage = pictureStage(
      'chart',
      `${cell.metric} of ${cell.label} by sweep. Arrow keys move, plus and minus zoom, 0 shows all sweeps.`,
    );
    this.range = element('span', { class: 'range' });
    this.node = element(
      'div',
      {},
      this.controls(),
      this.stage,
      element(
        'p',
        { class: 'key' },
        'level line: median between changes · upright or level dashes: environment, baseline · band: from the least to the most of the runs',
      ),
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
      button('30 sweeps', 'the last 30 sweeps', () => this.show(this.last - 29, this.last)),
      button('90 sweeps', 'the last 90 sweeps', () => this.show(this.last - 89, this.last)),
      button('all', 'all sweeps', () => this.show(0, this.last)),
      ...(this.data.cells.length > 1 ? [this.comparePicker()] : []),
      this.range,
    );
  }

  private compare(others: readonly PageCell[]): void {
    this.others = others;
    const all = [this.cell, ...others];
    this.legend.replaceChildren(
      ...(others.length === 0 ? [] : all).flatMap(({ label }, place) => [
        svg('svg', { class: 'sample', width: 36, height: 8, 'aria-hidden': 'true' }, sampleLine(place)),
        element('span', {}, ` ${label} `),
      ]),
    );
    this.tables.replaceChildren(
      tableBehind('Show as table', () => element('div', {}, ...all.map((one) => sweepTable(this.data, one)))),
    );
    this.draw();
  }

  /** One more cell in the chart; the first choice takes all out. */
  private comparePicker(): HTMLElement {
    const cells = this.data.cells.filter((cell) => cell !== this.cell);
    const names = ['none', ...cells.map(({ label }) => label.slice(0, 100))];
    return picker('Compare with', names, 0, (place) => {
      const chosen = cells[place - 1];
      const kept = this.others.filter((one) => one !== chosen);
      this.compare(chosen === undefined ? [] : [...kept, chosen].slice(-MOST_OTHERS));
    });
  }

  private show(from: number, to: number): void {
    const span = clamp(Math.round(to - from), Math.min(LEAST_SWEEPS, this.last), this.last);
    this.from = clamp(Math.round(from), 0, this.last - span);
    this.to = this.from + span;
    this.draw();
    this.zoomed(this.from, this.to);
  }

  private zoom(factor: number, around = this.cursorInside()): void {
    const span = Math.max(1, this.to - this.from);
    const share = (around - this.from) / span;
    this.show(around - share * span * factor, around + (1 - share) * span * factor);
  }

  private cursorInside(): number {
    return this.cursor >= this.from && this.cursor <= this.to ? this.cursor : (this.from + this.to) / 2;
  }

  private draw(): void {
    const width = Math.max(320, this.stage.clientWidth);
    const { from, to } = this;
    this.drawing = drawTrend(this.data, this.cell, { width, height: HEIGHT, from, to }, this.others);
    this.stage.replaceChildren(this.drawing.picture);
    this.range.textContent = `${sweepName(this.data, from)} to ${sweepName(this.data, to)}, ${to - from + 1} sweeps`;
  }

  private listen(): void {
    const { stage } = this;
    let dragFrom: number | null = null;
    stage.addEventListener('pointerdown', (event) => {
      dragFrom = event.offsetX;
    });
    stage.addEventListener('pointermove', (event) => {
      this.point(this.nightAt(event), event.clientX, event.clientY, false);
      if (dragFrom !== null) this.drawSelection(dragFrom, event.offsetX);
    });
    stage.addEventListener('pointerup', (event) => {
      const start = dragFrom;
      dragFrom = null;
      if (start === null || this.drawing === null) return;
      if (Math.abs(event.offsetX - start) < LEAST_DRAG) return;
      const ends = [start, event.offsetX].map((at) => this.drawing?.x.back(at) ?? 0);
      this.show(Math.min(...ends), Math.max(...ends));
    });
    stage.addEventListener('pointerleave', () => {
      dragFrom = null;
      hideTip();
      this.clearCursor();
    });
    stage.addEventListener('dblclick', () => this.show(0, this.last));
    stage.addEventListener('blur', hideTip);
    stage.addEventListener('keydown', (event) => this.key(event));
    stage.addEventListener(
      'wheel',
      (event) => {
        if (document.activeElement !== stage && !event.ctrlKey) return;
        event.preventDefault();
        this.zoom(event.deltaY > 0 ? 1.25 : 0.8, this.nightAt(event));
      },
      { passive: false },
    );
  }

  private nightAt(event: MouseEvent): number {
    return clamp(Math.round(this.drawing?.x.back(event.offsetX) ?? 0), this.from, this.to);
  }

  private key(event: KeyboardEvent): void {
    const far = event.shiftKey ? 10 : 1;
    const moves: Readonly<Record<string, () => void>> = {
      ArrowLeft: () => this.moveTo(this.cursor - far),
      ArrowRight: () => this.moveTo(this.cursor + far),
      Home: () => this.moveTo(0),
      End: () => this.moveTo(this.last),
      '+': () => this.zoom(0.5),
      '=': () => this.zoom(0.5),
      '-': () => this.zoom(2),
      '0': () => this.show(0, this.last),
    };
    const move = moves[event.key];
    if (move === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    move();
  }

  private moveTo(night: number): void {
    const target = clamp(night, 0, this.last);
    if (target < this.from || target > this.to) {
      const span = this.to - this.from;
      const from = target < this.from ? target : target - span;
      this.show(from, from + span);
    }
    const box = this.stage.getBoundingClientRect();
    this.point(target, box.left + (this.drawing?.x.at(target) ?? 0), box.top + HEIGHT / 2, true);
  }

  private point(night: number, x: number, y: number, aloud: boolean): void {
    this.cursor = night;
    const lines = sweepLines(this.data, this.cell, night);
    this.clearCursor();
    const at = this.drawing?.x.at(night) ?? 0;
    const found = valuesOf(this.drawing?.drawn ?? this.cell)[night] ?? null;
    this.drawing?.picture.append(svgLine('cursor', [at, 36], [at, HEIGHT - 26]));
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
    const [x, width] = [Math.min(from, to), Math.abs(to - from)];
    this.drawing?.picture.append(svg('rect', { class: 'selection', x, width, y: 36, height: HEIGHT - 62 }));
  }
}
