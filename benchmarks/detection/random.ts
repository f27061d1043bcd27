import { seededRandom } from '../../src/matrix/plan/order.ts';

/** Random numbers that repeat, one generator a seed. */
export class Random {
  /** In [0, 1). */
  readonly next: () => number;

  /** @param seed an integer; only its lowest 32 bits count */
  constructor(seed: number) {
    this.next = seededRandom(seed);
  }

  between(low: number, high: number): number {
    return low + (high - low) * this.next();
  }

  /** Evenly spread in logarithms: as many between 1 and 2 as between 2 and 4. */
  logBetween(low: number, high: number): number {
    return Math.exp(this.between(Math.log(low), Math.log(high)));
  }

  /** Both ends belong to it. */
  integer(low: number, high: number): number {
    return Math.floor(this.between(low, high + 1));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  /** Standard normal, by Box and Muller (the cosine half). */
  normal(): number {
    const radius = Math.sqrt(-2 * Math.log(Math.max(1e-12, this.next())));
    return radius * Math.cos(2 * Math.PI * this.next());
  }

  /** With a mean of 1. */
  exponential(): number {
    return -Math.log(1 - this.next());
  }
}
