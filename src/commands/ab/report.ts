import { judgeExperiment } from '../../analyse/ab-experiment.ts';
import { abSides } from '../../analyse/ab-sides.ts';
import type { AbExperiment } from '../../domain/ab-experiment.ts';
import { barredBy, type RunFlag } from '../../domain/run-flag.ts';
import type { Sweep } from '../../domain/sweep.ts';
import type { AbReport } from '../../report/ab-report.ts';
import { type CellRun, cellRunsOf } from '../../store/cell-runs.ts';
import { findCells } from '../../store/cells.ts';
import { harnessVersionsOf } from '../../store/run-methods.ts';
import type { StoreDatabase } from '../../store/open.ts';
import { metricNamed } from '../metric-named.ts';

/** What the stored runs of an experiment say. */
export function abReport(db: StoreDatabase, sweep: Sweep, experiment: AbExperiment): AbReport {
  const runs = cellRunsOf(db, [sweep.sweepId]).filter(({ role }) => role === 'timed');
  const cells = findCells(
    db,
    experiment.pairs.map(({ a }) => a),
  );
  const asked = metricNamed(db, experiment.metric ?? undefined);
  const pairs = experiment.pairs.flatMap(({ a, b }) => {
    const cell = cells.get(a);
    return cell === undefined ? [] : [{ cell, b, ...abSides(cell, b, asked, runs) }];
  });
  const judged = judgeExperiment(
    pairs.map(({ sides }) => sides),
    experiment.significantPercent,
  );
  const keysOfA = new Set(experiment.pairs.map(({ a }) => a));
  return {
    sweep,
    experiment,
    cells: judged.cells.flatMap((judgement, at) => {
      const pair = pairs[at];
      if (pair === undefined) return [];
      const { b, cell, metric } = pair;
      const reasons = [...judgement.reasons, ...pair.reasons];
      return [{ ...judgement, cell, bKey: b, metric, reasons }];
    }),
    overall: judged.overall,
    marks: distinct(runs.filter(({ cellKey }) => !keysOfA.has(cellKey))),
    marksOfA: distinct(runs.filter(({ cellKey }) => keysOfA.has(cellKey))),
    versions: harnessVersionsOf(db, sweep.sweepId),
  };
}

/** Each kind of flag that bars runs, with the evidence of the first. */
function distinct(runs: readonly CellRun[]): RunFlag[] {
  const flags = runs.flatMap((run) => barredBy(run.flags));
  return [...new Map(flags.toReversed().map((flag) => [flag.id, flag])).values()].toReversed();
}
