import type { PageCell, PageData } from '../page-types.ts';
import { formatPercent } from '../../terminal/numbers.ts';
import { valuesOf } from './data.ts';
import { element, pictureStage } from './dom.ts';
import { clamp } from './scale.ts';
import { hideTip, say, showTip } from './tip.ts';
import { sweepLines } from './trend-words.ts';

const ROW = 14;
const LEFT = 210;
const LONGEST_LABEL = 34;
/** Percent, from one color to the next deeper one. */
const STEPS = [0.5, 2, 5, 15];

/** Every sweep of every cell on one canvas, as there may be tens of thousands of squares. */
export class SweepMap {
  readonly node: HTMLElement;
  private readonly data: PageData;
  private readonly canvas = element('canvas', { 'aria-hidden': 'true' });
  private readonly levels: readonly (number | null)[];
  private row = 0;
  private sweep = 0;

  constructor(data: PageData, open: (cell: PageCell) => void) {
    this.data = data;
    this.levels = data.cells.map(levelNow);
    this.sweep = data.sweeps.ids.length - 1;
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

  private get columnWidth(): number {
    return Math.min(28, (this.node.clientWidth - LEFT) / Math.max(1, this.data.sweeps.ids.length));
  }

  private find(event: MouseEvent): boolean {
    const row = Math.floor(event.offsetY / ROW);
    const sweep = Math.floor((event.offsetX - LEFT) / this.columnWidth);
    if (this.data.cells[row] === undefined || event.offsetX < LEFT) return false;
    if (sweep < 0 || sweep >= this.data.sweeps.ids.length) return false;
    [this.row, this.sweep] = [row, sweep];
    return true;
  }

  private lines(): string[] {
    const cell = this.data.cells[this.row];
    if (cell === undefined) return [];
    const value = valuesOf(cell)[this.sweep]?.value;
    const level = this.levels[this.row] ?? null;
    const off =
      value === undefined || level === null ? [] : [`${formatPercent((value / level - 1) * 100)} from its level now`];
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
    this.sweep = clamp(this.sweep + move[1], 0, this.data.sweeps.ids.length - 1);
    this.draw(true);
    const box = this.canvas.getBoundingClientRect();
    const lines = this.lines();
    showTip(lines, box.left + LEFT + this.sweep * this.columnWidth, box.top + (this.row + 1) * ROW);
    say(lines);
  }

  private draw(withCursor: boolean): void {
    const width = this.node.clientWidth;
    const height = this.data.cells.length * ROW;
    const context = this.canvas.getContext('2d');
    if (context === null || width === 0) return;
    const ratio = window.devicePixelRatio;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    context.scale(ratio, ratio);
    const style = getComputedStyle(document.documentElement);
    const colour = (name: string): string => style.getPropertyValue(`--${name}`);
    const colours = new Map(
      ['h0', ...STEPS.flatMap((_, place) => [`worse${place + 1}`, `better${place + 1}`])].map((name) => [
        name,
        colour(name),
      ]),
    );
    context.font = '11px system-ui, sans-serif';
    context.textBaseline = 'middle';
    for (const [row, cell] of this.data.cells.entries()) {
      context.fillStyle = colour('fg');
      context.fillText(shortLabel(cell.label), 0, row * ROW + ROW / 2, LEFT - 8);
      this.drawRow(context, row, cell, colours);
    }
    if (!withCursor) return;
    context.strokeStyle = colour('fg');
    context.lineWidth = 2;
    const at = LEFT + this.sweep * this.columnWidth;
    context.strokeRect(at - 1, this.row * ROW, Math.max(4, this.columnWidth) + 2, ROW);
  }

  private drawRow(
    context: CanvasRenderingContext2D,
    row: number,
    cell: PageCell,
    colours: ReadonlyMap<string, string>,
  ): void {
    const level = this.levels[row] ?? null;
    const width = this.columnWidth;
    for (const [sweep, found] of valuesOf(cell).entries()) {
      if (found === null || level === null) continue;
      const percent = (found.value / level - 1) * 100;
      context.fillStyle = colours.get(heatName(percent, cell.betterIs)) ?? '';
      const from = LEFT + sweep * width;
      context.fillRect(from, row * ROW + 1, width > 4 ? width - 1 : width + 0.3, ROW - 2);
    }
  }
}

function heatName(percent: number, betterIs: PageCell['betterIs']): string {
  const depth = STEPS.filter((step) => Math.abs(percent) >= step).length;
  if (depth === 0) return 'h0';
  return `${percent > 0 === (betterIs === 'lower') ? 'worse' : 'better'}${depth}`;
}

function shortLabel(label: string): string {
  return label.length <= LONGEST_LABEL ? label : `${label.slice(0, LONGEST_LABEL - 1)}…`;
}

/** Median of the sweeps since the last level change. */
export function levelNow(cell: PageCell): number | null {
  const last = cell.marks.findLast(({ kind }) => kind === 'slower' || kind === 'faster')?.step ?? 0;
  const sorted = valuesOf(cell)
    .slice(last)
    .flatMap((sweep) => sweep?.value ?? [])
    .toSorted((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? null;
}
