import { formatPercent } from '../../terminal/numbers.ts';
import { heatClass } from '../heat.ts';
import type { PageCell, PageData } from '../page-types.ts';
import { valuesOf } from './data.ts';
import { element, pictureStage } from './dom.ts';
import { clamp } from './scale.ts';
import { hideTip, say, showTip } from './tip.ts';
import { dateLabels } from './trend-axes.ts';
import { sweepLines } from './trend-words.ts';

const ROW = 14;
/** Height of the dates, above and below. */
const DATES = 20;
/** Up to this number of rows the dates below are left out. */
const SHORT = 24;
const MOST_WIDTH = 28;
/** In pixels; of a narrow picture the oldest sweeps are left out. */
const LEAST_WIDTH = 2.5;
/** Of the width of the picture. */
const MOST_NAMES = 0.48;
const FONT = '11px system-ui, sans-serif';

/** Sweeps of every cell on one canvas, as there may be tens of thousands of squares. */
export class SweepMap {
  readonly node: HTMLElement;
  private readonly data: PageData;
  private readonly canvas = element('canvas', { 'aria-hidden': 'true' });
  private row = 0;
  private sweep: number;
  private layout = { left: 0, first: 0, width: 0 };

  constructor(data: PageData, open: (cell: PageCell) => void) {
    this.data = data;
    this.sweep = this.last;
    this.node = pictureStage(
      'heat map',
      `${data.cells.length} cells by ${data.sweeps.ids.length} sweeps. Arrow keys move, Enter opens the cell. The table of cells has the same values.`,
      this.canvas,
    );
    const openCurrent = (): void => {
      const cell = data.cells[this.row];
      if (cell !== undefined) open(cell);
    };
    this.node.addEventListener('pointermove', (event) => {
      if (!this.find(event)) return hideTip();
      showTip(this.lines(), event.clientX, event.clientY);
    });
    this.node.addEventListener('pointerleave', hideTip);
    this.node.addEventListener('blur', () => {
      hideTip();
      this.draw(false);
    });
    this.node.addEventListener('click', (event) => {
      if (this.find(event)) openCurrent();
    });
    this.node.addEventListener('keydown', (event) => this.key(event, openCurrent));
    new ResizeObserver(() => this.draw(false)).observe(this.node);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.draw(false));
  }

  private get last(): number {
    return this.data.sweeps.ids.length - 1;
  }

  private find(event: MouseEvent): boolean {
    const { left, first, width } = this.layout;
    const row = Math.floor((event.offsetY - DATES) / ROW);
    const sweep = first + Math.floor((event.offsetX - left) / width);
    if (this.data.cells[row] === undefined || event.offsetX < left || sweep > this.last) return false;
    [this.row, this.sweep] = [row, sweep];
    return true;
  }

  private lines(): string[] {
    const cell = this.data.cells[this.row];
    if (cell === undefined) return [];
    const percent = percentOf(cell, this.sweep);
    const off = percent === null ? [] : [`${formatPercent(percent)} against its level`];
    return [cell.label, ...off, ...sweepLines(this.data, cell, this.sweep)];
  }

  private key(event: KeyboardEvent, open: () => void): void {
    const far = event.shiftKey ? 10 : 1;
    const moves: Readonly<Record<string, readonly [number, number]>> = {
      ArrowLeft: [0, -far],
      ArrowRight: [0, far],
      ArrowUp: [-1, 0],
      ArrowDown: [1, 0],
      Home: [0, -Infinity],
      End: [0, Infinity],
    };
    if (event.key === 'Enter') return open();
    const move = moves[event.key];
    if (move === undefined) return;
    event.preventDefault();
    this.row = clamp(this.row + move[0], 0, this.data.cells.length - 1);
    this.sweep = clamp(this.sweep + move[1], this.layout.first, this.last);
    this.draw(true);
    const box = this.canvas.getBoundingClientRect();
    const lines = this.lines();
    showTip(lines, box.left + this.at(this.sweep), box.top + DATES + (this.row + 1) * ROW);
    say(lines);
  }

  /** Left edge of a column. */
  private at(sweep: number): number {
    const { left, first, width } = this.layout;
    return left + (sweep - first) * width;
  }

  private draw(withCursor: boolean): void {
    const { cells, sweeps } = this.data;
    const width = this.node.clientWidth;
    const below = DATES + cells.length * ROW;
    const height = below + (cells.length > SHORT ? DATES : 0);
    const context = this.canvas.getContext('2d');
    if (context === null || width === 0) return;
    const ratio = window.devicePixelRatio;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    context.scale(ratio, ratio);
    context.font = FONT;
    context.textBaseline = 'middle';
    const names = cells.map(({ name }) => context.measureText(name).width);
    const left = Math.min(MOST_NAMES * width, Math.max(...names) + 10);
    const shown = Math.min(sweeps.ids.length, Math.floor((width - left) / LEAST_WIDTH));
    this.layout = {
      left,
      first: sweeps.ids.length - shown,
      width: Math.min(MOST_WIDTH, (width - left) / Math.max(1, shown)),
    };
    const style = getComputedStyle(document.documentElement);
    const colors = legendColors();
    for (const [row, cell] of cells.entries()) {
      context.fillStyle = style.getPropertyValue('--fg');
      context.fillText(cell.name, 0, DATES + row * ROW + ROW / 2, left - 8);
      this.drawRow(context, row, cell, colors);
    }
    context.fillStyle = style.getPropertyValue('--dim');
    this.drawDates(context, DATES / 2 - 2, width);
    if (height > below) this.drawDates(context, below + DATES / 2 + 2, width);
    if (!withCursor) return;
    context.strokeStyle = style.getPropertyValue('--fg');
    context.lineWidth = 2;
    const cursor = Math.max(4, this.layout.width) + 2;
    context.strokeRect(this.at(this.sweep) - 1, DATES + this.row * ROW, cursor, ROW);
  }

  private drawDates(context: CanvasRenderingContext2D, y: number, width: number): void {
    const { first, left } = this.layout;
    const middle = this.layout.width / 2;
    context.textAlign = 'center';
    for (const { sweep, text } of dateLabels(this.data, first, this.last, this.at(this.last + 1) - left)) {
      const half = context.measureText(text).width / 2;
      context.fillText(text, clamp(this.at(sweep) + middle, left + half, width - half), y);
    }
    context.textAlign = 'start';
  }

  private drawRow(
    context: CanvasRenderingContext2D,
    row: number,
    cell: PageCell,
    colors: ReadonlyMap<string, string>,
  ): void {
    const { first, width } = this.layout;
    for (let sweep = first; sweep <= this.last; sweep += 1) {
      const percent = percentOf(cell, sweep);
      if (percent === null) continue;
      context.fillStyle = colors.get(heatClass(percent, percent > 0 === (cell.betterIs === 'lower'))) ?? '';
      context.fillRect(this.at(sweep), DATES + row * ROW + 1, width > 4 ? width - 1 : width + 0.3, ROW - 2);
    }
  }
}

/** From the level at which a square has no color; null without a result. */
export function percentOf(cell: PageCell, sweep: number): number | null {
  const value = valuesOf(cell)[sweep]?.value;
  return value === undefined || cell.level === null ? null : (value / cell.level - 1) * 100;
}

/** Of each class of square, as the style sheet has it now. */
function legendColors(): ReadonlyMap<string, string> {
  const swatches = document.querySelectorAll('#matrix .legend i');
  return new Map([...swatches].map((swatch) => [swatch.className, getComputedStyle(swatch).backgroundColor]));
}
