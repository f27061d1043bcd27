/** What a text says: a figure or word as it is there, and where. */
export interface Fact {
  readonly text: string;
  readonly line: number;
}

export type Facts = Map<string, Fact>;

const NUMBER = /^[-+]?[\d.,]+(?:e[-+]?\d+)?$/;
const NO_NUMBER = /^[-+]?(?:inf|nan)$/;

/** True for a figure in any format, also in one that the program's parser might not know; not for damaged text. */
export function isNumberLike(text: string): boolean {
  return NUMBER.test(text) || NO_NUMBER.test(text);
}

/** The number that a C++ stream printed. */
export function figureOf(text: string): number {
  if (text.trim() === '') return Number.NaN;
  return NO_NUMBER.test(text) ? Number(text.replace('inf', 'Infinity')) : Number(text);
}

/** False for what C++ prints for a number that is none. */
export function isFiniteText(text: string): boolean {
  return text.trim() !== '' && Number.isFinite(Number(text));
}
