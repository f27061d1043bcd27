import { RULES } from './settings.ts';

interface KnownLevel {
  log: number;
  visits: number;
  /** How often it was reported that the cell went there. */
  reports: number;
  /** Sweeps of its longest visit. */
  longest: number;
}

/** The levels that a cell was at: one reported twice is known, and reported again only when a visit lasts longer than any before. */
export class KnownLevels {
  readonly #levels: KnownLevel[] = [];
  /** Tells that a level or excursions have before they are known. */
  readonly #allowed: number;
  /** Far sweeps that came back, and the largest change of them, downward and upward. */
  readonly #largest = [0, 0];
  readonly #counts = [0, 0];

  constructor(allowed: number) {
    this.#allowed = allowed;
  }

  get excursions(): number {
    return (this.#counts[0] ?? 0) + (this.#counts[1] ?? 0);
  }

  /** The cell was off by so much and came back. */
  addExcursion(off: number): void {
    const side = off > 0 ? 1 : 0;
    this.#counts[side] = (this.#counts[side] ?? 0) + 1;
    this.#largest[side] = Math.max(this.#largest[side] ?? 0, Math.abs(off));
  }

  #near(log: number, tolerance: number): KnownLevel | undefined {
    return this.#levels.find((level) => Math.abs(level.log - log) <= tolerance);
  }

  /** Remembers that the cell went to a level, or ends a visit of this many sweeps. */
  visit(log: number, tolerance: number, visit: { readonly reported: boolean; readonly sweeps: number }): void {
    let level = this.#near(log, tolerance);
    if (level === undefined) this.#levels.push((level = { log, visits: 0, reports: 0, longest: 0 }));
    if (visit.reported) level.reports += 1;
    if (visit.sweeps > 0) {
      level.visits += 1;
      level.longest = Math.max(level.longest, visit.sweeps);
      level.log += (log - level.log) / level.visits;
    }
  }

  /** Sweeps running that the cell has to be at this level, off its own by so much, before it is reported. */
  sweepsToReport(log: number, tolerance: number, off = 0): number {
    const side = off > 0 ? 1 : 0;
    const isRestless = off !== 0 && (this.#counts[side] ?? 0) >= this.#allowed;
    const isUsual = isRestless && Math.abs(off) < RULES.knownSize * (this.#largest[side] ?? 0);
    const level = this.#near(log, tolerance);
    const isKnown = level !== undefined && level.reports >= this.#allowed;
    return isKnown ? Math.max(RULES.knownRun, 2 * level.longest + 1) : isUsual ? RULES.knownRun : 1;
  }

  /** Whether the cell was at this level for long enough to come back to it. */
  hasLasted(log: number, tolerance: number): boolean {
    return (this.#near(log, tolerance)?.longest ?? 0) >= RULES.lastingSweeps;
  }

  /** The level reported twice that is not the one at `log`. */
  second(log: number, tolerance: number): number | null {
    return (
      this.#levels.find(
        (level) => level.reports >= this.#allowed && level.visits > 1 && Math.abs(level.log - log) > tolerance,
      )?.log ?? null
    );
  }
}
