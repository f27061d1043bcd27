import { findChangePoints, lastingChanges } from '../src/judge/history/lasting-changes.ts';
import { madeHistory } from './detection.ts';
import { absolute, type Benchmark, type Row, versus } from './row.ts';
import { medianTimesMs, sized, timedMs } from './timing.ts';

/** Nights of a series, and what one may take. */
const LENGTHS = sized(
  [
    { nights: 180, atMost: 50 },
    { nights: 1000, atMost: 1000 },
    { nights: 10_000, atMost: 5000 },
  ],
  [{ nights: 30, atMost: 1 }],
);
const ROUNDS = sized(3, 1);

/** `bench detect`, which says of each night what was reported then, with only the past. */
export const nightly: Benchmark = {
  name: 'nightly',
  run: async () => {
    const rows: Row[] = [];
    for (const { atMost, nights } of LENGTHS) {
      const history = madeHistory(nights, 250);
      const { replay, whole } = await medianTimesMs(
        { replay: () => timedMs(() => lastingChanges(history)), whole: () => timedMs(() => findChangePoints(history)) },
        ROUNDS,
      );
      const what = `${nights} nights, one after the other`;
      rows.push(
        absolute(what, replay, ' ms', { atMost }),
        versus(what, 'the whole history at once', [replay, whole], null),
      );
    }
    return rows;
  },
};
