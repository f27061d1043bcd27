import { cellKeysOf } from '../../store/runs/runs.ts';
import { type BuildKinds, buildKinds } from '../../layers/same-kernels.ts';
import { assessNoise } from './assess-noise.ts';
import { builtCells } from './built-cells.ts';
import { cellSeries, withoutCopies } from './cell-series.ts';
import { LEAST_CALLED_PERCENT } from './visible-change.ts';
import { inLabelOrder } from '../../text/cell-label.ts';
import { UsageError } from '../../errors.ts';
import type { ExitCode } from '../../exit-codes.ts';
import { isMetric, isOfBuild, metricOf, metricWord } from '../../records/metric.ts';
import type { NoiseOutput } from './output.ts';
import { type NoiseDetails, noiseText } from './text.ts';
import { realChanges } from './real-changes.ts';
import { noiseNotes } from './words.ts';
import { cellRunsOf } from '../../store/runs/cell-runs.ts';
import { type CellRun, isMeasured } from '../../records/run.ts';
import { findCells } from '../../store/cells.ts';
import { findingsOf } from '../../store/sweeps/findings.ts';
import { findEnvironments } from '../../store/sweeps/environments.ts';
import { seriesOf } from '../../store/sweeps/find-sweeps.ts';
import { layersOfBuild } from '../../store/runs/layer-runs.ts';
import { loadedEngines } from '../../store/builds/loaded-engines.ts';
import { type StoreDatabase } from '../../store/file/open.ts';
import { chooseCells, namedCells, metricNamed } from '../../selection/by-name.ts';
import { type Io, printResult } from '../../cli/io.ts';
import { withStore } from '../../cli/with-store.ts';
import { resolveSide } from '../../selection/sides.ts';
import type { NoiseOptions } from './command.ts';
import type { BuildId } from '../../records/scalars.ts';

/** `bench noise [CELL...]`: noise floor, false alarms and detectable effects of this machine. */
export async function noise(names: readonly string[], options: NoiseOptions, io: Io): Promise<ExitCode> {
  const { metric, want } = options;
  if (metric !== undefined && isMetric(metric) && isOfBuild(metric)) {
    throw new UsageError(
      `--metric ${metricWord(metric)}: a build has one ${metricOf(metric).label}, however often its engine runs`,
    );
  }
  // Rejects NaN, too.
  if (!(want >= LEAST_CALLED_PERCENT)) {
    throw new UsageError(
      `--want takes a number of percent from ${LEAST_CALLED_PERCENT} on: smaller changes are never called`,
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
  { metric: requested, branch, filter, last, want }: NoiseOptions,
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
  const keys = cells.map(({ key }) => key);
  const runs = cellRunsOf(db, allIds, keys).map((run) => {
    const enginePath = paths.get(run.runId);
    return enginePath === undefined ? run : { ...run, enginePath };
  });
  const sweeps = withoutCopies(all, runs);
  const environments = findEnvironments(db, [...new Set(runs.map(({ environmentId }) => environmentId))]);
  const metric = metricNamed(db, requested);
  const series = cellSeries(cells, sweeps, runs, environments, metric);
  const kept = new Set(sweeps.map(({ sweepId }) => sweepId));
  const own = runs.filter(({ sweepId }) => kept.has(sweepId));
  // A replay is instant, whatever the recorded run took.
  const wallTimesS = newest.provenance === 'recorded' ? new Map<string, number[]>() : wallTimesOf(own);
  const changes = realChanges(series, sweeps, findingsOf(db, { ...newest, matrices: [newest.matrix] }));
  const first = sweeps[0] ?? newest;
  const output = {
    schemaVersion: 1,
    sweepId: newest.sweepId,
    firstSweepId: first.sweepId,
    branch: newest.branch,
    matrix: newest.matrix,
    provenance: newest.provenance,
    sweeps: sweeps.length,
    ...assessNoise(series, sweeps.length, want, wallTimesS, changes),
    builds: builtCells(cells, own, metric, kindsIn(db)),
  } as const;
  return {
    output: { ...output, notes: noiseNotes(output, all.length - sweeps.length) },
    details: { sweep: newest, first, note: side.note, cells: new Map(cells.map((cell) => [cell.key, cell])) },
  };
}

/** Wall times of each cell's timed runs in seconds, by key. */
function wallTimesOf(runs: readonly CellRun[]): Map<string, number[]> {
  const measured = runs.filter(isMeasured);
  const byCell = Map.groupBy(measured, ({ cellKey }) => cellKey);
  return new Map(
    [...byCell].map(([key, own]) => [key, own.flatMap(({ wallS }) => ((wallS ?? 0) > 0 ? (wallS ?? []) : []))]),
  );
}

/** Cells of one engine share its builds: layers are read once. */
function kindsIn(db: StoreDatabase): (buildIds: readonly BuildId[]) => BuildKinds | null {
  const known = new Map<string, BuildKinds | null>();
  return (buildIds) => {
    const name = buildIds.join(' ');
    const before = known.get(name);
    if (before !== undefined) return before;
    const kinds = buildKinds(buildIds.map((buildId) => layersOfBuild(db, buildId)));
    known.set(name, kinds);
    return kinds;
  };
}
