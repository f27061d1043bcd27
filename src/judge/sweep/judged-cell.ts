import type { CellNoise } from './cell-noise.ts';
import type { CellSweep, Change, Reported } from './judgement.ts';
import { KnownLevels, Level } from './level.ts';
import { RULES } from './settings.ts';

/** scipy.stats.norm.ppf(0.9) */
const NINE_IN_TEN = 1.2816;

/** Where one cell is: its level, one that may follow it, and the levels it knows. */
export class JudgedCell {
  readonly noise: CellNoise;
  readonly known: KnownLevels;
  home: Level;
  /** The level after a step that was reported, until it is old enough. */
  pending: Level | null = null;
  /** Far sweeps that are not reported yet. */
  held: Level | null = null;
  isOnlyRunFarOff = false;
  #sweeps = 1;
  #isDrifting = false;
  #driftReported = 0;

  /** @param reports of a second level before it is known */
  constructor(noise: CellNoise, place: number, log: number, reports: number) {
    this.noise = noise;
    this.known = new KnownLevels(reports);
    this.home = new Level(place, log);
  }

  get recent(): Level {
    return this.pending ?? this.home;
  }

  /** @returns log ratio of the smallest step that this sweep would show nine times in ten */
  detectable({ night, extra, share }: CellSweep): number {
    const { noise, recent } = this;
    const unit = Math.sqrt((1 + 1 / recent.count) * noise.sd ** 2 + night.variance + extra);
    return (noise.offOf(RULES.oneSweepP * share, 1, 0) / noise.sd + NINE_IN_TEN) * unit;
  }

  /** With the noise of what it is the difference of: variance scale * sd^2 + extra, of the mean of this number of sweeps. */
  change(log: number, scale: number, extra: number, sweeps = 1): Change {
    const { noise } = this;
    return {
      log,
      error: Math.sqrt(scale * noise.sd ** 2 + extra),
      reach: noise.offOf(RULES.intervalP, scale, extra, sweeps),
    };
  }

  get tolerance(): number {
    return 3 * this.noise.sd + 0.003;
  }

  /** A sweep that is no part of a level: what it would report, and nothing kept of it. */
  judgeApart(sweep: CellSweep): Reported | null {
    const off = sweep.log - this.recent.mean;
    return this.#isFar(off, sweep, this.recent.count) ? this.#reported(sweep, off, sweep.place, 1) : null;
  }

  judge(sweep: CellSweep): Reported | null {
    this.isOnlyRunFarOff = false;
    this.#sweeps += 1;
    const off = sweep.log - this.recent.mean;
    return this.pending === null ? this.#judgeAtHome(sweep, off) : this.#judgePending(sweep, this.pending, off);
  }

  #isFar(off: number, { night, extra, share }: CellSweep, count: number, p: number = RULES.oneSweepP): boolean {
    if (Math.abs(off) < 3 * this.noise.sd || off * (off + night.own) < 0) return false;
    this.noise.refresh(true);
    return Math.abs(off) > 3 * this.noise.sd && this.noise.tail(off, 1 + 1 / count, night.variance + extra) < p * share;
  }

  #judgePending(sweep: CellSweep, pending: Level, off: number): Reported | null {
    const back = sweep.log - this.home.mean;
    const size = pending.mean - this.home.mean;
    if (Math.abs(back) < Math.abs(off) && Math.abs(back) < 0.5 * Math.abs(size)) {
      this.known.visit(pending.mean, this.tolerance, { reported: false, sweeps: pending.count });
      if (pending.count < RULES.lastingSweeps) this.known.addExcursion(size);
      this.pending = null;
      this.#join(this.home, sweep);
      const isNews =
        pending.count >= RULES.lastingSweeps && this.known.sweepsToReport(this.home.mean, this.tolerance) === 1;
      return isNews ? this.#report(sweep, -size, this.home) : null;
    }
    if (Math.abs(off) > 0.5 * Math.abs(size) && this.#isFar(off, sweep, pending.count)) {
      if (pending.count > 1 || sweep.runs > 1) return this.#begin(sweep, off);
      // Two only runs that lie far from each other: the first was an accident.
      this.known.addExcursion(size);
      this.pending = null;
      return this.#judgeAtHome(sweep, back);
    }
    this.#join(pending, sweep);
    if (pending.count >= RULES.adoptSweeps) this.adopt();
    return null;
  }

  #judgeAtHome(sweep: CellSweep, off: number): Reported | null {
    const common = this.#commonChange(sweep, off);
    if (common !== null) return this.#begin(sweep, common);
    if (this.#isFar(off, sweep, this.home.count, RULES.heldP)) return this.#judgeFar(sweep, off);
    if (this.held !== null) this.#release(this.held);
    this.#learn(sweep, off);
    return this.#drift(sweep) ?? this.#judgeWindows(sweep, off);
  }

  /** The change of the cells that moved together, unless this cell did not. */
  #commonChange({ moved, night, extra }: CellSweep, off: number): number | null {
    if (moved === null) return null;
    const variance = this.noise.sd ** 2 * (1 + 1 / this.recent.count) + night.variance + extra;
    const against = ((off - moved) ** 2 - off ** 2) / (2 * variance);
    return against > RULES.againstGroup ? null : moved;
  }

  /** A sweep far off is reported at once, or with the next that agrees: where it is less sure, what the cell knows, or perhaps the accident of one run. */
  #judgeFar(sweep: CellSweep, off: number): Reported | null {
    let held = this.held;
    if (held !== null && Math.abs(sweep.log - held.mean) > 4.5 * this.noise.sd + RULES.cellSd) {
      this.#release(held);
      held = null;
    }
    const isOnlyRun = sweep.runs === 1 && this.#mayBeOffRun(sweep, off);
    const isSure = !isOnlyRun && this.#isFar(off, sweep, this.home.count);
    const needed = Math.max(this.known.sweepsToReport(sweep.log, this.tolerance, off), isSure ? 1 : 2);
    if (needed === 1) return this.#begin(sweep, off);
    if (held === null) held = new Level(sweep.place, sweep.log);
    else {
      this.noise.learn(sweep.log - held.mean, 1 + 1 / held.count, sweep.night.variance + sweep.extra);
      held.add(sweep.place, sweep.log, Infinity);
    }
    this.held = held;
    this.isOnlyRunFarOff = isOnlyRun && held.count < 2;
    if (held.count < needed || !this.#isSureOf(held, sweep)) return null;
    this.held = null;
    // One run alone was slow, and it is the only one that those after it are faster than.
    if (this.home.count === 1 && sweep.runs === 1 && off < 0) {
      this.home.restart(held);
      return null;
    }
    this.pending = held;
    this.known.visit(held.mean, this.tolerance, { reported: true, sweeps: 0 });
    return this.#reported(sweep, off, held.first, held.count);
  }

  #isSureOf({ mean, count }: Level, { night, share }: CellSweep): boolean {
    this.noise.refresh(true);
    const scale = 1 / count + 1 / this.home.count;
    return this.noise.tail(mean - this.home.mean, scale, night.variance / count, count) < RULES.oneSweepP * share;
  }

  /** One run may be an accident, and the likelier so the fewer quiet sweeps the cell has; not where it lands on a level it knows. */
  #mayBeOffRun({ log }: CellSweep, off: number): boolean {
    const size = Math.abs(off);
    if (size < RULES.offRunLeast || size > RULES.offRunMost) return false;
    if (this.known.hasLasted(log, this.tolerance)) return false;
    if (this.known.excursions > 0) return true;
    return this.#sweeps < RULES.offRunQuiet + RULES.offRunGrowth * Math.log(size / 0.1);
  }

  #release(held: Level): void {
    this.known.visit(held.mean, this.tolerance, { reported: false, sweeps: held.count });
    const off = held.mean - this.home.mean;
    if (this.noise.tail(off, 1 / held.count + 1 / this.home.count, 0, held.count) > RULES.oneSweepP)
      this.noise.learn(off, 1 / held.count + 1 / this.home.count, 0);
    else if (held.count < RULES.lastingSweeps) this.known.addExcursion(off);
    this.held = null;
  }

  #learn(sweep: CellSweep, off: number): void {
    this.noise.learn(off, 1 + 1 / this.home.count, sweep.night.variance + sweep.extra);
    this.#join(this.home, sweep);
  }

  #join(level: Level, { place, log }: CellSweep): void {
    level.add(place, log, level.count < 3 ? Infinity : 2.5 * this.noise.sd);
  }

  /** The level after the step is the one that further steps are measured from. */
  adopt(): void {
    const { pending } = this;
    if (pending === null) return;
    this.known.visit(this.home.mean, this.tolerance, { reported: false, sweeps: this.home.count });
    this.home = pending;
    this.pending = null;
    this.#isDrifting = false;
  }

  #begin(sweep: CellSweep, change: number): Reported {
    if (this.pending !== null)
      this.known.visit(this.pending.mean, this.tolerance, { reported: false, sweeps: this.pending.count });
    if (this.held !== null) this.#release(this.held);
    this.pending = new Level(sweep.place, sweep.log);
    return this.#report(sweep, change, this.pending);
  }

  #report(sweep: CellSweep, change: number, level: Level): Reported {
    this.known.visit(level.mean, this.tolerance, { reported: true, sweeps: 0 });
    return this.#reported(sweep, change, sweep.place, 1);
  }

  #reported({ night }: CellSweep, log: number, first: number, sweeps: number): Reported {
    const change = this.change(log, 1 / sweeps + 1 / this.home.count, night.variance / sweeps, sweeps);
    return { direction: log > 0 ? 'slower' : 'faster', first, change };
  }

  /** A line through the level that is sure is a drift from then on: only its newest sweeps are the level. */
  #drift(sweep: CellSweep): Reported | null {
    const { home } = this;
    if (!this.#isDrifting && home.count > RULES.lineSweeps) {
      const { slope, rest, places } = home.line();
      const error = Math.sqrt((rest + this.noise.sd ** 2) / (home.count - 1) / places);
      if (Math.abs(slope) > RULES.driftT * error) {
        this.#isDrifting = true;
        this.#driftReported = home.startMean;
      }
    }
    if (!this.#isDrifting) return null;
    if (home.count > 5) this.home = home.newest(5);
    const crept = this.home.newestMiddle - this.#driftReported;
    if (Math.abs(crept) <= RULES.driftSd * Math.hypot(this.noise.sd, sweep.night.sd)) return null;
    this.#driftReported += crept;
    return this.#reported(sweep, crept, this.home.placeAt(3), 3);
  }

  /** Small steps, from the last sweeps together. */
  #judgeWindows(sweep: CellSweep, off: number): Reported | null {
    const { home, noise } = this;
    if (this.#isDrifting || Math.abs(off) < 0.4 * noise.sd) return null;
    const found = this.#stepOfWindow(sweep);
    if (found === null) return null;
    const { window, mean } = found;
    if (window > 3 && home.count - window < 2) {
      home.restart(home.newest(window));
      return null;
    }
    this.home = home.newest(window);
    home.forget(window);
    this.known.visit(home.mean, this.tolerance, { reported: false, sweeps: home.count });
    this.known.visit(this.home.mean, this.tolerance, { reported: true, sweeps: 0 });
    return this.#reported(sweep, mean, this.home.first, window);
  }

  /**
   * The likeliest small step: the mean of the last 2 to 10 sweeps against the sweeps at this level before. The noise is what
   * was known before the window. Where a line fits as well as the step, there is none.
   */
  #stepOfWindow({ night, share }: CellSweep): { readonly window: number; readonly mean: number } | null {
    const { home: level, noise } = this;
    let least = RULES.windowP * share;
    let best: { readonly window: number; readonly mean: number } | null = null;
    for (let window = 2; window <= Math.min(RULES.longestWindow, level.count - 1); window += 1) {
      const scale = 1 / window + 1 / (level.count - window);
      const mean = level.meanOfNewest(window, RULES.clipSd * noise.sd);
      if (Math.abs(mean) < 2.5 * noise.sd * Math.sqrt(scale)) continue;
      noise.refreshWith(window, -1);
      const { sd } = noise;
      const isLarge = Math.abs(mean) > RULES.windowMeanSd * Math.hypot(sd, night.sd);
      const p = isLarge ? noise.tail(mean, scale, night.variance / window, window) : 1;
      noise.refreshWith(window, 1);
      if (p >= least) continue;
      const isLine = level.restOfStep(window) > level.line().rest - RULES.lineGain * sd * sd;
      if (level.count >= RULES.lineSweeps && isLine) continue;
      least = p;
      best = { window, mean };
    }
    return best;
  }
}
