import { formatPercent } from '../../terminal/numbers.ts';
import { heatClass, type PageCell, type PageData } from '../page-data.ts';
import { hideTip, onKeys, pictureStage, showTip, tell } from './chart.ts';
import { element, showAsTable, textTable } from './dom.ts';
import { clamp } from './geometry.ts';
import { dateLabels, sweepLines, sweepName } from './trend.ts';

const ROW = 20;
/** Height of the dates, above and below. */
const DATES = 24;
/** Up to this number of rows the dates below are left out. */
const SHORT = 24;
const MOST_WIDTH = 28;
/** In pixels; of a narrow picture the oldest sweeps are left out. */
const LEAST_WIDTH = 2.5;
/** Of the width of the picture. */
const MOST_NAMES = 0.48;
const FONT = '14px system-ui, sans-serif';

/** Sweeps of every cell on one canvas, as there may be tens of thousands of squares. */
export function sweepMap(data: PageData, open: (cell: PageCell) => void): HTMLElement[] {
  const { cells, sweeps } = data;
  const last = sweeps.length - 1;
  let [row, sweep] = [0, last];
  let layout = { left: 0, first: 0, width: 0 };
  const canvas = element('canvas', { 'aria-hidden': 'true' });
  const stage = pictureStage(
    'heat map',
    `${cells.length} cells by ${sweeps.length} sweeps. Arrow keys move, Enter opens the cell. The table of cells has the same values.`,
    canvas,
  );
  /** Left edge of a column. */
  const at = (column: number): number => layout.left + (column - layout.first) * layout.width;
  const lines = (): string[] =>
    cells.slice(row, row + 1).flatMap((cell) => {
      const percent = percentOf(cell, sweep);
      const off = percent === null ? [] : [`${formatPercent(percent)} against its level`];
      return [cell.label, ...off, ...sweepLines(data, cell, sweep)];
    });
  const openCurrent = (): void => cells.slice(row, row + 1).forEach(open);

  const draw = (withCursor: boolean): void => {
    const width = stage.clientWidth;
    const below = DATES + cells.length * ROW;
    const height = below + (cells.length > SHORT ? DATES : 0);
    const context = canvas.getContext('2d');
    if (context === null || width === 0) return;
    const ratio = window.devicePixelRatio;
    [canvas.width, canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
    [canvas.style.width, canvas.style.height] = [`${width}px`, `${height}px`];
    context.scale(ratio, ratio);
    context.font = FONT;
    context.textBaseline = 'middle';
    const names = cells.map(({ name }) => context.measureText(name).width);
    const left = Math.min(MOST_NAMES * width, Math.max(...names) + 10);
    const shown = Math.min(sweeps.length, Math.floor((width - left) / LEAST_WIDTH));
    layout = { left, first: sweeps.length - shown, width: Math.min(MOST_WIDTH, (width - left) / Math.max(1, shown)) };
    const style = getComputedStyle(document.documentElement);
    const colors = legendColors();
    for (const [place, cell] of cells.entries()) {
      const y = DATES + place * ROW;
      context.fillStyle = style.getPropertyValue('--fg');
      context.fillText(cell.name, 0, y + ROW / 2, left - 8);
      for (let column = layout.first; column <= last; column += 1) {
        const percent = percentOf(cell, column);
        if (percent === null) continue;
        context.fillStyle = colors.get(heatClass(percent, percent > 0 === (cell.betterIs === 'lower'))) ?? '';
        context.fillRect(at(column), y + 1, layout.width > 4 ? layout.width - 1 : layout.width + 0.3, ROW - 2);
      }
    }
    context.fillStyle = style.getPropertyValue('--dim');
    context.textAlign = 'center';
    for (const { sweep: column, text } of dateLabels(data, { from: layout.first, to: last }, at(last + 1) - left)) {
      const half = context.measureText(text).width / 2;
      const x = clamp(at(column) + layout.width / 2, left + half, width - half);
      for (const y of [DATES / 2 - 2, below + DATES / 2 + 2]) context.fillText(text, x, y);
    }
    context.textAlign = 'start';
    if (!withCursor) return;
    context.strokeStyle = style.getPropertyValue('--fg');
    context.lineWidth = 2;
    context.strokeRect(at(sweep) - 1, DATES + row * ROW, Math.max(4, layout.width) + 2, ROW);
  };

  const find = ({ offsetX, offsetY }: MouseEvent): boolean => {
    const [under, column] = [
      Math.floor((offsetY - DATES) / ROW),
      layout.first + Math.floor((offsetX - layout.left) / layout.width),
    ];
    if (cells[under] === undefined || offsetX < layout.left || column > last) return false;
    [row, sweep] = [under, column];
    return true;
  };
  stage.addEventListener('pointermove', (event) => {
    if (find(event)) showTip(lines(), event.clientX, event.clientY);
    else hideTip();
  });
  stage.addEventListener('click', (event) => {
    if (find(event)) openCurrent();
  });
  stage.addEventListener('blur', () => draw(false));
  const move = (down: number, right: number): void => {
    row = clamp(row + down, 0, cells.length - 1);
    sweep = clamp(sweep + right, layout.first, last);
    draw(true);
    const box = canvas.getBoundingClientRect();
    tell(lines(), new DOMRect(box.left + at(sweep), box.top + DATES + row * ROW, layout.width, ROW));
  };
  onKeys(stage, (far) => ({
    ArrowLeft: () => move(0, -far),
    ArrowRight: () => move(0, far),
    ArrowUp: () => move(-1, 0),
    ArrowDown: () => move(1, 0),
    Home: () => move(0, -Infinity),
    End: () => move(0, Infinity),
    Enter: openCurrent,
  }));
  new ResizeObserver(() => draw(false)).observe(stage);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => draw(false));
  return [stage, showAsTable(() => [mapTable(data)])];
}

/** From the level at which a square has no color; null without a result. */
function percentOf({ level, values }: PageCell, sweep: number): number | null {
  const value = values[sweep] ?? null;
  return value === null || level === null ? null : (value / level - 1) * 100;
}

/** Of each class of square, as the style sheet has it now. */
function legendColors(): ReadonlyMap<string, string> {
  const swatches = document.querySelectorAll('#matrix .legend i');
  return new Map([...swatches].map((swatch) => [swatch.className, getComputedStyle(swatch).backgroundColor]));
}

/** More columns are not read. */
const SHOWN = 30;

/** What the heat map draws, in percent, the newest sweep first. */
function mapTable(data: PageData): HTMLElement {
  const sweeps = [...data.sweeps.keys()].slice(-SHOWN).toReversed();
  const rows = data.cells.map((cell) => {
    const percents = sweeps.map((sweep) => percentOf(cell, sweep));
    return [cell.name, ...percents.map((percent) => (percent === null ? '–' : formatPercent(percent)))];
  });
  const caption = `From the level before the open change, else the level now; newest ${sweeps.length} sweeps, ${data.provenance}`;
  return textTable(caption, ['cell', ...sweeps.map((sweep) => sweepName(data, sweep))], rows, 1);
}
