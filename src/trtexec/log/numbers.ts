/** A number as a C++ stream prints it: six significant digits, maybe scientific, maybe `inf` or `nan`. */
export const NUMBER = String.raw`[-+]?(?:\d+(?:\.\d+)?(?:e[-+]?\d+)?|inf|nan)`;

/** The number that `text` is; NaN when it is none. */
export function parseStreamNumber(text: string): number {
  const unsigned = text.replace(/^[-+]/, '');
  if (unsigned === 'inf') return text.startsWith('-') ? -Infinity : Infinity;
  return Number(text);
}

/** A finite number, or null. */
export function finiteOrNull(text: string | undefined): number | null {
  if (text === undefined || text.trim() === '') return null;
  const value = parseStreamNumber(text.trim());
  return Number.isFinite(value) ? value : null;
}
