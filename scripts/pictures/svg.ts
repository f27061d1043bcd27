import { textWidth } from '../../src/terminal/look.ts';
import type { Span } from './ansi.ts';

export interface Picture {
  /** What somebody hears who does not see it. */
  readonly title: string;
  readonly columns: number;
  readonly lines: readonly (readonly Span[])[];
}

/** The first eight; the bright ones are the same here. */
const COLOURS = {
  light: ['#24292f', '#cf222e', '#116329', '#7d4e00', '#0550ae', '#8250df', '#1b7c83', '#57606a'],
  dark: ['#8b949e', '#ff7b72', '#3fb950', '#d29922', '#79c0ff', '#d2a8ff', '#56d4dd', '#c9d1d9'],
} as const;

const COLUMN = 8.4;
const LINE = 18;
const BASELINE = 13.5;
const MARGIN = 16;

/** A self-contained SVG: no script, no font of its own, light or dark as the reader's page is. */
export function drawPicture({ title, columns, lines }: Picture): string {
  const width = round(columns * COLUMN + 2 * MARGIN);
  const height = round(lines.length * LINE + 2 * MARGIN);
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    `<title>${escaped(title)}</title>`,
    `<style>`,
    `svg{--paper:#fff;--edge:#d0d7de;--text:#24292f;${palette('light')}}`,
    `@media (prefers-color-scheme:dark){svg{--paper:#0d1117;--edge:#30363d;--text:#c9d1d9;${palette('dark')}}}`,
    `text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:var(--text);white-space:pre}`,
    `.b{font-weight:600}.d{fill-opacity:.65}.i{font-style:italic}.u{text-decoration:underline}`,
    `</style>`,
    `<rect x=".5" y=".5" width="${width - 1}" height="${height - 1}" rx="8" fill="var(--paper)" stroke="var(--edge)"/>`,
    ...lines.flatMap((line, row) => drawLine(line, row)),
    `</svg>`,
  ].join('\n')}\n`;
}

function palette(scheme: keyof typeof COLOURS): string {
  return COLOURS[scheme].map((colour, index) => `--c${index}:${colour}`).join(';');
}

/** Letters, lines and blocks, and braille, each often from a font of its own, with other widths; any other sign is a piece of its own. */
const PIECES = /[ -\u02ff]+|[\u2500-\u259f]+|[\u2800-\u28ff]+|./gu;

/** Each piece is as wide as its columns, whatever fonts the reader has: tables and charts stay in line. */
function drawLine(line: readonly Span[], row: number): string[] {
  let column = 0;
  const pieces = line.flatMap((span) => (span.text.match(PIECES) ?? []).map((text) => ({ ...span, text })));
  return pieces.flatMap((span) => {
    const columns = textWidth(span.text);
    const x = round(MARGIN + column * COLUMN);
    const top = MARGIN + row * LINE;
    const width = round(columns * COLUMN);
    column += columns;
    const box =
      span.background === null
        ? []
        : [`<rect x="${x}" y="${top}" width="${width}" height="${LINE}" fill="var(--c${span.background % 8})"/>`];
    if (span.text.trim() === '') return box;
    const place = `x="${x}" y="${round(top + BASELINE)}" textLength="${width}" lengthAdjust="spacingAndGlyphs"`;
    return [...box, `<text ${place}${lookOf(span)} xml:space="preserve">${escaped(span.text)}</text>`];
  });
}

function lookOf({ foreground, bold, dim, italic, underline }: Span): string {
  const names = [bold && 'b', dim && 'd', italic && 'i', underline && 'u'].filter(Boolean);
  const look = names.length === 0 ? '' : ` class="${names.join(' ')}"`;
  return foreground === null ? look : `${look} style="fill:var(--c${foreground % 8})"`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
