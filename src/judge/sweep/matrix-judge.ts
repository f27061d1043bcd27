import { at } from '../../statistics/at.ts';
import { median } from '../../statistics/median.ts';
import { CellNoise, NoisePrior } from './cell-noise.ts';
import { CellReference } from './cell-reference.ts';
import { JudgedCell } from './judged-cell.ts';
import type { CellJudgement, CellSweep, Control, SweepRuns } from './judgement.ts';
import { GroupShifts, NightEffect } from './night-effect.ts';
import { RULES } from './settings.ts';

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

type Controls = readonly (Control | null | undefined)[];

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
  #place = 0;

  /** @param cells words that groups of cells share, of each cell: precision, model */
  constructor(
    cells: readonly Iterable<string>[],
    { typicalSd = RULES.typicalSd, judgedTogether = cells.length }: MatrixOptions = {},
  ) {
    this.#prior = new NoisePrior(typicalSd);
    this.#share = Math.min(1, (RULES.testsAtFullP / judgedTogether) ** RULES.testsPower);
    this.#reports = judgedTogether < RULES.manyTests ? RULES.reportsOfLevel : 1;
    this.#cells = cells.map(() => null);
    this.#noises = cells.map(() => new CellNoise(this.#prior));
    this.#night = new NightEffect(cells.length);
    this.#groups = new GroupShifts(cells);
    this.#logs = new Float64Array(cells.length);
    this.#differences = new Float64Array(cells.length);
    this.#variances = new Float64Array(cells.length);
    this.#extras = new Float64Array(cells.length);
  }

  /** Learns from a sweep of which nobody asks the judgement. */
  learn(runs: readonly SweepRuns[], controls: Controls = []): void {
    this.#judge(runs, controls, () => null);
  }

  /** @param runs of each cell, null where it has no result in this sweep @returns null for those */
  step(runs: readonly SweepRuns[], controls: Controls = []): readonly (CellJudgement | null)[] {
    return this.#judge(runs, controls, (cell, ...facts) => cell.reference.judgement(...facts));
  }

  #judge(
    runs: readonly SweepRuns[],
    controls: Controls,
    judgementOf: (cell: CellAndReference, ...facts: Parameters<CellReference['judgement']>) => CellJudgement | null,
  ): readonly (CellJudgement | null)[] {
    const place = this.#place++;
    // Each time that twice as many sweeps are known.
    if (place > 1 && (place & (place - 1)) === 0) this.#prior.learn(this.#noises);
    for (const [index, noise] of this.#noises.entries()) {
      const control = controls[index] ?? null;
      const cell = this.#cells[index] ?? null;
      if (control?.accept === true) cell?.reference.accept();
      this.#measure(index, noise, runs[index] ?? null, control?.exclude === true);
    }
    const { shift } = this.#night.estimate(this.#differences, this.#variances);
    const groups = shift === 0 ? this.#groups.moved(this.#night, this.#differences, this.#variances) : null;
    // They are no part of the night.
    if (groups !== null && groups.size > 0 && groups.size < runs.length) {
      const others = this.#differences.map((difference, index) => (groups.has(index) ? Number.NaN : difference));
      this.#night.estimate(others, this.#variances);
    }
    this.#night.learn();
    const { effect } = this.#night;
    return this.#noises.map((noise, index) => {
      const own = runs[index] ?? null;
      const { exclude: isApart = false, reference } = controls[index] ?? {};
      let cell = this.#cells[index] ?? null;
      if (own === null || own.length === 0 || (cell === null && isApart)) return null;
      const log = at(this.#logs, index);
      const isNew = cell === null;
      if (cell === null) {
        const state = new JudgedCell(noise, place, log, this.#reports);
        cell = { state, reference: new CellReference(state) };
        this.#cells[index] = cell;
      }
      if (reference !== undefined) cell.reference.replace(reference, place);
      const sweep: CellSweep = {
        place,
        log: log - effect,
        runs: own.length,
        extra: at(this.#extras, index),
        night: this.#night,
        share: this.#share,
        moved: groups === null ? shift : (groups.get(index) ?? null),
      };
      if (isApart) return judgementOf(cell, sweep, cell.state.judgeApart(sweep), true);
      const reported = isNew ? null : cell.state.judge(sweep);
      cell.reference.update(reported);
      return judgementOf(cell, sweep, reported);
    });
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

/** The logs of the runs of one sweep that agree: a run far from the median is none. Of two far apart the one nearer to the level counts. */
function agreeingRuns(logs: readonly number[], noise: CellNoise, level: number | null): readonly number[] {
  if (logs.length < 2) return logs;
  const limit = Math.max(RULES.runSd * noise.runSd, RULES.runLeast);
  const [a = 0, b = 0] = logs;
  if (logs.length === 2) {
    if (Math.abs(a - b) <= 1.4 * limit) return logs;
    if (level === null) return [Math.min(a, b)];
    return [Math.abs(a - level) < Math.abs(b - level) ? a : b];
  }
  const middle = median(logs) ?? 0;
  return logs.filter((log) => Math.abs(log - middle) <= limit);
}
