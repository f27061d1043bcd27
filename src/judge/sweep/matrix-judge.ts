import { median } from '../../statistics/order-statistics.ts';
import { CellNoise, NoisePrior } from './cell-noise.ts';
import { JudgedCell } from './judged-cell.ts';
import { Level } from './level.ts';
import { type CellSweep, type Change, movedGroups, type Reported, SweepEffect } from './sweep-effect.ts';
import { RULES } from './settings.ts';

interface MatrixOptions {
  /** Sd of a sweep on the log scale while nothing is known. */
  readonly typicalSd?: number;
  /** Number of cells times metrics judged in one sweep. */
  readonly judgedTogether?: number;
}

/** Judgment of a cell. Logs are of times, so that above 0 is slower. */
export interface CellJudgement {
  readonly verdict: 'slower' | 'faster' | 'same' | 'unclear';
  /** The last accepted level, and the number of sweeps in its mean. */
  readonly reference: { readonly log: number; readonly sweeps: number };
  /** Index of the first sweep off the reference; the current sweep if nothing was reported since. */
  readonly since: number;
  /** Change from the reference: of the recent level if it is a different one, else of the newest sweep. */
  readonly change: Change;
  readonly reported: Reported | null;
  /** Log ratio of the smallest change that the runs of the newest sweep would report nine times in ten. */
  readonly detectable: number;
  /** Two levels between which the cell alternates, the lower one first. */
  readonly levels: readonly [number, number] | null;
  /** Number of runs of this sweep that are far off, if it is its only run or more than a quarter of them: no level yet. */
  readonly farRuns: number;
}

export interface Control {
  /** The previous level becomes the reference: it was acknowledged, or is that of the merge base. */
  readonly accept?: boolean;
  /** The sweep is judged but belongs to no level: the machine was slow, or pairs showed no change. */
  readonly exclude?: boolean;
  /** Runs of a baseline, whose level is the reference of this sweep. */
  readonly reference?: readonly number[];
}

/** Judges one metric of one matrix, sweep by sweep, each with only the past. */
export class MatrixJudge {
  readonly #prior: NoisePrior;
  readonly #share: number;
  readonly #reports: number;
  readonly #cells: (CellReference | null)[];
  readonly #noises: readonly CellNoise[];
  readonly #common = new SweepEffect();
  readonly #groups: readonly (readonly number[])[];
  readonly #differences: Float64Array;
  readonly #variances: Float64Array;
  #place = 0;

  /** @param cells words of each cell that groups share, such as precision and model */
  constructor(
    cells: readonly Iterable<string>[],
    { typicalSd = RULES.typicalSd, judgedTogether = cells.length }: MatrixOptions = {},
  ) {
    this.#prior = new NoisePrior(typicalSd);
    this.#share = Math.min(1, (RULES.testsAtFullP / judgedTogether) ** RULES.testsPower);
    this.#reports = judgedTogether < RULES.manyTests ? RULES.reportsOfLevel : 1;
    this.#cells = cells.map(() => null);
    this.#noises = cells.map(() => new CellNoise(this.#prior));
    const pairs = cells.flatMap((words, cell) => [...words].map((word) => ({ cell, word })));
    const groups = [...Map.groupBy(pairs, ({ word }) => word).values()];
    this.#groups = groups.map((own) => own.map(({ cell }) => cell));
    this.#differences = new Float64Array(cells.length);
    this.#variances = new Float64Array(cells.length);
  }

  step(
    runs: readonly (readonly number[] | null)[],
    controls: readonly (Control | null | undefined)[] = [],
    isAsked: boolean = true,
  ): readonly (CellJudgement | null)[] {
    const place = this.#place++;
    // Learn each time the number of known sweeps has doubled.
    if (place > 1 && (place & (place - 1)) === 0) this.#prior.learn(this.#noises);
    const measured = this.#noises.map((noise, index) => {
      const { accept = false, exclude = false } = controls[index] ?? {};
      if (accept) this.#cells[index]?.accept();
      return this.#measure(index, noise, runs[index] ?? [], exclude);
    });
    this.#common.estimate(this.#differences, this.#variances);
    const { shift } = this.#common;
    const moved = shift === 0 ? movedGroups(this.#groups, this.#common, this.#differences, this.#variances) : null;
    // Cells that moved do not count for the common effect.
    if (moved !== null && moved.size > 0 && moved.size < runs.length) {
      const others = this.#differences.map((difference, index) => (moved.has(index) ? Number.NaN : difference));
      this.#common.estimate(others, this.#variances);
    }
    this.#common.learn();
    const { effect } = this.#common;
    return this.#noises.map((noise, index) => {
      const { exclude: isApart = false, reference } = controls[index] ?? {};
      const own = measured[index] ?? null;
      const known = this.#cells[index] ?? null;
      if (own === null || (known === null && isApart)) return null;
      const cell = known ?? new CellReference(new JudgedCell(noise, place, own.log, this.#reports));
      this.#cells[index] = cell;
      if (reference !== undefined) cell.replace(reference, place);
      const sweep: CellSweep = {
        ...own,
        place,
        log: own.log - effect,
        common: this.#common,
        share: this.#share,
        moved: moved === null ? shift : (moved.get(index) ?? null),
      };
      const reported = known === null ? null : isApart ? cell.cell.judgeApart(sweep) : cell.cell.judge(sweep);
      if (!isApart) cell.update(reported, reference !== undefined);
      return isAsked ? cell.judgement(sweep, reported, isApart) : null;
    });
  }

  #measure(index: number, noise: CellNoise, runs: readonly number[], isApart: boolean) {
    this.#differences[index] = Number.NaN;
    this.#variances[index] = Number.NaN;
    if (runs.length === 0) return null;
    const level = this.#cells[index]?.cell.recent ?? null;
    const logs = runs.map(Math.log);
    const agreeing = agreeingRuns(logs, noise, level?.mean ?? null);
    const kept = isApart ? agreeing : noise.counted(logs, agreeing);
    const log = kept.reduce((sum, value) => sum + value, 0) / kept.length;
    if (!isApart) noise.addRuns(kept, log);
    noise.refresh();
    const extra = noise.extraOf(kept.length);
    if (level !== null && !isApart) {
      this.#differences[index] = log - level.mean;
      this.#variances[index] = noise.sd ** 2 * (1 + 1 / level.count) + extra;
    }
    return { log, runs: runs.length, farRuns: runs.length - kept.length, extra };
  }
}

/** The logs of the runs of one sweep that agree, without runs far from the median; all if they form two groups. */
function agreeingRuns(logs: readonly number[], noise: CellNoise, level: number | null): readonly number[] {
  if (logs.length < 2) return logs;
  const limit = Math.max(RULES.runSd * noise.runSd, RULES.runLeast);
  const [a = 0, b = 0] = logs;
  if (logs.length === 2 && Math.abs(a - b) > 1.4 * limit) {
    const isFirst = level === null ? a < b : Math.abs(a - level) < Math.abs(b - level);
    return [isFirst ? a : b];
  }
  const middle = median(logs) ?? 0;
  const near = logs.filter((log) => Math.abs(log - middle) <= limit);
  return logs.length === 2 || near.length === 0 ? logs : near;
}

class CellReference {
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
    const { home, recent } = this.cell;
    this.#level = new Level(place, runs.reduce((sum, value) => sum + Math.log(value), 0) / runs.length);
    const { mean } = this.#level;
    const isSinceHome = !this.#isNear(home) && home.mean > mean === recent.mean > mean;
    this.#since = (isSinceHome ? home : recent).first;
    this.#isOpen = !this.#isNear(recent);
  }

  /** @param isGiven whether the reference is a baseline, which nothing moves */
  update(reported: Reported | null, isGiven: boolean): void {
    const { cell } = this;
    if (reported !== null && !this.#isOpen) this.#since = reported.first;
    if (reported !== null) this.#isOpen = true;
    if (cell.home === this.#level && cell.pending === null) this.#isOpen = false;
    if (!this.#isOpen) return;
    const { recent } = cell;
    const isFaster = recent.mean < this.#level.referenceMean && !this.#isNear(recent);
    if (isFaster && !isGiven && recent.count >= RULES.fasterSweeps && cell.known.sweepsToReport(recent.mean) === 1)
      this.#move(recent);
    else if (cell.pending === null && cell.held === null && this.#isNear(cell.home)) {
      cell.home = this.#level;
      this.#isOpen = false;
    }
  }

  /** @param isApart the sweep belongs to no level, and is slower or faster on its own */
  judgement(sweep: CellSweep, reported: Reported | null, isApart: boolean): CellJudgement {
    const { cell } = this;
    const { held, isOnlyRunFarOff, known, recent } = cell;
    cell.noise.refresh(true);
    const reference = this.#referenceBefore(sweep.place);
    const isNewest = recent === this.#level || reported !== null || held !== null;
    const isOfSweep = isNewest && (reported === null || reported.first === sweep.place);
    const log = (isOfSweep ? sweep.log : recent.mean) - reference.log;
    const extra = sweep.common.variance + sweep.extra;
    const change = isNewest
      ? cell.change(log, 1 + 1 / reference.sweeps, extra)
      : cell.change(log, 1 / recent.count + 1 / reference.sweeps, 0);
    const isOff = Math.abs(log) > Math.max(RULES.openErrors * change.error, change.reach);
    const farRuns = isOnlyRunFarOff || sweep.farRuns > Math.max(1, sweep.runs / 4) ? Math.max(1, sweep.farRuns) : 0;
    const isOneAgainstOne = sweep.runs === 1 && reference.sweeps === 1 && cell.noise.degrees === 0;
    const verdictOf = (): CellJudgement['verdict'] => {
      if (isOneAgainstOne && reported === null && !this.#isOpen && Math.abs(log) >= RULES.offRunLeast) return 'unclear';
      // A cell reported with its group may be less certain on its own. A step back to the reference is no change.
      if (reported !== null && (isApart || log / reported.change.log > 0.5)) return reported.direction;
      if (isOnlyRunFarOff) return 'unclear';
      if (held !== null && known.sweepsToReport(held.mean) > 1) return 'same';
      if (this.#isOpen && isOff) return log > 0 ? 'slower' : 'faster';
      if (!isNewest || reported !== null) return 'same';
      const least = Math.min(RULES.unclearShare * cell.detectable(sweep), RULES.unclearReach * change.reach);
      const isSmall = Math.abs(log) < Math.max(change.reach, least);
      return isSmall && farRuns === 0 ? 'same' : 'unclear';
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
      farRuns,
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
