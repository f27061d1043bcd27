import { judgeExperiment } from '../../judge/judge-experiment.ts';
import { abSides } from '../../judge/experiment-sides.ts';
import type { AbExperiment } from '../../judge/experiment.ts';
import { barredBy, type RunFlag } from '../../records/run-flag.ts';
import type { Sweep } from '../../records/sweep.ts';
import type { AbReport } from './text.ts';
import { type CellRun, cellRunsOf } from '../../store/runs/cell-runs.ts';
import { findCells } from '../../store/cells.ts';
import { harnessVersionsOf } from '../../store/runs/run-methods.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { metricNamed } from '../../selection/metric-named.ts';

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
