import { findChangePoints, lastingChanges } from '../src/judge/history/lasting-changes.ts';
import { madeHistory } from './detection/our-times.ts';
import type { Benchmark, Row } from './row.ts';
import { sized } from './size.ts';
import { medianTimesMs, milliseconds, timedMs } from './timing.ts';

/** Nights of a series, and what one may take. */
const LENGTHS = sized(
  [
    { nights: 180, mostMs: 50 },
    { nights: 1000, mostMs: 1000 },
    { nights: 10_000, mostMs: 5000 },
  ],
  [{ nights: 30, mostMs: 1 }],
);
const ROUNDS = sized(3, 1);

/** `bench detect`, which says of each night what was reported then, with only the past. */
export const nightly: Benchmark = {
  name: 'nightly',
  run: async () => {
    const rows: Row[] = [];
    for (const length of LENGTHS) rows.push(...(await rowsOf(length)));
    return rows;
  },
};

async function rowsOf({ mostMs, nights }: (typeof LENGTHS)[number]): Promise<Row[]> {
  const history = madeHistory(nights, 250);
  const replay = (): Promise<number> => timedMs(() => lastingChanges(history));
  const times = await medianTimesMs({ replay, whole: () => timedMs(() => findChangePoints(history)) }, ROUNDS);
  const what = `${nights} nights, one after the other`;
  const measured = { kind: 'measured', what, unit: '×', ours: milliseconds(times.replay) } as const;
  return [
    {
      ...measured,
      against: 'what it must reach',
      ratio: times.replay / mostMs,
      target: { atMost: 1 },
      theirs: milliseconds(mostMs),
    },
    {
      ...measured,
      against: 'the whole history at once',
      ratio: times.replay / times.whole,
      target: null,
      theirs: milliseconds(times.whole),
    },
  ];
}
