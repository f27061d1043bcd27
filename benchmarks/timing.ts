import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';

import { median } from '../src/statistics/order-statistics.ts';

const IS_SMALL = process.argv.includes('--small');

/** With `--small` everything is done once, with little data: that a benchmark still works is all that it says then. */
export function sized<Value>(whole: Value, small: Value): Value {
  return IS_SMALL ? small : whole;
}

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
  return Object.fromEntries([...times].map(([name, values]) => [name, median(values) ?? Number.NaN]));
}

/** Wall time of some work in milliseconds. */
export async function timedMs(work: () => unknown): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** Lends a folder that is gone when the work is done, also when it fails. */
export async function inTemporaryFolder<Result>(work: (folder: string) => Promise<Result>): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-measure-'));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  const stop = (): never => {
    remove();
    process.exit(130);
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
  try {
    return await work(folder);
  } finally {
    process.off('SIGINT', stop);
    process.off('SIGTERM', stop);
    remove();
  }
}
