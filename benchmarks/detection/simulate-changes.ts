import type { Change } from './labelled.ts';
import type { Random } from './random.ts';
import type { Scenario } from './scenarios.ts';

type PlainChange = Omit<Change, 'snr'>;

/** Steps are at least and at most so large, relative. */
const STEP = { least: 0.005, most: 0.2 } as const;
/** No change lies nearer to the beginning of a history, or to its end unless it is a late one. */
const EDGE_NIGHTS = 20;

/** The true changes of a history: where they lie and how large they are. */
export function changesOf(scenario: Scenario, nights: number, sigma: number, random: Random): PlainChange[] {
  const last = nights - EDGE_NIGHTS;
  const anywhere = (from = EDGE_NIGHTS, to = last): number => random.integer(from, to);
  const size = (): number => stepSize(scenario, sigma, random);
  switch (scenario.shape) {
    case 'none':
      return [];
    case 'one':
      return [step(anywhere(), signed(size(), random))];
    case 'down':
      return [step(anywhere(), -size())];
    case 'late':
      return [step(nights - random.integer(4, 9), signed(size(), random))];
    case 'revert': {
      const rel = signed(size(), random);
      const from = anywhere(EDGE_NIGHTS, last - 10);
      return [step(from, rel), step(from + random.integer(6, 20), 1 / (1 + rel) - 1)];
    }
    case 'many':
      return placesApart(random.integer(2, 3), nights, random).map((place) => step(place, signed(size(), random)));
    case 'ramp':
      return [ramp(anywhere(EDGE_NIGHTS, last - 20), nights, random)];
    case 'step-then-ramp': {
      const half = nights >> 1;
      const place = anywhere(EDGE_NIGHTS, half - 5);
      return [step(place, signed(size(), random)), ramp(anywhere(place + 15, half + 12), nights, random)];
    }
  }
}

/** The level of a night, as a logarithm over the first one. A ramp rises evenly. */
export function levelAt(changes: readonly PlainChange[], night: number): number {
  return changes.reduce((level, { index, end, rel }) => {
    const share = (night - index + 1) / (end - index + 1);
    return level + Math.log1p(rel) * Math.min(1, Math.max(0, share));
  }, 0);
}

function step(index: number, rel: number): PlainChange {
  return { index, end: index, kind: 'step', rel };
}

/** 3 to 12 % over 12 to 40 nights, mostly upwards; it ends inside the history. */
function ramp(index: number, nights: number, random: Random): PlainChange {
  const length = Math.min(random.integer(12, 40), nights - index - 6);
  const rel = signed(random.between(0.03, 0.12), random);
  return { index, end: index + length - 1, kind: 'ramp', rel };
}

function stepSize({ snr }: Scenario, sigma: number, random: Random): number {
  const wanted = Math.expm1(random.logBetween(...snr) * sigma);
  return Math.min(STEP.most, Math.max(wanted, STEP.least, 1.5 * sigma));
}

/** Most changes are for the worse. */
function signed(size: number, random: Random): number {
  return random.chance(0.7) ? size : 1 / (1 + size) - 1;
}

function placesApart(count: number, nights: number, random: Random): number[] {
  const room = (nights - 2 * EDGE_NIGHTS) / count;
  return Array.from({ length: count }, (_, number) =>
    Math.round(EDGE_NIGHTS + room * (number + random.between(0.1, 0.7))),
  );
}
