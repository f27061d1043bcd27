import type { CellJudgement, CellSweep, Reported } from './judgement.ts';
import type { JudgedCell } from './judged-cell.ts';
import { Level } from './level.ts';
import { RULES } from './settings.ts';

/** What was last accepted of a cell, and what the cell is against it. It moves up only when people say so. */
export class CellReference {
  readonly #cell: JudgedCell;
  #level: Level;
  /** Something was reported since the cell was at its reference; the first sweep of that level. */
  #isOpen = false;
  #since = 0;

  constructor(cell: JudgedCell) {
    this.#cell = cell;
    this.#level = cell.home;
  }

  /** The level until now may stay. */
  accept(): void {
    this.#move(this.#cell.recent);
  }

  /** The runs of a baseline are the reference of the sweep at this place. */
  replace(runs: readonly number[], place: number): void {
    const cell = this.#cell;
    this.#level = new Level(place, runs.reduce((sum, value) => sum + Math.log(value), 0) / runs.length);
    this.#since = cell.home.first;
    this.#isOpen = cell.pending !== null || !this.#isNear(cell.home);
    if (!this.#isOpen) this.#level.follow(cell.home);
  }

  /** After the sweep: reported opens; a level back at the reference is the reference; a faster one that lasts becomes it. */
  update(reported: Reported | null): void {
    const cell = this.#cell;
    if (reported !== null && !this.#isOpen) this.#since = reported.first;
    if (reported !== null) this.#isOpen = true;
    if (cell.home === this.#level && cell.pending === null) this.#isOpen = false;
    if (!this.#isOpen) return;
    const { recent } = cell;
    const isFaster = recent.mean < this.#level.referenceMean && !this.#isNear(recent);
    const isLasting =
      recent.count >= RULES.fasterSweeps && cell.known.sweepsToReport(recent.mean, cell.tolerance) === 1;
    if (isFaster && isLasting) this.#move(recent);
    else if (cell.pending === null && cell.held === null && this.#isNear(cell.home)) {
      this.#level.follow(cell.home);
      cell.home = this.#level;
      this.#isOpen = false;
    }
  }

  /** @param isApart the sweep is no part of a level, and slower or faster by itself */
  judgement(sweep: CellSweep, reported: Reported | null, isApart = false): CellJudgement {
    const cell = this.#cell;
    const { recent, held } = cell;
    const reference = this.#referenceBefore(sweep.place);
    const isNewest = recent === this.#level || reported !== null || held !== null;
    const isOfSweep = isNewest && (reported === null || reported.first === sweep.place);
    const log = (isOfSweep ? sweep.log : recent.mean) - reference.log;
    const [sweeps, extra] = isNewest ? [1, sweep.night.variance + sweep.extra] : [recent.count, 0];
    const change = cell.change(log, 1 / sweeps + 1 / reference.sweeps, extra, sweeps);
    const second = cell.known.second(recent.mean, cell.tolerance);
    return {
      // A cell that is reported with its group may be less sure by itself; a step back to the reference is none from it.
      verdict:
        reported !== null && (isApart || log / reported.change.log > 0.5)
          ? reported.direction
          : this.#verdict(change, isNewest && reported === null, sweep, reference.sweeps),
      reference,
      since: this.#isOpen ? this.#since : sweep.place,
      change,
      reported,
      detectable: cell.detectable(sweep),
      levels: second === null ? null : [Math.min(second, recent.mean), Math.max(second, recent.mean)],
      isOnlyRunFarOff: cell.isOnlyRunFarOff,
    };
  }

  #verdict(
    { log, error, reach }: CellJudgement['change'],
    isNewest: boolean,
    { extra, night }: CellSweep,
    sweeps: number,
  ): CellJudgement['verdict'] {
    const cell = this.#cell;
    if (cell.isOnlyRunFarOff) return 'unclear';
    if (cell.held !== null && cell.known.sweepsToReport(cell.held.mean, cell.tolerance) > 1) return 'same';
    const isOff = Math.abs(log) > Math.max(RULES.openErrors * error, reach);
    if (this.#isOpen && isOff) return log > 0 ? 'slower' : 'faster';
    if (!isNewest || Math.abs(log) < reach) return 'same';
    return cell.noise.tail(log, 1 + 1 / sweeps, night.variance + extra) < RULES.unclearP ? 'unclear' : 'same';
  }

  #move(level: Level): void {
    this.#level = level;
    this.#isOpen = false;
    if (level === this.#cell.pending) this.#cell.adopt();
  }

  #isNear(level: Level): boolean {
    const scale = 1 / level.count + 1 / Math.min(this.#level.count, RULES.referenceSweeps);
    return Math.abs(level.mean - this.#level.referenceMean) < RULES.openErrors * this.#cell.noise.sd * Math.sqrt(scale);
  }

  /** Without the sweep that is judged against it. */
  #referenceBefore(place: number): CellJudgement['reference'] {
    const { count, referenceMean } = this.#level;
    const isPart = count > 1 && count <= RULES.referenceSweeps && this.#level.placeAt(1) === place;
    return isPart
      ? { log: this.#level.meanBefore(1), sweeps: count - 1 }
      : { log: referenceMean, sweeps: Math.min(count, RULES.referenceSweeps) };
  }
}
