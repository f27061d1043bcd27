import { CellNoise, NoisePrior } from './cell-noise.ts';
import { type CellSweep, JudgedCell } from './judged-cell.ts';
import { movedGroups, SweepEffect } from './sweep-effect.ts';
import { RULES } from './settings.ts';

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
  readonly #cells: readonly JudgedCell[];
  readonly #common = new SweepEffect();
  readonly #groups: readonly (readonly number[])[];
  #place = 0;

  /**
   * @param cells words of each cell that groups share, such as precision and model
   * @param judgedTogether number of cells times metrics judged in one sweep
   * @param typicalSd sd of a sweep on the log scale while nothing is known
   */
  constructor(
    cells: readonly Iterable<string>[],
    judgedTogether: number = cells.length,
    typicalSd: number = RULES.typicalSd,
  ) {
    this.#prior = new NoisePrior(typicalSd);
    this.#share = Math.min(1, (RULES.testsAtFullP / judgedTogether) ** RULES.testsPower);
    const reports = judgedTogether < RULES.manyTests ? RULES.reportsOfLevel : 1;
    this.#cells = cells.map(() => new JudgedCell(new CellNoise(this.#prior), reports));
    const pairs = cells.flatMap((words, cell) => [...words].map((word) => ({ cell, word })));
    const groups = [...Map.groupBy(pairs, ({ word }) => word).values()];
    this.#groups = groups.map((own) => own.map(({ cell }) => cell));
  }

  step(
    runs: readonly (readonly number[] | null)[],
    controls: readonly (Control | null | undefined)[] = [],
    isAsked: boolean = true,
  ) {
    const place = this.#place++;
    // Learn each time the number of known sweeps has doubled.
    if (place > 1 && (place & (place - 1)) === 0) this.#prior.learn(this.#cells.map(({ noise }) => noise));
    const measured = this.#cells.map((cell, index) => {
      const { accept = false, exclude = false } = controls[index] ?? {};
      if (accept) cell.accept();
      return cell.measure(runs[index] ?? [], exclude);
    });
    const differences = Float64Array.from(measured, (own) => own?.difference ?? Number.NaN);
    const variances = Float64Array.from(measured, (own) => own?.variance ?? Number.NaN);
    this.#common.estimate(differences, variances);
    const { shift } = this.#common;
    const moved = shift === 0 ? movedGroups(this.#groups, this.#common, differences, variances) : null;
    // Cells that moved do not count for the common effect.
    if (moved !== null && moved.size > 0 && moved.size < runs.length) {
      const others = differences.map((difference, index) => (moved.has(index) ? Number.NaN : difference));
      this.#common.estimate(others, variances);
    }
    this.#common.learn();
    const { effect } = this.#common;
    return this.#cells.map((cell, index) => {
      const { exclude: isApart = false, reference } = controls[index] ?? {};
      const own = measured[index] ?? null;
      const isNew = cell.home.count === 0;
      if (own === null || (isNew && isApart)) return null;
      if (isNew) cell.home.add(place, own.log);
      if (reference !== undefined) cell.replace(reference, place);
      const sweep: CellSweep = {
        ...own,
        place,
        log: own.log - effect,
        common: this.#common,
        share: this.#share,
        moved: moved === null ? shift : (moved.get(index) ?? null),
      };
      const reported = isNew ? null : isApart ? cell.judgeApart(sweep) : cell.judge(sweep);
      if (!isApart) cell.update(reported, reference !== undefined);
      return isAsked ? cell.judgement(sweep, reported, isApart) : null;
    });
  }
}
