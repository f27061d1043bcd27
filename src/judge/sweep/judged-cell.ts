import { median, middleOfThree } from '../../statistics/order-statistics.ts';
import { POWER_ERRORS } from '../run-noise.ts';
import type { CellNoise } from './cell-noise.ts';
import type { Change, Reported, SweepEffect } from './sweep-effect.ts';
import { knownLevels, Level } from './level.ts';
import { RULES } from './settings.ts';

/** `log` is without the common effect. */
export interface CellSweep extends NonNullable<ReturnType<JudgedCell['measure']>> {
  readonly place: number;
  readonly common: SweepEffect;
  /** Ratio of the tail probabilities in this matrix to those of the settings. */
  readonly share: number;
  /** Size of the move if the cell moved together with others; null if it did not. */
  readonly moved: number | null;
}

/** Judgment of a cell. Logs are of times, so that above 0 is slower. */
export type CellJudgement = ReturnType<JudgedCell['judgement']>;

export class JudgedCell {
  noise: CellNoise;
  readonly known: ReturnType<typeof knownLevels>;
  home = new Level();
  /** The level after a reported step, until it is old enough. */
  pending: Level | null = null;
  held: Level | null = null;
  reference = this.home;
  /** First sweep reported since the cell was at its reference, or on the other side of it; null if nothing was. */
  #since: number | null = null;
  #isSlower = false;
  #isOnlyRunFarOff = false;
  #sweeps = 1;
  /** Distance of the last sweep from home, and the largest one from which a cell returned at once. */
  #away = 0;
  #returned = 0;
  #isDrifting = false;
  #driftReported = 0;

  constructor(noise: CellNoise, reports: number) {
    this.noise = noise;
    this.known = knownLevels(this, reports);
  }

  get recent(): Level {
    return this.pending ?? this.home;
  }

  #change(log: number, scale: number, extra: number): Change {
    const { noise } = this;
    const error = Math.sqrt(scale * noise.sd ** 2 + extra);
    return { log, error, reach: noise.offOf(RULES.intervalP, scale, extra) };
  }

  /**
   * The center of the runs of a sweep, and its difference from the recent level (NaN if there is none).
   * @param isApart the sweep belongs to no level, and is slower or faster on its own
   */
  measure(runs: readonly number[], isApart: boolean) {
    if (runs.length === 0) return null;
    const { noise, recent } = this;
    const hasLevel = recent.count > 0;
    const logs = runs.map(Math.log);
    const agreeing = agreeingRuns(logs, noise, hasLevel ? recent.mean : null);
    const kept = isApart ? agreeing : noise.counted(logs, agreeing);
    const log = kept.reduce((sum, value) => sum + value, 0) / kept.length;
    if (!isApart) noise.addRuns(kept, log);
    noise.refresh();
    const extra = noise.extraOf(kept.length);
    const difference = hasLevel && !isApart ? log - recent.mean : Number.NaN;
    const variance = noise.sd ** 2 * (1 + 1 / recent.count) + extra;
    // `farRuns` are no part of the center. `extra`: variance in addition to that of a sweep with all repeats.
    return { log, runs: runs.length, farRuns: runs.length - kept.length, extra, difference, variance, isApart };
  }

  judge(sweep: CellSweep): Reported | null {
    const off = sweep.log - this.recent.mean;
    // A sweep that belongs to no level teaches nothing.
    if (sweep.isApart) return this.#isFar(off, sweep) ? this.#reported(sweep, off, sweep.place, 1) : null;
    this.#isOnlyRunFarOff = false;
    this.#sweeps += 1;
    const away = Math.abs(sweep.log - this.home.mean);
    const isShort = (this.pending?.count ?? 0) < RULES.lastingSweeps;
    if (isShort && this.#away > 2 * away) this.#returned = Math.max(this.#returned, this.#away);
    this.#away = away;
    return this.pending === null ? this.#judgeAtHome(sweep, off) : this.#judgePending(sweep, this.pending, off);
  }

  #judgeAtHome(sweep: CellSweep, off: number): Reported | null {
    const { common, extra, moved } = sweep;
    const scaleOfHome = 1 + 1 / this.home.count;
    const variance = this.noise.sd ** 2 * scaleOfHome + common.variance + extra;
    const isWithGroup = moved !== null && ((off - moved) ** 2 - off ** 2) / (2 * variance) <= RULES.againstGroup;
    if (isWithGroup) return this.#begin(sweep, moved);
    if (this.#isFar(off, sweep, RULES.heldP)) return this.#judgeFar(sweep, off);
    this.#release();
    // The mean of a drifting level lags behind.
    const [residual, scale] = this.#isDrifting ? [sweep.log - this.home.valueAt(1), 2] : [off, scaleOfHome];
    this.noise.learn(residual, scale, common.variance + extra);
    this.home.add(sweep.place, sweep.log);
    return this.#judgeStep(sweep) ?? this.#drift(sweep);
  }

  #isFar(off: number, { common, extra, share }: CellSweep, p: number = RULES.oneSweepP): boolean {
    const { noise, recent } = this;
    if (Math.abs(off) < 3 * noise.sd) return false;
    noise.refresh(true);
    return Math.abs(off) > 3 * noise.sd && noise.tail(off, 1 + 1 / recent.count, common.variance + extra) < p * share;
  }

  #judgePending(sweep: CellSweep, pending: Level, off: number): Reported | null {
    const { home, known } = this;
    const back = sweep.log - home.mean;
    const size = pending.mean - home.mean;
    if (Math.abs(back) < 0.5 * Math.abs(size)) {
      known.leave(pending.mean, pending.count, size);
      this.pending = null;
      home.add(sweep.place, sweep.log);
      if (pending.count < RULES.lastingSweeps) return null;
      known.report(home.mean);
      return this.#reported(sweep, -size, sweep.place, 1);
    }
    if (this.#isFar(off, sweep)) return this.#begin(sweep, off);
    pending.add(sweep.place, sweep.log);
    if (pending.count >= RULES.adoptSweeps) this.#adopt();
    return null;
  }

  /** Reports a distant sweep at once, or with the next one that agrees. */
  #judgeFar(sweep: CellSweep, off: number): Reported | null {
    const { held, known, noise } = this;
    if (held !== null && Math.abs(sweep.log - held.mean) > 4.5 * noise.sd + RULES.cellSd) this.#release();
    const ofRun = this.#sweepsOfRun(sweep, off);
    const isSure = ofRun === 1 && this.#isFar(off, sweep);
    const needed = Math.max(known.sweepsToReport(sweep.log, off), ofRun, isSure ? 1 : 2);
    if (needed === 1) return this.#begin(sweep, off);
    const level = (this.held ??= new Level());
    if (level.count > 0) {
      noise.learn(sweep.log - level.valueAt(1), 2, sweep.common.variance + sweep.extra);
      noise.refresh(true);
    }
    level.add(sweep.place, sweep.log);
    this.#isOnlyRunFarOff = level.count < ofRun;
    const isLikely = this.#tailOf(level, sweep.common.variance) > RULES.oneSweepP * sweep.share;
    return level.count < needed || isLikely ? null : this.#begin(sweep, off, level);
  }

  #tailOf({ mean, count }: Level, commonVariance: number): number {
    return this.noise.tail(mean - this.home.mean, 1 / count + 1 / this.home.count, commonVariance / count);
  }

  /** Sweeps that must agree, because a single run may be an accident, which is likelier with fewer quiet sweeps. */
  #sweepsOfRun({ log, runs }: CellSweep, off: number): number {
    if (runs > 1) return 1;
    // One run against one run shows no noise.
    if (this.home.count === 1 && this.noise.runs.degrees === 0) return 2;
    const size = Math.abs(off);
    if (size < RULES.offRunLeast || size > RULES.offRunMost || this.known.hasLasted(log)) return 1;
    if (this.#returned > Math.max(RULES.offRunLeast, 4 * this.noise.sd)) return RULES.lastingSweeps;
    return this.#sweeps < RULES.offRunQuiet + RULES.offRunGrowth * Math.log(size / 0.1) ? 2 : 1;
  }

  #release(): void {
    const { held, home, noise } = this;
    if (held === null) return;
    const off = held.mean - home.mean;
    const isNoise = this.#tailOf(held, 0) > RULES.oneSweepP;
    // From its neighbor, because the mean of a creeping level lags behind.
    if (isNoise) noise.learn(held.mean - home.valueAt(1), 1 / held.count + 1, 0);
    this.known.leave(held.mean, held.count, isNoise ? 0 : off);
    this.held = null;
  }

  #adopt(): void {
    if (this.pending === null) return;
    this.known.leave(this.home.mean, this.home.count);
    this.home = this.pending;
    this.pending = null;
    this.#away = 0;
    this.#isDrifting = false;
  }

  #begin(sweep: CellSweep, change: number, level: Level = new Level().add(sweep.place, sweep.log)): Reported {
    if (level !== this.held) this.#release();
    this.held = null;
    this.pending = level;
    this.known.report(level.mean);
    return this.#reported(sweep, change, level.first, level.count);
  }

  #reported({ common }: CellSweep, log: number, first: number, sweeps: number): Reported {
    const change = this.#change(log, 1 / sweeps + 1 / this.home.count, common.variance / sweeps);
    return { direction: log > 0 ? 'slower' : 'faster', first, change };
  }

  /** Reports drift: after a significant slope, only the newest sweeps form the level. */
  #drift(sweep: CellSweep): Reported | null {
    const { home, noise } = this;
    if (!this.#isDrifting && home.count > RULES.driftSweeps) {
      const { slope, rest, places } = home.line();
      const error = Math.sqrt((rest + noise.sd ** 2) / (home.count - 1) / places);
      this.#isDrifting = Math.abs(slope) > RULES.driftT * error;
      this.#driftReported = home.meanOfFirst(3);
      if (this.#isDrifting && home.count <= RULES.referenceSweeps) {
        if (home.count === this.#sweeps) this.noise = noise.given(home.steps(slope));
        this.home = home.newest(5);
        home.drop(home.count - 3);
      }
    }
    if (!this.#isDrifting) return null;
    if (this.home.count > 5) this.home = this.home.newest(5);
    const crept = middleOfThree(this.home.valueAt(1), this.home.valueAt(2), this.home.valueAt(3)) - this.#driftReported;
    if (Math.abs(crept) <= RULES.driftSd * Math.hypot(this.noise.sd, sweep.common.sd)) return null;
    this.#driftReported += crept;
    return this.#reported(sweep, crept, this.home.placeAt(3), 3);
  }

  /** Reports the likeliest step before the last 2 to 10 sweeps of this level. */
  #judgeStep(sweep: CellSweep): Reported | null {
    const { home: level, noise } = this;
    if (level.count < 3) return null;
    const step = level.likeliestStep();
    const { change, window } = step;
    const scale = 1 / window + 1 / (level.count - window);
    // In a young cell the learned noise contains the step itself. A first sweep alone may have been slow by accident.
    const isYoung = level.count === this.#sweeps && level.count <= RULES.longestWindow && level.isApart(step);
    const isClear = isYoung && (change > 0 || level.count - window > 1);
    const around = isClear ? noise.given([...level.residuals(window), ...level.newest(window).residuals()]) : null;
    // The posterior is computed for a likely step alone.
    if (around === null && Math.abs(change) < 2 * noise.sd * Math.sqrt(scale)) return null;
    noise.refresh(true);
    const p = (around ?? noise).tail(change, scale, sweep.common.variance / window);
    if (p >= RULES.windowP * sweep.share) return null;
    if (around !== null) this.noise = around;
    this.home = level.newest(window);
    level.drop(window);
    this.known.leave(level.mean, level.count);
    this.known.report(this.home.mean);
    return this.#reported(sweep, change, this.home.first, window);
  }

  accept(): void {
    this.reference = this.recent;
    this.#since = null;
    this.#adopt();
  }

  /** Makes the runs of a baseline the reference of the sweep at this index. */
  replace(runs: readonly number[], place: number): void {
    const { home, recent } = this;
    this.reference = new Level().add(place, runs.reduce((sum, value) => sum + Math.log(value), 0) / runs.length);
    const { mean } = this.reference;
    const isSinceHome = !this.#isNear(home) && home.mean > mean === recent.mean > mean;
    this.#since = this.#isNear(recent) ? null : (isSinceHome ? home : recent).first;
    this.#isSlower = recent.mean > mean;
  }

  /** @param isGiven whether the reference is a baseline, which nothing moves */
  update(reported: Reported | null, isGiven: boolean): void {
    const { home, pending, recent } = this;
    const isSlower = recent.mean > this.reference.meanOfFirst();
    if (reported !== null && (this.#since === null || isSlower !== this.#isSlower)) this.#since = reported.first;
    this.#isSlower = isSlower;
    if (home === this.reference && pending === null) this.#since = null;
    if (this.#since === null) return;
    const isFaster = recent.mean < this.reference.meanOfFirst() && !this.#isNear(recent);
    if (isFaster && !isGiven && recent.count >= RULES.lastingSweeps && this.known.sweepsToReport(recent.mean) === 1)
      this.accept();
    else if (pending === null && this.held === null && this.#isNear(home)) {
      this.home = this.reference;
      this.#since = null;
      this.#isDrifting = false;
    }
  }

  #isNear(level: Level): boolean {
    const scale = 1 / level.count + 1 / Math.min(this.reference.count, RULES.referenceSweeps);
    return Math.abs(level.mean - this.reference.meanOfFirst()) < RULES.openErrors * this.noise.sd * Math.sqrt(scale);
  }

  judgement(sweep: CellSweep, reported: Reported | null) {
    const { held, known, noise, recent } = this;
    noise.refresh(true);
    const { count } = this.reference;
    const isPart = count > 1 && count <= RULES.referenceSweeps && this.reference.placeAt(1) === sweep.place;
    const knownSweeps = Math.min(count, RULES.referenceSweeps) - (isPart ? 1 : 0);
    const reference = { log: this.reference.meanOfFirst(knownSweeps), sweeps: knownSweeps };
    const isNewest = recent === this.reference || reported !== null || held !== null;
    const isOfSweep = isNewest && (reported === null || reported.first === sweep.place);
    const log = (isOfSweep ? sweep.log : recent.mean) - reference.log;
    const [sweeps, extra] = isNewest ? [1, sweep.common.variance + sweep.extra] : [recent.count, 0];
    const change = this.#change(log, 1 / sweeps + 1 / reference.sweeps, extra);
    const error = Math.sqrt((1 + 1 / recent.count) * noise.sd ** 2 + sweep.common.variance + sweep.extra);
    const detectable = (noise.offOf(RULES.oneSweepP * sweep.share, 1, 0) / noise.sd + POWER_ERRORS) * error;
    const isOff = Math.abs(log) > Math.max(RULES.openErrors * change.error, change.reach);
    const isFewer = this.#isOnlyRunFarOff || sweep.farRuns > Math.max(sweep.runs > 2 ? 1 : 0, sweep.runs / 4);
    const farRuns = isFewer ? Math.max(1, sweep.farRuns) : 0;
    const isOneAgainstOne = sweep.runs === 1 && reference.sweeps === 1 && noise.runs.degrees === 0;
    const verdictOf = (): Reported['direction'] | 'same' | 'unclear' => {
      if (isOneAgainstOne && reported === null && this.#since === null && Math.abs(log) >= RULES.offRunLeast)
        return 'unclear';
      // A cell reported with its group may be less certain on its own. A step back to the reference is no change.
      if (reported !== null && (sweep.isApart || log / reported.change.log > 0.5)) return reported.direction;
      if (this.#isOnlyRunFarOff) return 'unclear';
      if (held !== null && known.sweepsToReport(held.mean) > 1) return 'same';
      if (this.#since !== null && isOff) return log > 0 ? 'slower' : 'faster';
      if (!isNewest || reported !== null) return 'same';
      const { reach } = change;
      const least = Math.min(RULES.unclearShare * detectable, RULES.unclearReach * reach, reach + RULES.unclearBeyond);
      return Math.abs(log) < Math.max(reach, least) && farRuns === 0 ? 'same' : 'unclear';
    };
    const second = known.second(recent.mean);
    return {
      verdict: verdictOf(),
      /** The last accepted level, and the number of sweeps in its mean. */
      reference,
      /** Index of the first sweep off the reference; the current sweep if nothing was reported since. */
      since: this.#since ?? sweep.place,
      /** Change from the reference: of the recent level if it is a different one, else of the newest sweep. */
      change,
      reported,
      /** Sd of the effect of a sweep on all cells, which is not part of the change. */
      commonSd: sweep.common.sd,
      /** Log ratio of the smallest change that the runs of the newest sweep would report nine times in ten. */
      detectable,
      /** Two levels between which the cell alternates, the lower one first. */
      levels: second === null ? null : ([Math.min(second, recent.mean), Math.max(second, recent.mean)] as const),
      /** Number of runs of this sweep that are far off, if it is its only run or more than a quarter of them: no level yet. */
      farRuns,
    };
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
  return near.length === 0 ? logs : near;
}
