/** Compares by code units, so that the order is the same on every machine. */
export function compareTexts(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}
