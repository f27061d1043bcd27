import type { LabelledCell } from './labelled.ts';
import { Random } from './random.ts';

const MATRICES = 18;
const CELLS = 40;
const ITERATIONS = 50;
const PAST_NIGHTS = 24;

/**
 * Two commits over whole matrices, one set a seed: 18 matrices of 40 cells, every third one without any change. Runs
 * scatter by .1 to 1.5 %, iterations by .3 to 3 %, a fifth of the cells have two states.
 */
export function simulateMatrices(seed: number): LabelledCell[] {
  return Array.from({ length: MATRICES }, (_, number) =>
    simulateMatrix(`m${seed}-${number}`, number % 3 === 0, new Random(seed * 1000 + number)),
  ).flat();
}

function simulateMatrix(matrix: string, isQuiet: boolean, random: Random): LabelledCell[] {
  const runs = random.chance(0.6) ? 3 : random.integer(4, 5);
  /** What all cells of one session share: temperature, driver, neighbours. */
  const shift = 0.001 * random.normal();
  return Array.from({ length: CELLS }, (_, number) => {
    const cell = cellNature(random);
    const rel = !isQuiet && random.chance(0.2) ? changeOf(cell, random) : 0;
    const side = (level: number): number[][] => Array.from({ length: runs }, () => simulateRun(cell, level, random));
    const past = (): number[] => Array.from({ length: PAST_NIGHTS }, () => pastMedian(cell, random));
    return {
      matrix,
      cell: `${matrix}-c${number}`,
      a: side(0),
      b: side(Math.log1p(rel) + shift),
      past: random.chance(0.7) ? past() : null,
      rel,
    };
  });
}

interface CellNature {
  readonly baseMs: number;
  readonly runSigma: number;
  readonly iterationSigma: number;
  /** Where the second state strikes, if there is one; what it adds, in logarithms; and on which share. */
  readonly states: 'none' | 'iterations' | 'runs';
  readonly stateOffset: number;
  readonly stateShare: number;
}

function cellNature(random: Random): CellNature {
  const hasStates = random.chance(0.2);
  const states = random.chance(0.5) ? 'iterations' : 'runs';
  return {
    baseMs: random.logBetween(0.2, 80),
    runSigma: random.logBetween(0.001, 0.015),
    iterationSigma: random.logBetween(0.003, 0.03),
    states: hasStates ? states : 'none',
    stateOffset: random.between(0.01, 0.04),
    stateShare: random.between(0.15, 0.45),
  };
}

/** At least .8 %, and two sigma of a run; mostly for the worse. */
function changeOf({ runSigma }: CellNature, random: Random): number {
  const size = Math.max(random.logBetween(0.008, 0.2), 2 * runSigma);
  return random.chance(0.7) ? size : 1 / (1 + size) - 1;
}

function simulateRun(cell: CellNature, level: number, random: Random): number[] {
  const run = level + runOffset(cell, random);
  const warmUp = random.between(0, 0.03);
  const fade = random.between(2, 6);
  return Array.from({ length: ITERATIONS }, (_, iteration) => {
    const isSlow = cell.states === 'iterations' && random.chance(cell.stateShare);
    const offset = isSlow ? cell.stateOffset : 0;
    const noise = cell.iterationSigma * random.normal() + warmUp * Math.exp(-iteration / fade);
    return digits(cell.baseMs * Math.exp(run + offset + noise));
  });
}

function runOffset(cell: CellNature, random: Random): number {
  const isSlow = cell.states === 'runs' && random.chance(cell.stateShare);
  return cell.runSigma * random.normal() + (isSlow ? cell.stateOffset : 0);
}

/** The median of one run on an earlier night. */
function pastMedian(cell: CellNature, random: Random): number {
  const sorted = simulateRun(cell, 0, random).toSorted((one, other) => one - other);
  return sorted[sorted.length >> 1] ?? Number.NaN;
}

/** As a timer prints it. */
function digits(ms: number): number {
  return Number(ms.toPrecision(6));
}
