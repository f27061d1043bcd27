import type { KeyedCell } from '../../src/records/cell.ts';
import type { Random } from '../detection/random.ts';
import type { RealRun, Visit } from './real-runs.ts';

export interface Pair {
  readonly newest: RealRun;
  readonly lastGood: RealRun;
}

/** Runs of one cell of a drawn matrix, of which no two sides have the same. What changed is in `newest`. */
export interface DrawnCell {
  readonly cell: KeyedCell;
  readonly isChanged: boolean;
  /** The sweep before the base. */
  readonly before: readonly RealRun[];
  /** As many runs as anyone may ask for. */
  readonly base: readonly RealRun[];
  readonly newest: readonly RealRun[];
  /** Of a sweep with this number of runs, measured after it. */
  readonly pairsAfter: (runs: number) => readonly Pair[];
}

/** Runs before the base. */
const BEFORE = 2;
const PAIRS = 5;
/** `--max-repeats` of `bench run`. */
const MOST_RUNS = 20;

/**
 * A matrix of real runs, the rounds of a visit (one run of each cell): from a random one on in the order in which they
 * were measured, each once; of a visit with too few of them, random ones. In a third of the matrices nothing changes, in a
 * third one cell, in a third all cells of a model and precision: their newest runs are multiplied by `factor`.
 */
export function drawMatrix({ cells, isReused, runs }: Visit, random: Random, factor: number): DrawnCell[] {
  const count = Math.min(...runs.map(({ length }) => length));
  const start = random.integer(0, count - 1);
  const rounds = isReused
    ? Array.from({ length: BEFORE + 2 * MOST_RUNS }, () => random.integer(0, count - 1))
    : Array.from({ length: count }, (_, place) => (start + place) % count);
  const half = Math.floor((rounds.length - BEFORE) / 2);
  const changed = changedAmong(cells, random);
  return cells.map((cell, place) => {
    const isChanged = changed.has(cell);
    // The newest sweep begins the ring, the base ends it.
    const ring = rounds.flatMap((round) => runs[place]?.[round] ?? []);
    const slower = (run: RealRun): RealRun => (isChanged ? { ...run, ms: factor * run.ms } : run);
    return {
      cell,
      isChanged,
      before: ring.slice(-half - BEFORE, -half),
      base: ring.slice(-half),
      newest: ring.slice(0, half).map(slower),
      pairsAfter: (made) =>
        Array.from({ length: PAIRS }, (_, pair) => ring.slice(made + 2 * pair, made + 2 * pair + 2)).flatMap(
          (both, pair) => {
            const [newest, lastGood] = pair % 2 === 0 ? both : both.toReversed();
            return newest === undefined || lastGood === undefined ? [] : [{ newest: slower(newest), lastGood }];
          },
        ),
    };
  });
}

function changedAmong(cells: readonly KeyedCell[], random: Random): ReadonlySet<KeyedCell> {
  const kind = random.integer(0, 2);
  const one = cells[random.integer(0, cells.length - 1)];
  if (kind === 0 || one === undefined) return new Set();
  if (kind === 1) return new Set([one]);
  return new Set(cells.filter(({ model, precision }) => model === one.model && precision === one.precision));
}
