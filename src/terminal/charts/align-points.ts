import { padEnd, textWidth } from '../text-width.ts';

const NUMBER = /^(?<whole>[~>]?[+-]?\d+|–)(?<part>\.\d+)?(?<unit>.*)$/;

/**
 * The texts filled up on the right, so that the points of their numbers meet when they are set flush right, and their
 * units as well. Texts of which some are no numbers, or several numbers, stay as they are.
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
