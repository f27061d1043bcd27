import type { Random } from './random.ts';
import type { Scenario } from './scenarios.ts';

export interface NoiseSeries {
  /** What each night is off by, in logarithms. */
  readonly noise: readonly number[];
  /** By which factor the clock of each night made it slower: 1 in the usual state. */
  readonly slow: readonly number[];
}

/** Everything that moves a night without being a change of level. */
export function noiseSeries(scenario: Scenario, nights: number, sigma: number, random: Random): NoiseSeries {
  const scale = sigmaFactors(scenario, nights, random);
  const core = coreNoise(nights, sigma, random).map((value, night) => value * (scale[night] ?? 1));
  const slow = slowStates(scenario, nights, random);
  const parts = [
    core,
    slow.map(Math.log),
    tail(scenario, nights, sigma, random),
    outliers(scenario, nights, random),
    drift(scenario, nights, sigma, random),
  ];
  const noise = core.map((_, night) => parts.reduce((sum, part) => sum + (part[night] ?? 0), 0));
  return { noise, slow };
}

/** Normal, and to some degree like the night before: AR(1) with rho up to .3. */
function coreNoise(nights: number, sigma: number, random: Random): number[] {
  const rho = random.between(0, 0.3);
  const fresh = Math.sqrt(1 - rho * rho);
  let state = random.normal();
  return Array.from({ length: nights }, () => {
    state = rho * state + fresh * random.normal();
    return sigma * state;
  });
}

/** Noise that becomes two to four times as large, or as small, from one night on. */
function sigmaFactors({ variesInNoise }: Scenario, nights: number, random: Random): number[] {
  if (!variesInNoise) return [];
  const from = random.integer(Math.round(nights * 0.25), Math.round(nights * 0.75));
  const factor = random.between(2, 4);
  const isLater = random.chance(0.5);
  return Array.from({ length: nights }, (_, night) => (night >= from === isLater ? factor : 1));
}

/** A slower clock now and then: entered on 5 to 15 % of nights, kept with a chance of 50 to 85 %. */
function slowStates({ isBimodal }: Scenario, nights: number, random: Random): number[] {
  if (!isBimodal) return Array.from({ length: nights }, () => 1);
  const factor = 1 + random.between(0.02, 0.06);
  const enter = random.between(0.05, 0.15);
  const stay = random.between(0.5, 0.85);
  let isSlow = false;
  return Array.from({ length: nights }, () => {
    isSlow = random.chance(isSlow ? stay : enter);
    return isSlow ? factor : 1;
  });
}

function tail({ hasTail }: Scenario, nights: number, sigma: number, random: Random): number[] {
  if (!hasTail && !random.chance(0.3)) return [];
  const share = random.between(0.02, 0.1);
  return Array.from({ length: nights }, () => (random.chance(share) ? 2.5 * sigma * random.exponential() : 0));
}

/** Nights that are 6 to 40 % too slow, a quarter of them in twos. */
function outliers({ hasOutliers }: Scenario, nights: number, random: Random): number[] {
  if (!hasOutliers) return [];
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
function drift({ drifts }: Scenario, nights: number, sigma: number, random: Random): number[] {
  if (!drifts) return [];
  const amplitude = random.between(0.5, 1.25) * sigma;
  const period = random.between(20, 60);
  const phase = random.between(0, 2 * Math.PI);
  let walk = 0;
  return Array.from({ length: nights }, (_, night) => {
    walk = 0.9 * walk + 0.15 * sigma * random.normal();
    return amplitude * Math.sin(phase + (2 * Math.PI * night) / period) + walk;
  });
}
