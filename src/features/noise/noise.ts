import { cellKeysOf } from '../../store/runs/runs.ts';
import { HISTORY } from '../../judge/history/settings.ts';
import { count } from '../../terminal/numbers.ts';
import { noisyCell, sweepRunsOf, withoutCopies } from './cell-noise.ts';
import { inLabelOrder } from '../../text/cell-label.ts';
import { UsageError } from '../../errors.ts';
import type { ExitCode } from '../../exit-codes.ts';
import { gateMetric, isMetric, isOfBuild, metricOf, metricWord } from '../../records/metric.ts';
import type { NoiseOutput } from './output.ts';
import { type NoiseDetails, noiseText } from './text.ts';
import { cellRunsOf } from '../../store/runs/cell-runs.ts';
import { findCells } from '../../store/cells.ts';
import { findEnvironments } from '../../store/sweeps/environments.ts';
import { seriesOf } from '../../store/sweeps/find-sweeps.ts';
import { loadedEngines } from '../../store/builds/loaded-engines.ts';
import { type StoreDatabase } from '../../store/file/open.ts';
import { chooseCells, namedCells, metricNamed } from '../../selection/by-name.ts';
import { type Io, printResult } from '../../cli/io.ts';
import { withStore } from '../../cli/with-store.ts';
import { resolveSide } from '../../selection/sides.ts';
import type { NoiseOptions } from './command.ts';

/** `bench noise [CELL...]`: the noise of each cell, and what is visible in spite of it. */
export async function noise(names: readonly string[], options: NoiseOptions, io: Io): Promise<ExitCode> {
  const { metric } = options;
  if (metric !== undefined && isMetric(metric) && isOfBuild(metric)) {
    throw new UsageError(
      `--metric ${metricWord(metric)}: a build has one ${metricOf(metric).label}, however often its engine runs`,
    );
  }
  return withStore(options, io, async (store) => {
    const { output, details } = await assessed(store.db, names, options, io);
    return printResult(io, options, output, (_, look) => noiseText(output, details, look));
  });
}

async function assessed(
  db: StoreDatabase,
  names: readonly string[],
  { metric: requested, branch, filter, last }: NoiseOptions,
  io: Io,
): Promise<{ readonly output: NoiseOutput; readonly details: NoiseDetails }> {
  const side = await resolveSide(db, 'latest', io, { branch });
  const [newest] = side.sweeps;
  if (newest === undefined) throw new UsageError('no sweep is finished');
  const all = seriesOf(db, newest, last).toReversed();
  const allIds = all.map(({ sweepId }) => sweepId);
  const paths = new Map(loadedEngines(db, allIds).map(({ runId, path }) => [runId, path]));
  const known = inLabelOrder([...findCells(db, [...cellKeysOf(db, allIds)]).values()]);
  const cells = chooseCells(db, namedCells(known, names), filter);
  if (cells.length === 0) throw new UsageError('no cell of these sweeps passes; see `bench ls cells`');
  const runs = cellRunsOf(
    db,
    allIds,
    cells.map(({ key }) => key),
  ).map((run) => {
    const enginePath = paths.get(run.runId);
    return enginePath === undefined ? run : { ...run, enginePath };
  });
  const sweepIds = withoutCopies(allIds, runs);
  const environments = findEnvironments(db, [...new Set(runs.map(({ environmentId }) => environmentId))]);
  const metric = metricNamed(db, requested);
  const byCell = Map.groupBy(runs, ({ cellKey }) => cellKey);
  const noisy = cells.map((cell) => {
    const sweepRuns = sweepRunsOf(cell, metric, sweepIds, byCell.get(cell.key) ?? [], environments);
    return noisyCell(cell, gateMetric(metric, cell), sweepRuns, cells.length);
  });
  const first = all.find(({ sweepId }) => sweepId === sweepIds[0]) ?? newest;
  const notes = [
    all.length === sweepIds.length
      ? null
      : `${count(all.length - sweepIds.length, 'sweep')} with the same recorded runs as an earlier one left out`,
    noisy.some(({ sweepPercent }) => sweepPercent !== null)
      ? null
      : `sweep-to-sweep noise needs at least ${HISTORY.leastNights} sweeps: until then what is visible is by the runs alone`,
  ].filter((note) => note !== null);
  return {
    output: {
      schemaVersion: 3,
      sweepId: newest.sweepId,
      firstSweepId: first.sweepId,
      branch: newest.branch,
      matrix: newest.matrix,
      provenance: newest.provenance,
      sweeps: sweepIds.length,
      cells: noisy,
      notes,
    },
    details: { sweep: newest, first, note: side.note, cells: new Map(cells.map((cell) => [cell.key, cell])) },
  };
}
