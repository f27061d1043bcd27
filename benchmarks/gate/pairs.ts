import { readdirSync } from 'node:fs';
import { join } from 'node:path';

import { judgePairs, pairsNeeded, runSigmas } from '../../src/judge/gate/judge-pairs.ts';
import { chooseSuspects, confirmBudgetS } from '../../src/features/run/suspects/last-good-engine.ts';
import type { Candidate } from '../../src/judge/gate/evidence.ts';
import { median } from '../../src/statistics/order-statistics.ts';
import { Random } from '../detection/random.ts';
import { ROOT } from '../processes.ts';
import { readRecorded } from '../recordings.ts';
import type { Row } from '../row.ts';
import { sized } from '../size.ts';
import { share } from './figures.ts';

const CELLS = 40;
const RUNS = 5;
const PAST = 24;
const WARM_UPS = 2;
/** Shares of the cells. Two states: a tenth to half of the runs 1 to 5 % slower. Drift: a wave of the clock during a sweep. */
const TWO_STATES = 0.05;
const DRIFTING = 0.05;

function timeOf(sweep: number, name: string): number {
  const log = readRecorded('recordings', `night${sweep}`, `nights_${sweep}_${name}`, 'stdout.log.br').toString();
  return Number(/GPU Compute Time: .*median = ([\d.]+) ms/.exec(log)?.[1]);
}

/** Scatter of recorded cells: GPU compute time of two recorded sweeps of the same engines, one run each. */
function recordedDeviations(): number[] {
  const names = readdirSync(join(ROOT, 'recordings', 'night1')).flatMap(
    (name) => /^nights_1_(.+)$/.exec(name)?.[1] ?? [],
  );
  return names.map((name) => Math.abs(Math.log(timeOf(1, name) / timeOf(2, name))) / Math.SQRT2 / 0.6745);
}

interface CellNoise {
  readonly run: number;
  readonly sweep: number;
  readonly state: { readonly share: number; readonly size: number } | null;
  readonly wave: number;
}

/** What becomes of one cell in one sweep: its five runs, and then its pairs; values are logs. */
class Measured {
  private readonly random: Random;
  private readonly noise: CellNoise;
  private readonly level: (at: number) => number;
  private readonly size: () => number;

  /** Disturbances and their rates as in the simulation that the rule was chosen with. */
  constructor(random: Random, noise: CellNoise, isDisturbed: boolean) {
    this.random = random;
    this.noise = noise;
    this.size = () => random.logBetween(0.03, 0.3);
    const machine = noise.sweep * random.normal();
    const whole = isDisturbed && random.chance(0.01) ? this.size() : 0;
    const own = isDisturbed && random.chance(0.005) ? this.size() : 0;
    const from = random.integer(0, 14);
    const until = isDisturbed && random.chance(0.03) ? from + random.integer(1, 6) : from;
    const part = this.size();
    const phase = random.between(0, 2 * Math.PI);
    this.level = (at) =>
      machine +
      whole +
      own +
      (at >= from && at < until ? part : 0) +
      noise.wave * Math.sin(phase + (2 * Math.PI * at) / 15);
  }

  /** @param at place of the run within sweep and pairs, from 0 */
  run(at: number, isDisturbed: boolean): number {
    const { random, noise } = this;
    const state = noise.state !== null && random.chance(noise.state.share) ? noise.state.size : 0;
    const alone = isDisturbed && random.chance(0.03) ? this.size() : 0;
    return this.level(at) + state + alone + noise.run * random.normal();
  }
}

interface SimulatedCell {
  readonly noise: CellNoise;
  readonly past: readonly (readonly number[])[];
}

function simulatedCell(random: Random, deviations: readonly number[]): SimulatedCell {
  const typical = deviations[random.integer(0, deviations.length - 1)] ?? 0.002;
  const deviation = Math.min(0.005, Math.max(0.0005, typical));
  const kind = random.next();
  const noise: CellNoise = {
    run: deviation,
    sweep: deviation * random.between(0.5, 1),
    state: kind < TWO_STATES ? { share: random.between(0.1, 0.5), size: random.between(0.01, 0.05) } : null,
    wave: kind >= TWO_STATES && kind < TWO_STATES + DRIFTING ? random.between(0.004, 0.015) : 0,
  };
  const past = Array.from({ length: PAST }, () => {
    const sweep = new Measured(random, noise, true);
    return Array.from({ length: RUNS }, (_, at) => Math.exp(sweep.run(at, true)));
  });
  return { noise, past };
}

interface Outcome {
  readonly isSuspect: boolean;
  readonly isConfirmed: boolean;
}

/** A sweep of a matrix; one cell has an engine that is slower by `step`. */
function simulateSweep(random: Random, cells: readonly SimulatedCell[], changed: number, step: number): Outcome[] {
  const sigmaOf = runSigmas(new Map(cells.map(({ past }, place) => [String(place), past])));
  const newest = cells.map(({ noise }, place) => {
    const measured = new Measured(random, noise, true);
    const shift = place === changed ? Math.log1p(step) : 0;
    return {
      measured,
      shift,
      now: median(Array.from({ length: RUNS }, (_, at) => measured.run(at, true) + shift)) ?? 0,
    };
  });
  const candidates = newest.flatMap(({ now }, place): Candidate[] => {
    const levels = (cells[place]?.past ?? []).map((values) => Math.log(median(values) ?? 1));
    const level = median(levels) ?? 0;
    const deviation = Math.max(0.001, 1.4826 * (median(levels.map((one) => Math.abs(one - level))) ?? 0));
    const deviations = (now - level) / deviation;
    const isOff = deviations >= 3 && now - level >= 0.003;
    const about = { group: [], metric: 'gpuComputeMs', lastGoodSweepId: null, isUnsteady: false } as const;
    return isOff ? [{ ...about, cellKeys: [String(place)], changePercent: 100 * Math.expm1(now), deviations }] : [];
  });
  const inOrder = candidates.toSorted((a, b) => b.deviations - a.deviations);
  // Every run takes a second.
  const { chosen } = chooseSuspects(inOrder, new Set(), confirmBudgetS(null, CELLS * RUNS), () => 1);
  const measured = new Map(chosen.map(({ cellKey }) => [cellKey, isConfirmed(cellKey)]));
  return newest.map((_, place) => ({
    isSuspect: inOrder.some(({ cellKeys }) => cellKeys.includes(String(place))),
    isConfirmed: measured.get(String(place)) === true,
  }));

  function isConfirmed(cellKey: string): boolean {
    const place = Number(cellKey);
    const entry = newest[place];
    if (entry === undefined) return false;
    const values = Array.from({ length: pairsNeeded({ isUnsteady: false }).count }, (__, pair) => {
      const at = RUNS + WARM_UPS + 2 * pair;
      const [first, second] = [entry.measured.run(at, true), entry.measured.run(at + 1, true)];
      const [own, good] = pair % 2 === 0 ? [first, second] : [second, first];
      return { newest: Math.exp(own + entry.shift), lastGood: Math.exp(good) };
    });
    const about = { isUnsteady: false, isSameSources: false, minChangePercent: 0 };
    const levels = { before: 1, now: Math.exp(entry.now) };
    return judgePairs({ cellKey, pairs: values, sigma: sigmaOf(cellKey), ...levels, ...about }).outcome === 'confirmed';
  }
}

/** One state, a steady clock, and runs that scatter by less than .4 %. */
function isCalm(cell: SimulatedCell | undefined): boolean {
  return cell !== undefined && cell.noise.state === null && cell.noise.wave === 0 && cell.noise.run < 0.004;
}

const MATRICES = sized(250, 2);
const SWEEPS = sized(20, 2);
const SEED = 17;

/** Pairs with the last good engine, their noise estimated from the sweeps before, within the default budget. */
export async function pairs(): Promise<Row[]> {
  const deviations = recordedDeviations();
  const rows: Row[] = [];
  for (const [step, target] of [
    [0, { atMost: 0.005 }],
    [0.01, null],
    [0.02, { atLeast: 97 }],
    [0.03, { atLeast: 97 }],
    [0.05, { atLeast: 97 }],
  ] as const) {
    const random = new Random(SEED + 1000 * step);
    let [falsely, quiet] = [0, 0];
    const all = { found: 0, of: 0 };
    const calm = { found: 0, of: 0 };
    for (let matrix = 0; matrix < MATRICES; matrix += 1) {
      const cells = Array.from({ length: CELLS }, () => simulatedCell(random, deviations));
      for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
        const changed = step === 0 ? -1 : random.integer(0, CELLS - 1);
        for (const [place, { isConfirmed }] of simulateSweep(random, cells, changed, step).entries()) {
          if (place === changed) {
            for (const tally of isCalm(cells[place]) ? [all, calm] : [all]) {
              tally.of += 1;
              tally.found += Number(isConfirmed);
            }
          } else {
            quiet += 1;
            falsely += Number(isConfirmed);
          }
        }
      }
    }
    const against = `${CELLS} cells, recorded scatter, ${MATRICES} matrices of ${SWEEPS} sweeps, seed ${SEED}`;
    if (step === 0) {
      rows.push(share({ what: 'pairs, no change: confirmed cells', against, count: falsely, of: quiet, target }));
      continue;
    }
    const what = `pairs, ${100 * step} % slower: confirmed at once`;
    rows.push(
      share({ what, against, count: all.found, of: all.of, target: null }),
      share({ what: `${what}, calm cells`, against, count: calm.found, of: calm.of, target }),
    );
  }
  return rows;
}
