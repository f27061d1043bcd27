import { CellNoise, noisePrior } from './cell-noise.ts';
import { type CellSweep, JudgedCell } from './judged-cell.ts';
import { SweepEffect } from './sweep-effect.ts';
import { RULES } from './settings.ts';

export interface Control {
  /** The previous level becomes the reference: it was acknowledged, or is that of the merge base. */
  readonly accept?: boolean;
  /** The sweep is judged but belongs to no level: the machine was slow, or pairs showed no change. */
  readonly exclude?: boolean;
  /** Runs of a baseline, whose level is the reference of this sweep. */
  readonly reference?: readonly number[];
}

/**
 * Judges one metric of one matrix, sweep by sweep, each with only the past.
 * @param wordsOfCells words of each cell that groups share, such as precision and model
 * @param judgedTogether number of cells times metrics judged in one sweep
 * @param typicalSd sd of a sweep on the log scale while nothing is known
 */
export function matrixJudge(
  wordsOfCells: readonly Iterable<string>[],
  judgedTogether: number = wordsOfCells.length,
  typicalSd: number = RULES.typicalSd,
) {
  const prior = noisePrior(typicalSd);
  const share = Math.min(1, (RULES.testsAtFullP / judgedTogether) ** RULES.testsPower);
  const reports = judgedTogether < RULES.manyTests ? RULES.reportsOfLevel : 1;
  const cells = wordsOfCells.map(() => new JudgedCell(new CellNoise(prior), reports));
  const pairs = wordsOfCells.flatMap((words, cell) => [...words].map((word) => ({ cell, word })));
  const groups = [...Map.groupBy(pairs, ({ word }) => word).values()].map((own) => own.map(({ cell }) => cell));
  const common = new SweepEffect();
  let sweeps = 0;

  return (
    runs: readonly (readonly number[] | null)[],
    controls: readonly (Control | null | undefined)[] = [],
    isAsked: boolean = true,
  ) => {
    const place = sweeps++;
    // Learn each time the number of known sweeps has doubled.
    if (place > 1 && (place & (place - 1)) === 0) prior.learn(cells.map(({ noise }) => noise));
    const measured = cells.map((cell, index) => {
      const { accept = false, exclude = false } = controls[index] ?? {};
      if (accept) cell.accept();
      return cell.measure(runs[index] ?? [], exclude);
    });
    const differences = Float64Array.from(measured, (own) => own?.difference ?? Number.NaN);
    const variances = Float64Array.from(measured, (own) => own?.variance ?? Number.NaN);
    common.estimate(differences, variances);
    const { shift } = common;
    const moved = shift === 0 ? common.movedGroups(groups, differences, variances) : null;
    // Cells that moved do not count for the common effect.
    if (moved !== null && moved.size > 0 && moved.size < runs.length) {
      const others = differences.map((difference, index) => (moved.has(index) ? Number.NaN : difference));
      common.estimate(others, variances);
    }
    common.learn();
    return cells.map((cell, index) => {
      const { reference } = controls[index] ?? {};
      const own = measured[index] ?? null;
      const isNew = cell.home.count === 0;
      if (own === null || (isNew && own.isApart)) return null;
      if (isNew) cell.home.add(place, own.log);
      if (reference !== undefined) cell.replace(reference, place);
      const ofGroup = moved === null ? shift : (moved.get(index) ?? null);
      const sweep: CellSweep = { ...own, place, log: own.log - common.effect, common, share, moved: ofGroup };
      const reported = isNew ? null : cell.judge(sweep);
      if (!own.isApart) cell.update(reported, reference !== undefined);
      return isAsked ? cell.judgement(sweep, reported) : null;
    });
  };
}
