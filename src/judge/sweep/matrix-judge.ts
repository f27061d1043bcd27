import { at } from '../../statistics/at.ts';
import { CellNoise } from './cell-noise.ts';
import { NoisePrior } from './noise-prior.ts';
import { CellReference } from './cell-reference.ts';
import type { CellSweep } from './cell-sweep.ts';
import { JudgedCell } from './judged-cell.ts';
import type { CellJudgement, Controls, SweepRuns } from './judgement.ts';
import { GroupShifts, NightEffect } from './night-effect.ts';
import { RULES } from './settings.ts';
import { agreeingRuns } from './sweep-center.ts';

export interface MatrixCell {
  readonly id: string;
  /** Words that groups of cells share: precision, model. */
  readonly groups: readonly string[];
}

export interface MatrixOptions {
  /** Sd of a sweep where nothing is known yet, as a log. */
  readonly typicalSd?: number;
  /** Cells times metrics that are judged in one sweep. */
  readonly judgedTogether?: number;
}

interface CellAndReference {
  readonly state: JudgedCell;
  readonly reference: CellReference;
}

function newCell(noise: CellNoise, place: number, log: number, reports: number): CellAndReference {
  const state = new JudgedCell(noise, place, log, reports);
  return { state, reference: new CellReference(state) };
}

/** One metric of one matrix, sweep by sweep, each with only the past. */
export class MatrixJudge {
  readonly #prior: NoisePrior;
  readonly #share: number;
  readonly #reports: number;
  readonly #cells: (CellAndReference | null)[];
  readonly #noises: readonly CellNoise[];
  readonly #night: NightEffect;
  readonly #groups: GroupShifts;
  readonly #logs: Float64Array;
  readonly #differences: Float64Array;
  readonly #variances: Float64Array;
  readonly #extras: Float64Array;
  readonly #zs: Float64Array;
  #place = 0;

  constructor(
    cells: readonly MatrixCell[],
    { typicalSd = RULES.typicalSd, judgedTogether = cells.length }: MatrixOptions = {},
  ) {
    this.#prior = new NoisePrior(typicalSd);
    this.#share = Math.min(1, (RULES.testsAtFullP / judgedTogether) ** RULES.testsPower);
    this.#reports = judgedTogether < RULES.manyTests ? RULES.reportsOfLevel : 1;
    this.#cells = cells.map(() => null);
    this.#noises = cells.map(() => new CellNoise(this.#prior));
    this.#night = new NightEffect(cells.length);
    this.#groups = new GroupShifts(cells.map(({ groups }) => groups));
    this.#logs = new Float64Array(cells.length);
    this.#differences = new Float64Array(cells.length);
    this.#variances = new Float64Array(cells.length);
    this.#extras = new Float64Array(cells.length);
    this.#zs = new Float64Array(cells.length);
  }

  /** @param runs of each cell, null where it has no result in this sweep @returns null for those */
  step(runs: readonly SweepRuns[], controls: Controls = []): readonly (CellJudgement | null)[] {
    const place = this.#place++;
    // Each time that twice as many sweeps are known.
    if (place > 1 && (place & (place - 1)) === 0) this.#prior.learn(this.#noises);
    for (const [index, noise] of this.#noises.entries()) {
      const control = controls[index] ?? null;
      const cell = this.#cells[index] ?? null;
      if (control !== null && cell !== null) cell.reference.obey(control, place);
      this.#measure(index, noise, runs[index] ?? null, control?.exclude === true);
    }
    const moved = this.#moved();
    this.#night.learn();
    const { effect } = this.#night;
    return this.#noises.map((noise, index) => {
      const own = runs[index] ?? null;
      if (own === null || own.length === 0) return null;
      const control = controls[index] ?? {};
      const log = at(this.#logs, index);
      let cell = this.#cells[index] ?? null;
      const isNew = cell === null;
      if (cell === null) {
        if (control.exclude === true) return null;
        cell = newCell(noise, place, log, this.#reports);
        this.#cells[index] = cell;
        cell.reference.obey(control, place);
      }
      const sweep: CellSweep = {
        place,
        log: log - effect,
        runs: own.length,
        extra: at(this.#extras, index),
        night: this.#night,
        share: this.#share,
        moved: moved(index),
      };
      if (control.exclude === true) return cell.reference.judgement(sweep, cell.state.judgeApart(sweep), true);
      const reported = isNew ? null : cell.state.judge(sweep);
      cell.reference.update(reported, control.confirmed === true);
      return cell.reference.judgement(sweep, reported);
    });
  }

  /** The effect of the night, and what moved together in this sweep: groups are no part of the night. */
  #moved(): (index: number) => CellSweep['moved'] {
    const night = this.#night;
    const all = { differences: this.#differences, variances: this.#variances };
    night.estimate(all);
    if (night.shift !== 0) {
      const shift: CellSweep['moved'] = { word: 'all', change: night.shift, kind: 'shift' };
      return () => shift;
    }
    for (let i = 0; i < this.#zs.length; i += 1) {
      this.#zs[i] = (at(this.#differences, i) - night.effect) / Math.sqrt(at(this.#variances, i) + night.variance);
    }
    const groups = this.#groups.moved(this.#zs, night, all);
    if (groups.size > 0 && groups.size < this.#zs.length) {
      const others = this.#zs.map((_, i) => (groups.has(i) ? Number.NaN : at(this.#differences, i)));
      night.estimate({ differences: others, variances: this.#variances });
    }
    return (index) => {
      const group = groups.get(index);
      return group === undefined ? null : { ...group, kind: 'group' };
    };
  }

  #measure(index: number, noise: CellNoise, runs: SweepRuns, isApart: boolean): void {
    this.#differences[index] = Number.NaN;
    this.#variances[index] = Number.NaN;
    if (runs === null || runs.length === 0) return;
    const cell = this.#cells[index] ?? null;
    const level = cell?.state.recent ?? null;
    const logs = runs.map(Math.log);
    const kept = agreeingRuns(logs, noise, level?.mean ?? null);
    let sum = 0;
    for (const log of kept) sum += log;
    const log = sum / kept.length;
    if (!isApart) noise.addRuns(kept, log);
    noise.refresh();
    this.#logs[index] = log;
    this.#extras[index] = noise.extraOf(kept.length);
    if (level === null || isApart) return;
    this.#differences[index] = log - level.mean;
    this.#variances[index] = noise.sd ** 2 * (1 + 1 / level.count) + at(this.#extras, index);
  }
}
