const OMITTED = /^\[bench\] at least (\d+) bytes were left out here$/;

/** Is in a log in place of its middle. The number is the least: what a writer adds while it is cut is not counted. */
export function omittedLine(bytes: number): string {
  return `[bench] at least ${bytes} bytes were left out here`;
}

export function omittedBytesIn(line: string): number | null {
  const bytes = OMITTED.exec(line)?.[1];
  return bytes === undefined ? null : Number(bytes);
}
