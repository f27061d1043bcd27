import { findChangePoints, lastingChanges } from '../src/judge/history/lasting-changes.ts';
import type { CellHistory } from '../src/judge/history/noise.ts';
import { type LabelledHistory, packedCells, packedHistories } from './detection/labelled.ts';
import { ourAlarms, ourNightAlarms, ourVerdicts } from './detection/ours.ts';
import { Random } from './detection/random.ts';
import { scoreCells, scoreHistories, scoreNights } from './detection/score.ts';
import { simulateHistories } from './detection/simulate.ts';
import { absolute, type Benchmark, type Row, versus } from './row.ts';
import { medianTimesMs, sized, timedMs } from './timing.ts';

const PASSES = 9;

/** Our detectors on the packed data, and how fast they are. `node benchmarks/detection.ts SEED` scores them on histories made anew. */
export const detection: Benchmark = {
  name: 'detection',
  run: async () => {
    const { nightly, whole } = scoresOf(packedHistories('synthetic-dev'));
    const cells = packedCells();
    return [
      absolute('histories seen whole', whole.f1, ' F1', { atLeast: 0.93 }),
      absolute('night by night', nightly.f1, ' F1', { atLeast: 0.9 }),
      absolute('two commits', scoreCells(cells, ourVerdicts(cells)).f1, ' F1', { atLeast: 0.95 }),
      ...(await timeRows(180, 60, 100, 0.2)),
      ...(await timeRows(5000, 250, 5, 60)),
    ];
  },
};

function scoresOf(histories: readonly LabelledHistory[]) {
  return {
    whole: scoreHistories(histories, ourAlarms(histories)),
    nightly: scoreNights(histories, ourNightAlarms(histories)),
  };
}

/** A history without a change, and one that changes every so many nights; one pass looks at each so many times. */
async function timeRows(nights: number, every: number, count: number, atMost: number): Promise<Row[]> {
  const repeated = (history: CellHistory) => async (): Promise<number> => {
    const pass = (): void => {
      for (let i = 0; i < count; i += 1) findChangePoints(history);
    };
    return (await timedMs(pass)) / count;
  };
  const { changing, steady } = await medianTimesMs(
    { steady: repeated(madeHistory(nights, null)), changing: repeated(madeHistory(nights, every)) },
    PASSES,
  );
  return [
    absolute(`${nights} nights without a change`, steady, ' ms', { atMost }),
    absolute(`${nights} nights with changes`, changing, ' ms', { atMost }),
  ];
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

/** 1 % of noise; with `every`, the level moves by 3 % every so many sweeps. */
function madeHistory(count: number, every: number | null): CellHistory {
  const random = new Random(count + (every ?? 0));
  const places = Array.from({ length: count }, (_, place) => place);
  return {
    places,
    values: Float64Array.from(places, (place) => {
      const level = every === null ? 0 : 0.03 * (Math.floor(place / every) % 3);
      return Math.exp(level + 0.01 * random.normal());
    }),
    clock: places.map(() => 1980),
  };
}

if (import.meta.main) {
  const [seed = 1] = process.argv.slice(2).map(Number);
  process.stdout.write(`${JSON.stringify(scoresOf(simulateHistories(seed)), null, 1)}\n`);
}
