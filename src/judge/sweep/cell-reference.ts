import type { CellJudgement, CellSweep, Reported } from './sweep-effect.ts';
import type { JudgedCell } from './judged-cell.ts';
import { Level } from './level.ts';
import { RULES } from './settings.ts';

export class CellReference {
  readonly cell: JudgedCell;
  #level: Level;
  /** True if something was reported since the cell was at its reference; `#since` is the first sweep of that level. */
  #isOpen = false;
  #since = 0;

  constructor(cell: JudgedCell) {
    this.cell = cell;
    this.#level = cell.home;
  }

  accept(): void {
    this.#move(this.cell.recent);
  }

  /** Makes the runs of a baseline the reference of the sweep at this index. */
  replace(runs: readonly number[], place: number): void {
    const { home, pending } = this.cell;
    this.#level = new Level(place, runs.reduce((sum, value) => sum + Math.log(value), 0) / runs.length);
    this.#since = home.first;
    this.#isOpen = pending !== null || !this.#isNear(home);
    if (!this.#isOpen) this.#level.follow(home);
  }

  update(reported: Reported | null): void {
    const { cell } = this;
    if (reported !== null && !this.#isOpen) this.#since = reported.first;
    if (reported !== null) this.#isOpen = true;
    if (cell.home === this.#level && cell.pending === null) this.#isOpen = false;
    if (!this.#isOpen) return;
    const { recent } = cell;
    const isFaster = recent.mean < this.#level.referenceMean && !this.#isNear(recent);
    if (isFaster && recent.count >= RULES.fasterSweeps && cell.known.sweepsToReport(recent.mean) === 1)
      this.#move(recent);
    else if (cell.pending === null && cell.held === null && this.#isNear(cell.home)) {
      this.#level.follow(cell.home);
      cell.home = this.#level;
      this.#isOpen = false;
    }
  }

  /** @param isApart the sweep belongs to no level, and is slower or faster on its own */
  judgement(sweep: CellSweep, reported: Reported | null, isApart: boolean): CellJudgement {
    const { cell } = this;
    const { held, isOnlyRunFarOff, known, recent } = cell;
    const reference = this.#referenceBefore(sweep.place);
    const isNewest = recent === this.#level || reported !== null || held !== null;
    const isOfSweep = isNewest && (reported === null || reported.first === sweep.place);
    const log = (isOfSweep ? sweep.log : recent.mean) - reference.log;
    const extra = sweep.common.variance + sweep.extra;
    const change = isNewest
      ? cell.change(log, 1 + 1 / reference.sweeps, extra)
      : cell.change(log, 1 / recent.count + 1 / reference.sweeps, 0, recent.count);
    const isOff = Math.abs(log) > Math.max(RULES.openErrors * change.error, change.reach);
    const verdictOf = (): CellJudgement['verdict'] => {
      // A cell reported with its group may be less certain on its own. A step back to the reference is not a change
      // from it.
      if (reported !== null && (isApart || log / reported.change.log > 0.5)) return reported.direction;
      if (isOnlyRunFarOff) return 'unclear';
      if (held !== null && known.sweepsToReport(held.mean) > 1) return 'same';
      if (this.#isOpen && isOff) return log > 0 ? 'slower' : 'faster';
      if (!isNewest || reported !== null || Math.abs(log) < change.reach) return 'same';
      return Math.abs(log) > RULES.unclearShare * cell.detectable(sweep) ? 'unclear' : 'same';
    };
    const second = known.second(recent.mean);
    return {
      verdict: verdictOf(),
      reference,
      since: this.#isOpen ? this.#since : sweep.place,
      change,
      reported,
      detectable: cell.detectable(sweep),
      levels: second === null ? null : [Math.min(second, recent.mean), Math.max(second, recent.mean)],
      isOnlyRunFarOff,
    };
  }

  #move(level: Level): void {
    this.#level = level;
    this.#isOpen = false;
    if (level === this.cell.pending) this.cell.adopt();
  }

  #isNear(level: Level): boolean {
    const scale = 1 / level.count + 1 / Math.min(this.#level.count, RULES.referenceSweeps);
    return Math.abs(level.mean - this.#level.referenceMean) < RULES.openErrors * this.cell.noise.sd * Math.sqrt(scale);
  }

  #referenceBefore(place: number): CellJudgement['reference'] {
    const { count, referenceMean } = this.#level;
    const isPart = count > 1 && count <= RULES.referenceSweeps && this.#level.placeAt(1) === place;
    return isPart
      ? { log: this.#level.meanBefore(1), sweeps: count - 1 }
      : { log: referenceMean, sweeps: Math.min(count, RULES.referenceSweeps) };
  }
}
