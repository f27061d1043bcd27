import type { Change, LabelledHistory } from './labelled.ts';
import { Random } from './random.ts';

/** What moves nights without being a change of level. */
const DISTURBANCES = ['tail', 'outliers', 'bimodal', 'drift', 'quantised', 'variance', 'missing'] as const;

/** One kind of simulated history. */
interface Scenario {
  readonly name: string;
  /** How its level changes. */
  readonly shape: 'none' | 'one' | 'down' | 'many' | 'revert' | 'late' | 'ramp' | 'step-then-ramp';
  /** Size of a step over the noise of one night, from and to; 1.5 to 20 when it is not given. */
  readonly snr?: readonly [number, number];
  readonly disturbance?: (typeof DISTURBANCES)[number];
}

/** 24 of them, 8 without a change. */
const SCENARIOS: readonly Scenario[] = [
  { name: 'null-quiet', shape: 'none' },
  ...DISTURBANCES.map((disturbance): Scenario => ({ name: `null-${disturbance}`, shape: 'none', disturbance })),
  { name: 'step-small', shape: 'one', snr: [1.5, 4] },
  { name: 'step-mid', shape: 'one', snr: [4, 8] },
  { name: 'step-large', shape: 'one', snr: [8, 40] },
  { name: 'step-down', shape: 'down' },
  { name: 'step-many', shape: 'many' },
  { name: 'step-revert', shape: 'revert' },
  { name: 'step-late', shape: 'late', snr: [3, 20] },
  { name: 'ramp', shape: 'ramp' },
  { name: 'step-then-ramp', shape: 'step-then-ramp' },
  ...DISTURBANCES.map((disturbance): Scenario => ({ name: `step-${disturbance}`, shape: 'one', disturbance })),
];

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
  const stepMs = scenario.disturbance === 'quantised' ? quantum(baseMs * sigma, random) : baseMs * 1e-5;
  const missing = scenario.disturbance === 'missing' ? random.between(0.05, 0.15) : 0;
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
  return [5, 2, 1].map((digit) => digit * power).find((one) => one <= most) ?? power;
}

type PlainChange = Omit<Change, 'snr'>;

/** Steps are at least and at most so large, relative. */
const STEP = { least: 0.005, most: 0.2 } as const;
/** No change lies nearer to the beginning of a history, or to its end unless it is a late one. */
const EDGE_NIGHTS = 20;

/** The true changes of a history: where they lie and how large they are. Most are for the worse. */
function changesOf({ shape, snr = [1.5, 20] }: Scenario, nights: number, sigma: number, random: Random): PlainChange[] {
  const last = nights - EDGE_NIGHTS;
  const anywhere = (from = EDGE_NIGHTS, to = last): number => random.integer(from, to);
  const signed = (size: number): number => (random.chance(0.7) ? size : 1 / (1 + size) - 1);
  const size = (): number =>
    Math.min(STEP.most, Math.max(Math.expm1(random.logBetween(...snr) * sigma), STEP.least, 1.5 * sigma));
  // 3 to 12 % over 12 to 40 nights; it ends inside the history.
  const ramp = (index: number): PlainChange => {
    const length = Math.min(random.integer(12, 40), nights - index - 6);
    return { index, end: index + length - 1, kind: 'ramp', rel: signed(random.between(0.03, 0.12)) };
  };
  switch (shape) {
    case 'none':
      return [];
    case 'one':
      return [stepAt(anywhere(), signed(size()))];
    case 'down':
      return [stepAt(anywhere(), -size())];
    case 'late':
      return [stepAt(nights - random.integer(4, 9), signed(size()))];
    case 'revert': {
      const rel = signed(size());
      const from = anywhere(EDGE_NIGHTS, last - 10);
      return [stepAt(from, rel), stepAt(from + random.integer(6, 20), 1 / (1 + rel) - 1)];
    }
    case 'many': {
      const count = random.integer(2, 3);
      const room = (nights - 2 * EDGE_NIGHTS) / count;
      const places = Array.from({ length: count }, (_, number) =>
        Math.round(EDGE_NIGHTS + room * (number + random.between(0.1, 0.7))),
      );
      return places.map((place) => stepAt(place, signed(size())));
    }
    case 'ramp':
      return [ramp(anywhere(EDGE_NIGHTS, last - 20))];
    case 'step-then-ramp': {
      const half = nights >> 1;
      const place = anywhere(EDGE_NIGHTS, half - 5);
      return [stepAt(place, signed(size())), ramp(anywhere(place + 15, half + 12))];
    }
  }
}

function stepAt(index: number, rel: number): PlainChange {
  return { index, end: index, kind: 'step', rel };
}

/** The level of a night, as a logarithm over the first one. A ramp rises evenly. */
function levelAt(changes: readonly PlainChange[], night: number): number {
  return changes.reduce((level, { index, end, rel }) => {
    const share = (night - index + 1) / (end - index + 1);
    return level + Math.log1p(rel) * Math.min(1, Math.max(0, share));
  }, 0);
}

/**
 * Everything that moves a night without being a change of level: what each night is off by, in logarithms, and by which
 * factor its clock made it slower, 1 in the usual state.
 */
function noiseSeries({ disturbance }: Scenario, nights: number, sigma: number, random: Random) {
  const perNight = (of: (night: number) => number): number[] => Array.from({ length: nights }, (_, night) => of(night));
  // Two to four times as large, or as small, from one night on.
  const factors = (): ((night: number) => number) => {
    const from = random.integer(Math.round(nights * 0.25), Math.round(nights * 0.75));
    const factor = random.between(2, 4);
    const isLater = random.chance(0.5);
    return (night) => (night >= from === isLater ? factor : 1);
  };
  const factorAt = disturbance === 'variance' ? factors() : () => 1;
  // Normal, and to some degree like the night before: AR(1) with rho up to .3.
  const rho = random.between(0, 0.3);
  const fresh = Math.sqrt(1 - rho * rho);
  let state = random.normal();
  const core = perNight((night) => {
    state = rho * state + fresh * random.normal();
    return sigma * state * factorAt(night);
  });
  const slow = disturbance === 'bimodal' ? slowStates(perNight, random) : perNight(() => 1);
  const parts = [core, slow.map(Math.log)];
  if (disturbance === 'tail' || random.chance(0.3)) {
    const share = random.between(0.02, 0.1);
    parts.push(perNight(() => (random.chance(share) ? 2.5 * sigma * random.exponential() : 0)));
  }
  if (disturbance === 'outliers') parts.push(outliers(nights, random));
  if (disturbance === 'drift') parts.push(drift(perNight, sigma, random));
  return { noise: perNight((night) => parts.reduce((sum, part) => sum + (part[night] ?? 0), 0)), slow };
}

type PerNight = (of: (night: number) => number) => number[];

/** A slower clock now and then: entered on 5 to 15 % of nights, kept with a chance of 50 to 85 %. */
function slowStates(perNight: PerNight, random: Random): number[] {
  const factor = 1 + random.between(0.02, 0.06);
  const enter = random.between(0.05, 0.15);
  const stay = random.between(0.5, 0.85);
  let isSlow = false;
  return perNight(() => {
    isSlow = random.chance(isSlow ? stay : enter);
    return isSlow ? factor : 1;
  });
}

/** Nights that are 6 to 40 % too slow, a quarter of them in twos. */
function outliers(nights: number, random: Random): number[] {
  const share = random.between(0.01, 0.04);
  const offsets = Array.from({ length: nights }, () => 0);
  for (let night = 0; night < nights; night += 1) {
    if (!random.chance(share)) continue;
    const offset = Math.log1p(random.between(0.06, 0.4));
    offsets[night] = offset;
    if (random.chance(0.25) && night + 1 < nights) offsets[night + 1] = offset;
  }
  return offsets;
}

/** A slow wave and a walk that is drawn back: what temperature and neighbours do. */
function drift(perNight: PerNight, sigma: number, random: Random): number[] {
  const amplitude = random.between(0.5, 1.25) * sigma;
  const period = random.between(20, 60);
  const phase = random.between(0, 2 * Math.PI);
  let walk = 0;
  return perNight((night) => {
    walk = 0.9 * walk + 0.15 * sigma * random.normal();
    return amplitude * Math.sin(phase + (2 * Math.PI * night) / period) + walk;
  });
}
