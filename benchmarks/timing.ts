/** One side of a comparison; gives the time of one repetition in milliseconds. */
export type Side = () => Promise<number> | number;

/**
 * Runs all sides in turn, round by round, and the other way round in every second round: what else the machine does
 * meets all of them alike. One round before that is not counted.
 * @returns the median time of each side in milliseconds
 */
export async function medianTimesMs<Name extends string>(
  sides: Readonly<Record<Name, Side>>,
  rounds: number,
): Promise<Record<Name, number>>;
export async function medianTimesMs(
  sides: Readonly<Record<string, Side>>,
  rounds: number,
): Promise<Record<string, number>> {
  const names = Object.keys(sides);
  const times = new Map(names.map((name): [string, number[]] => [name, []]));
  for (let round = 0; round <= rounds; round += 1) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const timeMs = (await sides[name]?.()) ?? Number.NaN;
      if (round > 0) times.get(name)?.push(timeMs);
    }
  }
  return Object.fromEntries([...times].map(([name, values]) => [name, medianOf(values)]));
}

function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const upper = sorted[sorted.length >> 1] ?? Number.NaN;
  const lower = sorted[(sorted.length - 1) >> 1] ?? Number.NaN;
  return (lower + upper) / 2;
}

/** Wall time of some work in milliseconds. */
export async function timedMs(work: () => unknown): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

export function milliseconds(timeMs: number): string {
  return timeMs < 10 ? `${timeMs.toFixed(2)} ms` : `${Math.round(timeMs)} ms`;
}

export function seconds(timeMs: number): string {
  return `${(timeMs / 1000).toFixed(2)} s`;
}
