import type { KeyedCell } from '../../src/records/cell.ts';
import { imageCell } from '../../test/support/image-cell.ts';
import { hashOf } from '../../src/text/canonical-json.ts';
import { simulateNights } from '../../test/support/simulated-store.ts';
import { Random } from '../detection/random.ts';

/** What becomes worse, and nothing else: `time` is that of everything that follows from the GPU's time. */
export type Affected = 'time' | 'throughput' | 'p99' | 'hostBound' | 'memory' | 'precision' | 'accuracy';

/** From a sweep on, in some cells. */
export interface Disturbance {
  readonly what: Affected;
  /** First sweep, from 0 on. */
  readonly from: number;
  /** How much worse; of accuracy in dB, of `hostBound` unused. */
  readonly percent: number;
  readonly isAffected: (cell: KeyedCell, place: number) => boolean;
}

/** Standard deviations, as shares; of cells the typical one. */
export interface Noise {
  readonly run: number;
  /** Of each cell in each sweep. */
  readonly sweep: number;
  /** Common to all cells of a sweep. */
  readonly machine: number;
  /** Common to all cells of a precision. */
  readonly precision: number;
  /** Share of sweeps in which the whole machine is 2 to 15 % slower. */
  readonly bursts: number;
  /** Standard deviation of the log of a cell's noise. */
  readonly cells: number;
}

/** As in recorded sweeps of a machine with steady clocks. */
export const CALM: Noise = { run: 0.003, sweep: 0.002, machine: 0.002, precision: 0, bursts: 0, cells: 0 };

export interface SimulatedSweeps {
  readonly cells: number;
  readonly repeats: number;
  readonly seed: number;
  readonly noise: Noise;
  readonly disturbances: readonly Disturbance[];
  /** First sweep under another driver. */
  readonly newDriver?: number;
  readonly matrix?: { readonly name: string; readonly number: number };
}

/** The first half of the cells is FP8; ten models, or forty of a large matrix. */
export function gateCells(count: number): KeyedCell[] {
  const half = Math.ceil(count / 2);
  const models = count > 400 ? 40 : 10;
  return Array.from({ length: count }, (_, place) => {
    const within = place % half;
    return imageCell({
      model: `model${within % models}`,
      precision: place < half ? 'fp8' : 'fp16',
      batch: 1 + Math.floor(within / models),
    });
  });
}

/** Of a run, and of the mean of its queries to their 99th percentile: p99 is four times as noisy. */
const P99_NOISE = 4;

interface SimulatedRun {
  readonly ms: number;
  readonly qps: number;
  readonly p99Ms: number;
}

/**
 * Adds sweeps to a store, as `bench run` would have. The same sweep of the same seed has the same numbers, whenever and
 * however it is written.
 * @param after sweeps of this matrix that are there
 */
export function simulateSweeps(path: string, simulated: SimulatedSweeps, after: number, count: number): void {
  const { matrix, newDriver = Infinity, repeats } = simulated;
  const cells = gateCells(simulated.cells);
  let made: { readonly sweep: number; readonly runs: readonly SimulatedRun[] } | null = null;
  const runAt = (place: number, sweep: number, repeat: number): SimulatedRun => {
    if (made?.sweep !== sweep) made = { sweep, runs: runsOfSweep(simulated, cells, sweep) };
    const run = made.runs[place * repeats + repeat - 1];
    if (run === undefined) throw new Error('no such run');
    return run;
  };
  const percentOf = (what: Affected, place: number, sweep: number): number =>
    disturbancesOf(simulated, what, cells[place], place, sweep).reduce((sum, { percent }) => sum + percent, 0);
  simulateNights(path, {
    cells,
    nights: count,
    after,
    repeats,
    branch: 'main',
    commit: (sweep) => sweep.toString(16).padStart(40, '0'),
    driver: (sweep) => (sweep >= newDriver ? '590.2' : '580.1'),
    value: (place, sweep, repeat) => runAt(place, sweep, repeat).ms,
    figures: (place, sweep, repeat) => ({
      ...runAt(place, sweep, repeat),
      contextMib: 12.5 * (1 + percentOf('memory', place, sweep) / 100),
    }),
    flags: (place, sweep) =>
      disturbancesOf(simulated, 'hostBound', cells[place], place, sweep).length > 0
        ? [{ id: 'hostBound', effect: 'explained', value: 0.6, evidence: 'the GPU was busy 60 % of the time' }]
        : [],
    engine: (place, sweep) => {
      // A new engine only where something of the engine itself changed.
      const what = {
        engineMib: 40 * (1 + percentOf('memory', place, sweep) / 100),
        sqnrDb: 30 - percentOf('accuracy', place, sweep),
        precisionShare: 0.9 * (1 - percentOf('precision', place, sweep) / 100),
      };
      return { buildId: hashOf({ what, cell: cells[place]?.key ?? '' }), ...what };
    },
    ...(matrix === undefined ? {} : { matrix }),
  });
}

function disturbancesOf(
  { disturbances }: SimulatedSweeps,
  what: Affected,
  cell: KeyedCell | undefined,
  place: number,
  sweep: number,
): Disturbance[] {
  return disturbances.filter(
    (one) => one.what === what && cell !== undefined && sweep >= one.from && one.isAffected(cell, place),
  );
}

function runsOfSweep(simulated: SimulatedSweeps, cells: readonly KeyedCell[], sweep: number): SimulatedRun[] {
  const { noise, repeats, seed, matrix } = simulated;
  const own = new Random(seed * 7919 + (matrix?.number ?? 0) * 104_729);
  const now = new Random(seed * 15_485_863 + sweep * 32_452_843 + (matrix?.number ?? 0) * 49_979_687);
  const isBurst = now.chance(noise.bursts);
  const machine = noise.machine * now.normal() + (isBurst ? now.between(0.02, 0.15) : 0);
  const ofPrecision = new Map(['fp8', 'fp16'].map((precision) => [precision, noise.precision * now.normal()]));
  return cells.flatMap((cell, place) => {
    const level = own.logBetween(0.2, 10);
    const sweepNoise = noise.sweep * Math.exp(noise.cells * own.normal());
    const runNoise = noise.run * Math.exp(noise.cells * own.normal());
    const common = machine + (ofPrecision.get(cell.precision) ?? 0) + sweepNoise * now.normal();
    const worse = (what: Affected): number =>
      disturbancesOf(simulated, what, cell, place, sweep).reduce((all, { percent }) => all * (1 + percent / 100), 1);
    return Array.from({ length: repeats }, () => {
      const ms = level * Math.exp(common + runNoise * now.normal()) * worse('time');
      const qps = (1000 / ms) * Math.exp((runNoise / 3) * now.normal()) * (2 - worse('throughput'));
      const p99Ms = ms * 1.05 * Math.exp(P99_NOISE * runNoise * now.normal()) * worse('p99');
      return { ms, qps, p99Ms };
    });
  });
}
