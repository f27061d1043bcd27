/** An error with the place in the program where it arose. */
export function problemOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const place = error.stack?.split('\n').find((line) => line.includes('/src/')) ?? '';
  return `${error.name}: ${error.message} ${/src\/[^)]*/.exec(place)?.[0] ?? ''}`.trim();
}
