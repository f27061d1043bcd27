import { judgeExperiment, abSides } from '../../judge/judge-experiment.ts';
import type { AbExperiment } from '../../judge/experiment.ts';
import { metricOf } from '../../records/metric.ts';
import { cellLabel } from '../../text/cell-label.ts';
import { barredBy, FLAG_LABELS, type RunFlag } from '../../records/run-flag.ts';
import type { Sweep } from '../../records/sweep.ts';
import type { AbOutput } from './output.ts';
import type { AbDetails } from './text.ts';
import { cellRunsOf } from '../../store/runs/cell-runs.ts';
import type { CellRun } from '../../records/run.ts';
import { findCells } from '../../store/cells.ts';
import { harnessVersionsOf } from '../../store/runs/run-facts.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { metricNamed } from '../../selection/by-name.ts';

/** What the stored runs of an experiment say. */
export function abReport(
  db: StoreDatabase,
  sweep: Sweep,
  experiment: AbExperiment,
): { readonly output: AbOutput; readonly details: AbDetails } {
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
  const marks = distinct(runs.filter(({ cellKey }) => !keysOfA.has(cellKey)));
  const marksOfA = distinct(runs.filter(({ cellKey }) => keysOfA.has(cellKey)));
  const versions = harnessVersionsOf(db, sweep.sweepId);
  const { before, name, notes, significantPercent, variables } = experiment;
  const output: AbOutput = {
    schemaVersion: 1,
    sweepId: sweep.sweepId,
    name,
    matrix: sweep.matrix,
    provenance: sweep.provenance,
    state: sweep.state,
    tensorrt: sweep.tensorrt,
    versions,
    variables,
    before,
    significantPercent,
    marks: marks.map(({ id }) => id),
    cells: judged.cells.flatMap(({ cellKey: _key, ...judgement }, at) => {
      const pair = pairs[at];
      if (pair === undefined) return [];
      const { b, cell, metric } = pair;
      const { betterIs, unit } = metricOf(metric);
      const reasons = [...judgement.reasons, ...pair.reasons];
      return [{ key: cell.key, label: cellLabel(cell), metric, unit, betterIs, ...judgement, bKey: b, reasons }];
    }),
    overall: judged.overall,
    notes: [...notes, ...notesOf(experiment, marksOfA, versions)],
  };
  return { output, details: { cells, marks, ownNotes: notes.length } };
}

/** What a reader must know before believing it. */
function notesOf({ before }: AbExperiment, marksOfA: readonly RunFlag[], versions: AbOutput['versions']): string[] {
  const byHarness = Map.groupBy(versions, ({ harness }) => harness);
  return [
    ...[...byHarness].flatMap(([harness, all]) =>
      all.length < 2 ? [] : [`${all.length} versions of ${harness} measured this: they make no picture together`],
    ),
    ...marksOfA.map(({ evidence, id }) => `A itself is marked ${FLAG_LABELS[id]}: ${evidence}`),
    ...Object.entries(before).flatMap(([name, values]) => {
      const set = values.filter((value) => value !== null);
      return set.length === 0 ? [] : [`A is measured with ${name}=${set.join(', ')}`];
    }),
  ];
}

/** Each kind of flag that bars runs, with the evidence of the first. */
function distinct(runs: readonly CellRun[]): RunFlag[] {
  const flags = runs.flatMap((run) => barredBy(run.flags));
  return [...new Map(flags.toReversed().map((flag) => [flag.id, flag])).values()].toReversed();
}
