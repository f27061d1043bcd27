import type { Change, LabelledHistory } from './labelled.ts';
import { Random } from './random.ts';
import { type Scenario, SCENARIOS } from './scenarios.ts';
import { changesOf, levelAt } from './simulate-changes.ts';
import { noiseSeries } from './simulate-noise.ts';

const PER_SCENARIO = 8;

/**
 * Histories that no detector was tuned on, one set a seed: 24 scenarios of 8, a third of them without a change. 70 to 180
 * nights, .2 to 80 ms, .1 to 2 % of noise from night to night.
 */
export function simulateHistories(seed: number): LabelledHistory[] {
  return SCENARIOS.flatMap((scenario, kind) =>
    Array.from({ length: PER_SCENARIO }, (_, copy) => {
      const number = kind * PER_SCENARIO + copy;
      const id = `s${seed}-${String(number + 1).padStart(4, '0')}`;
      return simulateHistory(id, scenario, new Random(seed * 1000 + number));
    }),
  );
}

function simulateHistory(id: string, scenario: Scenario, random: Random): LabelledHistory {
  const nights = random.integer(70, 180);
  const baseMs = random.logBetween(0.2, 80);
  const sigma = random.logBetween(0.001, 0.02);
  const changes = changesOf(scenario, nights, sigma, random);
  const { noise, slow } = noiseSeries(scenario, nights, sigma, random);
  const exactMs = noise.map((offset, night) => baseMs * Math.exp(levelAt(changes, night) + offset));
  const stepMs = scenario.isQuantised ? quantum(baseMs * sigma, random) : baseMs * 1e-5;
  const missing = scenario.missing === null ? 0 : random.between(...scenario.missing);
  const isThere = exactMs.map(() => !random.chance(missing));
  const knowsClock = random.chance(0.6);
  const spread = random.between(1.5, 4) * sigma;
  const queries = random.integer(600, 2700);
  const known = <Value>(values: readonly Value[]): (Value | null)[] =>
    values.map((value, night) => (isThere[night] === true ? value : null));
  return {
    id,
    scenario: scenario.name,
    values: known(exactMs.map((value) => Number((Math.round(value / stepMs) * stepMs).toFixed(7)))),
    spread: known(exactMs.map(() => spread * Math.exp(0.15 * random.normal()))),
    count: known(exactMs.map(() => queries)),
    clock: known(slow.map((factor) => (knowsClock ? Math.round(1980 / factor) : null))),
    changes: changes.map((change): Change => ({ ...change, snr: Math.abs(Math.log1p(change.rel)) / sigma })),
  };
}

/** A step of a coarse timer: the power of ten, or two or five of it, below about a sigma. */
function quantum(sigmaMs: number, random: Random): number {
  const most = sigmaMs * random.between(0.5, 1.2);
  const power = 10 ** Math.floor(Math.log10(most));
  return [5, 2, 1].map((digit) => digit * power).find((step) => step <= most) ?? power;
}
