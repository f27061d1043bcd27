import fastStringWidth from 'fast-string-width';

/** Columns of a text in a terminal. */
export const textWidth = (text: string): number => fastStringWidth(text);

/** Cuts text to `width` columns, with an ellipsis in front of its last `tail` columns. */
export function truncate(text: string, width: number, tail = 0): string {
  if (textWidth(text) <= width) return text;
  if (width < 1) return '';
  const head = width - 1 - tail;
  const graphemes = graphemesOf(text);
  return `${fitting(graphemes, head).join('')}…${fitting(graphemes.toReversed(), tail).toReversed().join('')}`;
}

/** Cuts each of the texts to `width` columns where the fewest of them become equal: at the end, in the middle, or at the beginning. */
export function truncateDistinct(texts: readonly string[], width: number): ReadonlyMap<string, string> {
  const distinct = [...new Set(texts)];
  const ways = [0, Math.ceil((width - 1) / 2), Math.max(0, width - 1)].map((tail) =>
    distinct.map((text) => truncate(text, width, tail)),
  );
  const counts = ways.map((cut) => new Set(cut).size);
  const best = ways[counts.indexOf(Math.max(...counts))] ?? [];
  return new Map(distinct.map((text, place) => [text, best[place] ?? text]));
}

function fitting(graphemes: readonly string[], width: number): string[] {
  let used = 0;
  const end = graphemes.findIndex((grapheme) => (used += textWidth(grapheme)) > width);
  return graphemes.slice(0, end === -1 ? graphemes.length : end);
}

function graphemesOf(text: string): string[] {
  segmenter ??= new Intl.Segmenter('en', { granularity: 'grapheme' });
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}

let segmenter: Intl.Segmenter | null = null;

export function padEnd(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - textWidth(text)));
}

export function padStart(text: string, width: number): string {
  return ' '.repeat(Math.max(0, width - textWidth(text))) + text;
}

const DOT = ' · ';

/** Wraps between what `dotted` joins, else at words, and within words longer than `width`. */
export function wrapWords(text: string, width: number): string[] {
  const items = text.split(DOT);
  const words = items.flatMap((item, place) => {
    const isWhole = items.length > 1 && textWidth(item) <= width;
    const own = isWhole ? [item] : item.split(/ (?!%)/).flatMap((word) => pieces(word, width));
    return own.map((word, at) => ({ word, between: place > 0 && at === 0 ? DOT : ' ' }));
  });
  const lines: string[] = [];
  let line = '';
  for (const { between, word } of words) {
    const longer = line === '' ? word : line + between + word;
    if (textWidth(longer) <= width) line = longer;
    else {
      if (line !== '') lines.push(line);
      line = word;
    }
  }
  return [...lines, line];
}

/** The same, with what follows the first line set in by this many columns. */
export function wrapHanging(text: string, width: number, indent: number): string[] {
  const lead = /^ */.exec(text)?.[0] ?? '';
  const [first = '', ...more] = wrapWords(text.slice(lead.length), width - Math.max(indent, lead.length));
  return [lead + first, ...more.map((line) => ' '.repeat(indent) + line)];
}

/** A label, and the text behind it, below which its other lines are set in. */
export function labelled(label: string, text: string, columns: number): string[] {
  const width = textWidth(label);
  const [first = '', ...more] = wrapWords(text, columns - width);
  return [`${label}${first}`, ...more.map((line) => ' '.repeat(width) + line)];
}

function pieces(word: string, width: number): string[] {
  if (textWidth(word) <= width) return [word];
  const found: string[] = [];
  let piece = '';
  for (const character of word) {
    if (textWidth(piece + character) > width) {
      found.push(piece);
      piece = '';
    }
    piece += character;
  }
  return [...found, piece];
}

/** What is known, on one line: `recorded · main · sweep 1a2b3c4d`. */
export function dotted(parts: readonly (string | null)[]): string {
  return parts.filter(Boolean).join(DOT);
}

const NUMBER = /^(?<whole>[~>]?[+-]?\d+|–)(?<part>\.\d+)?(?<unit>.*)$/;

/**
 * Pads texts on the right so that decimal points and units align when set flush right. Texts without exactly one number
 * are unchanged.
 */
export function alignPoints(texts: readonly string[]): string[] {
  const parts = texts.map((text) => (text === '' ? null : (NUMBER.exec(text)?.groups ?? undefined)));
  const found = parts.filter((groups) => groups !== null);
  const units = found.map((groups) => groups?.['unit'] ?? '');
  if (found.includes(undefined) || units.some((unit) => /\d/.test(unit))) return [...texts];
  const partWidth = Math.max(0, ...found.map((groups) => (groups?.['part'] ?? '').length));
  const unitWidth = Math.max(0, ...units.map(textWidth));
  return parts.map((groups) =>
    groups === null || groups === undefined
      ? ''
      : (groups['whole'] ?? '') + padEnd(groups['part'] ?? '', partWidth) + padEnd(groups['unit'] ?? '', unitWidth),
  );
}

/** One column each, but for those that everybody writes with more. */
const SIGNS: Readonly<Record<string, string>> = {
  '→': '->',
  '±': '+/-',
  '≥': '>=',
  '≤': '<=',
  '≠': '!=',
  '…': '~',
  '·': '|',
  '–': '-',
  '×': 'x',
  '✗': 'x',
  '✓': 'v',
  '▲': '^',
  '▼': 'v',
  '▸': '>',
  '○': 'o',
  '∅': '0',
  '°': ' ',
  µ: 'u',
  '²': '2',
  '█': '#',
  '▓': '#',
  '▒': '=',
  '░': '.',
  '─': '-',
  '│': '|',
  '└': '+',
  '┬': '+',
  '┤': '|',
};

/** For a terminal without Unicode: the signs of bench in ASCII; names keep their letters. */
export function asciiText(text: string): string {
  return text.replaceAll(/[^\p{ASCII}\p{L}]|µ/gu, (sign) => SIGNS[sign] ?? sign);
}
