const OMITTED = /^\[bench\] at least (\d+) bytes were left out here$/;

/**
 * The line in a log that replaces its middle. The number is a lower bound, because output during the cut is not
 * counted.
 */
export function omittedLine(bytes: number): string {
  return `[bench] at least ${bytes} bytes were left out here`;
}

export function omittedBytesIn(line: string): number | null {
  const bytes = OMITTED.exec(line)?.[1];
  return bytes === undefined ? null : Number(bytes);
}
