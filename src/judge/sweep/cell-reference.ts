import type { CellJudgement, Control, LevelEstimate, Reported } from './judgement.ts';
import type { CellSweep } from './cell-sweep.ts';
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

  /** What was said before this sweep. */
  obey({ accept, reference }: Control, place: number): void {
    if (accept === true) this.#move(this.#cell.recent);
    if (reference === undefined) return;
    const isRuns = 'runs' in reference;
    const log = isRuns ? meanOfLogs(reference.runs) : reference.log;
    this.#level = Level.of(place, log, isRuns ? 1 : reference.sweeps);
    this.#isOpen = true;
    this.#since = this.#cell.home.first;
    if (this.#cell.pending === null && this.#isNear(this.#cell.home)) {
      this.#level.follow(this.#cell.home);
      this.#isOpen = false;
    }
  }

  /** After the sweep: reported opens; a level back at the reference is the reference; a faster one that lasts becomes it. */
  update(reported: Reported | null, isConfirmed: boolean): void {
    const cell = this.#cell;
    if (reported !== null && !this.#isOpen) this.#since = reported.first;
    if (reported !== null) this.#isOpen = true;
    if (cell.home === this.#level && cell.pending === null) this.#isOpen = false;
    if (!this.#isOpen) return;
    const { recent } = cell;
    const isFaster = recent.mean < this.#level.referenceMean && !this.#isNear(recent);
    const isLasting =
      recent.count >= RULES.fasterSweeps && cell.known.sweepsToReport(recent.mean, cell.tolerance) === 1;
    if (isFaster && (isConfirmed || isLasting)) this.#move(recent);
    else if (cell.pending === null && cell.held === null && this.#isNear(cell.home)) {
      this.#level.follow(cell.home);
      cell.home = this.#level;
      this.#isOpen = false;
    }
  }

  /** @param isApart the sweep is no part of a level, and slower or faster by itself */
  judgement(sweep: CellSweep, reported: Reported | null, isApart = false): CellJudgement {
    const cell = this.#cell;
    const { recent, noise, held } = cell;
    const reference = this.#referenceBefore(sweep.place);
    const isAtReference = recent === this.#level;
    const level = this.#estimate(recent, recent.mean, Infinity);
    const isNewest = isAtReference || reported !== null || held !== null;
    const spread = Math.sqrt(noise.sd ** 2 + sweep.night.variance + sweep.extra);
    const now = isNewest && (reported === null || reported.first === sweep.place) ? sweep.log : level.log;
    const change = { log: now - reference.log, error: Math.hypot(reference.error, isNewest ? spread : level.error) };
    const second = cell.known.second(recent.mean, cell.tolerance);
    const upper = second === null ? 0 : Math.max(second, recent.mean);
    const isUpper = Math.abs(sweep.log - upper) < Math.abs(sweep.log - Math.min(second ?? 0, recent.mean));
    return {
      // A cell that is reported with its group may be less sure by itself; a step back to the reference is none from it.
      verdict:
        reported !== null && (isApart || change.log / reported.change > 0.5)
          ? reported.direction
          : this.#verdict(change, isNewest && reported === null, sweep),
      reference,
      since: this.#isOpen ? this.#since : sweep.place,
      level,
      change,
      reported,
      detectable: cell.detectable(sweep),
      levels: second === null ? null : { lower: Math.min(second, recent.mean), upper, at: isUpper ? 'upper' : 'lower' },
      isOnlyRunFarOff: cell.isOnlyRunFarOff,
    };
  }

  #verdict({ log, error }: CellJudgement['change'], isNewest: boolean, sweep: CellSweep): CellJudgement['verdict'] {
    const cell = this.#cell;
    if (cell.isOnlyRunFarOff) return 'unclear';
    if (cell.held !== null) return cell.known.sweepsToReport(cell.held.mean, cell.tolerance) > 1 ? 'same' : 'unclear';
    if (this.#isOpen && Math.abs(log) > RULES.openErrors * error) return log > 0 ? 'slower' : 'faster';
    const variance = sweep.night.variance + sweep.extra;
    if (!isNewest || Math.abs(log) < 2 * error) return 'same';
    const p = cell.noise.tail(log, 1 + 1 / this.#referenceBefore(sweep.place).sweeps, variance);
    return p < RULES.unclearP ? 'unclear' : 'same';
  }

  #move(level: Level): void {
    this.#level = level;
    this.#isOpen = false;
    if (this.#cell.pending !== null && level === this.#cell.pending) this.#cell.adopt();
  }

  #isNear(level: Level): boolean {
    const { sd } = this.#cell.noise;
    const reference = Math.min(this.#level.count, RULES.referenceSweeps);
    return (
      Math.abs(level.mean - this.#level.referenceMean) <
      RULES.openErrors * sd * Math.sqrt(1 / level.count + 1 / reference)
    );
  }

  /** Without the sweep that is judged against it. */
  #referenceBefore(place: number): LevelEstimate {
    const level = this.#level;
    const { count, referenceMean } = level;
    const isPart = count > 1 && count <= RULES.referenceSweeps && level.placeAt(1) === place;
    return isPart
      ? this.#estimate(level, level.meanBefore(1), count - 1)
      : this.#estimate(level, referenceMean, RULES.referenceSweeps);
  }

  #estimate(level: Level, log: number, most: number): LevelEstimate {
    const sweeps = Math.min(level.count, most);
    return { log, error: this.#cell.noise.sd / Math.sqrt(sweeps), sweeps, first: level.first };
  }
}

function meanOfLogs(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + Math.log(value), 0) / values.length;
}
