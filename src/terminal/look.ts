import fastStringWidth from 'fast-string-width';
import picocolors from 'picocolors';

export interface Look {
  readonly columns: number;
  readonly style: Style;
}

export type Style = Readonly<Record<'bad' | 'good' | 'warn' | 'strong' | 'dim' | 'accent', (text: string) => string>>;

export function plain(text: string): string {
  return text;
}

/** @param columns a function if the width may change */
export function makeLook(columns: number | (() => number), colour: boolean): Look {
  const colours = picocolors.createColors(colour);
  return {
    get columns() {
      return typeof columns === 'number' ? columns : columns();
    },
    style: {
      bad: colours.red,
      good: colours.green,
      warn: colours.yellow,
      strong: colours.bold,
      dim: colours.dim,
      accent: colours.cyan,
    },
  };
}

export const textWidth = (text: string): number => fastStringWidth(text);

/** Truncates text to `width` columns, with an ellipsis before its last `tail` columns. */
export function truncate(text: string, width: number, tail = 0): string {
  if (textWidth(text) <= width) return text;
  if (width < 1) return '';
  const head = width - 1 - tail;
  const graphemes = graphemesOf(text);
  return `${fitting(graphemes, head).join('')}…${fitting(graphemes.toReversed(), tail).toReversed().join('')}`;
}

/**
 * Truncates each text to `width` columns at the end, in the middle or at the beginning, whichever makes the fewest
 * texts equal.
 */
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

/** Wraps text between items that `dotted` joined, else at words, and within words longer than `width`. */
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

export function wrapLines({ columns }: Look, indent: number, lines: readonly string[]): string[] {
  return lines.flatMap((line) => wrapHanging(line, columns, indent));
}

/** Like `wrapWords`, with the lines after the first indented by this many columns. */
export function wrapHanging(text: string, width: number, indent: number): string[] {
  const lead = /^ */.exec(text)?.[0] ?? '';
  const [first = '', ...more] = wrapWords(text.slice(lead.length), width - Math.max(indent, lead.length));
  return [lead + first, ...more.map((line) => ' '.repeat(indent) + line)];
}

/** A label followed by its text, whose further lines are indented below it. */
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

/** The known parts on one line: `recorded · main · sweep 1a2b3c4d`. */
export function dotted(parts: readonly (string | null)[]): string {
  return parts.filter(Boolean).join(DOT);
}

const NUMBER = /^(?<whole>[~>]?[+-]?\d+|\u2013)(?<part>\.\d+)?(?<unit>.*)$/;

/**
 * Pads texts on the right so that decimal points and units align when they are right-aligned. Texts without exactly one
 * number stay unchanged.
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
