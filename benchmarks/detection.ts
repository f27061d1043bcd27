import { findChangePoints, lastingChanges } from '../src/judge/history/lasting-changes.ts';
import type { CellHistory } from '../src/judge/history/noise.ts';
import { type LabelledHistory, packedCells, packedHistories } from './detection/labelled.ts';
import { ourAlarms, ourNightAlarms, ourVerdicts } from './detection/ours.ts';
import { Random } from './detection/random.ts';
import { scoreCells, scoreHistories, scoreNights } from './detection/score.ts';
import { simulateHistories } from './detection/simulate.ts';
import { absolute, type Benchmark, type Row, versus } from './row.ts';
import { medianTimesMs, sized, timedMs } from './timing.ts';

/** Our detectors on the packed data. `node benchmarks/detection.ts SEED` scores them on histories made anew. */
export const detection: Benchmark = {
  name: 'detection',
  run: async () => {
    const { nightly, whole } = scoresOf(packedHistories('synthetic-dev'));
    const cells = packedCells();
    return [
      absolute('histories seen whole', whole.f1, ' F1', { atLeast: 0.93 }),
      absolute('night by night', nightly.f1, ' F1', { atLeast: 0.9 }),
      absolute('two commits', scoreCells(cells, ourVerdicts(cells)).f1, ' F1', { atLeast: 0.95 }),
    ];
  },
};

function scoresOf(histories: readonly LabelledHistory[]) {
  return {
    whole: scoreHistories(histories, ourAlarms(histories)),
    nightly: scoreNights(histories, ourNightAlarms(histories)),
  };
}

/** Nights of a series, and what one may take, in milliseconds. */
const LENGTHS = sized({ 180: 50, 1000: 1000, 10_000: 5000 }, { 30: 1 });
const ROUNDS = sized(3, 1);

/** `bench detect`, which says of each night what was reported then, with only the past. */
export const nightly: Benchmark = {
  name: 'nightly',
  run: async () => {
    const rows: Row[] = [];
    for (const [nights, atMost] of Object.entries(LENGTHS)) {
      const history = madeHistory(Number(nights), 250);
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

/** 1 % of noise; the level moves by 3 % every so many sweeps. */
function madeHistory(count: number, every: number): CellHistory {
  const random = new Random(count + every);
  const places = Array.from({ length: count }, (_, place) => place);
  return {
    places,
    values: Float64Array.from(places, (place) =>
      Math.exp(0.03 * (Math.floor(place / every) % 3) + 0.01 * random.normal()),
    ),
    clock: places.map(() => 1980),
  };
}

if (import.meta.main) {
  const [seed = 1] = process.argv.slice(2).map(Number);
  process.stdout.write(`${JSON.stringify(scoresOf(simulateHistories(seed)), null, 1)}\n`);
}
