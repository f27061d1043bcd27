import { TONIGHT } from './settings.ts';

interface KnownLevel {
  log: number;
  visits: number;
  /** How often it was told that the cell went there. */
  tells: number;
  /** Sweeps of its longest visit. */
  longest: number;
}

/** The levels that a cell was at: one told twice is known, and told again only when a visit lasts longer than any before. */
export class KnownLevels {
  readonly #levels: KnownLevel[] = [];

  #near(log: number, tolerance: number): KnownLevel | undefined {
    return this.#levels.find((level) => Math.abs(level.log - log) <= tolerance);
  }

  /** Remembers that the cell went to a level, or ends a visit of so many sweeps. */
  visit(log: number, tolerance: number, visit: { readonly told: boolean; readonly sweeps: number }): void {
    let level = this.#near(log, tolerance);
    if (level === undefined) this.#levels.push((level = { log, visits: 0, tells: 0, longest: 0 }));
    if (visit.told) level.tells += 1;
    if (visit.sweeps > 0) {
      level.visits += 1;
      level.longest = Math.max(level.longest, visit.sweeps);
      level.log += (log - level.log) / level.visits;
    }
  }

  /** Sweeps running that the cell has to be at this level before it is told. */
  sweepsToTell(log: number, tolerance: number): number {
    const level = this.#near(log, tolerance);
    if (level === undefined || level.tells < TONIGHT.tellsOfLevel) return 1;
    return Math.max(TONIGHT.knownRun, 2 * level.longest + 1);
  }

  /** The level told twice that is not the one at `log`. */
  second(log: number, tolerance: number): number | null {
    return (
      this.#levels.find((level) => level.tells >= TONIGHT.tellsOfLevel && Math.abs(level.log - log) > tolerance)?.log ??
      null
    );
  }
}
