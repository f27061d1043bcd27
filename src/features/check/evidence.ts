import { cellsWithoutEngine } from '../../engines/engine-state.ts';
import type { CellEvidence, MetricHistory } from '../../judge/gate/evidence.ts';
import { fitSweeps, type LeftOutRun, medianValues } from '../../judge/gate/fit-runs.ts';
import { leftOutFor } from '../../judge/run-trust.ts';
import { knownVariablesOn } from '../../process/environment-variables.ts';
import { type KeyedCell, variablesOf, inLabelOrder } from '../../records/cell.ts';
import { BOUND_SHARE_IDS, BOUND_SHARES } from '../../records/gated-metric.ts';
import { gateMetric, type MetricId } from '../../records/metric.ts';
import { failureSentences, type Outcome, FLAG_LABELS } from '../../records/outcome.ts';
import { type AccuracyRecord, sameAccuracyHistory } from '../../records/accuracy.ts';
import type { CellRun } from '../../records/run.ts';
import type { CellKey, SweepId } from '../../records/scalars.ts';
import { readStoredPlan } from '../../run/stored-plan.ts';
import { realPrecisions } from '../../selection/engines-of-cells.ts';
import { machineFilter } from '../../selection/cell-histories.ts';
import { findCells } from '../../store/cells.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { recordsByCell } from '../../store/runs/accuracies.ts';
import { cellRunsOf } from '../../store/runs/cell-runs.ts';
import { type MeasuredRun, measuredRuns } from '../../store/runs/run-values.ts';
import { findBuilds, findEnvironments } from '../../store/sweeps/environments.ts';
import { planOf } from '../../store/sweeps/sweeps.ts';
import { capturedCells, matrixCellsOf } from '../../store/sweeps/swept-cells.ts';
import { count } from '../../terminal/numbers.ts';
import { hashOf } from '../../text/canonical-json.ts';
import type { Series } from './series.ts';
import { LEAST_PRECISION_SHARE, precisionShare } from '../../layers/real-precision.ts';

/** The cells of the newest sweep and of the one before. `leftOut`: those of the matrix that a filter left out. */
function cellsOf(db: StoreDatabase, { baseBranch, sweep, sweeps }: Series) {
  const ofSweep = (sweepId: SweepId) => {
    const [{ planned, leftOut }, captured] = [matrixCellsOf(db, sweepId), capturedCells(db, sweepId)];
    return { planned: new Set([...planned].filter((key) => !captured.has(key))), leftOut: leftOut ?? [], captured };
  };
  const { planned, leftOut: filtered, captured } = ofSweep(sweep.sweepId);
  const leftOut = new Set<string>([...filtered, ...captured]);
  const before = sweeps.slice(-2, -1).map(({ sweepId }) => ofSweep(sweepId));
  const all = [{ planned, leftOut }, ...before].flatMap((one) => [...one.planned, ...one.leftOut]);
  const isLeft = ({ key }: KeyedCell): boolean => baseBranch !== null && leftOut.has(key);
  const chosen = inLabelOrder([...findCells(db, all).values()]).filter((cell) => !isLeft(cell));
  const byEligible = Map.groupBy(chosen, ({ axisFlags }) => knownVariablesOn(variablesOf(axisFlags)).length === 0);
  const ineligible = byEligible.get(false)?.filter(({ key }) => planned.has(key)).length ?? 0;
  return { cells: byEligible.get(true) ?? [], planned, leftOut, ineligible, captured };
}

/** @param baseline index of a named baseline among the sweeps; null if the last accepted level is the reference */
export function readEvidence(db: StoreDatabase, series: Series, baseline: number | null, gated: readonly MetricId[]) {
  const { sweep, sweeps } = series;
  const { captured, cells, ineligible, leftOut, planned } = cellsOf(db, series);
  const sweepIds = sweeps.map(({ sweepId }) => sweepId);
  const keys = cells.map(({ key }) => key);
  const metrics = [...new Set([...gated, ...cells.map((cell) => gateMetric(null, cell))])];
  const { byCell, buildIds, environmentIds, valueRule } = measuredRuns(db, sweepIds, new Set(keys), metrics);
  const read = cells.map((cell) => ({ cell, all: byCell.get(cell.key) ?? [] }));
  const environments = findEnvironments(db, [...environmentIds]);
  // A pull request is judged by one comparison, which a change of GPU would spoil. A series continues across GPUs.
  const sameMachine = machineFilter(environments, series.baseBranch !== null);
  const sources = new Map(
    [...findBuilds(db, [...buildIds])].flatMap(([id, { engineKey, flags, modelSha256 }]) =>
      modelSha256 === null ? [] : [[id, engineKey ?? hashOf({ modelSha256, flags })] as const],
    ),
  );
  const engineValues = [...precisionValues(db, sweeps, baseline, read), ...accuracyValues(db, sweeps, baseline)];
  const ofEngines = Map.groupBy(engineValues, ({ key }) => key);
  let newest: ReadonlyMap<CellKey, readonly CellRun[]> | null = null;
  let unbuilt: ReadonlyMap<CellKey, Outcome> | null = null;

  const fit = (own: readonly MeasuredRun[], metric: MetricId) => {
    const { clock, leftOut: excluded, places, runs: counted } = fitSweeps(sweeps, own, metric);
    const builds = counted.map((latest) => latest.at(-1)?.buildId ?? null);
    const made = builds.map((build) => sources.get(build ?? '') ?? null);
    return { excluded, counted, history: { places, clock, builds, sources: made } };
  };

  const failuresOf = (key: CellKey, excluded: readonly LeftOutRun[]): readonly string[] => {
    newest ??= Map.groupBy(cellRunsOf(db, [sweep.sweepId], keys), ({ cellKey }) => cellKey);
    const own = newest.get(key) ?? [];
    const said = new Map(own.flatMap(({ flags }) => flags).map((flag) => [FLAG_LABELS[flag.id], flag.evidence]));
    const sentences = excluded
      .filter(({ sweepId }) => sweepId === sweep.sweepId)
      .map(({ reason }) => [reason, said.get(reason)].filter((part) => part !== undefined).join(': '));
    const reasons = [...new Set([...failureSentences(own.map(({ outcome }) => outcome)), ...sentences])];
    if (reasons.length > 0) return reasons;
    const plan = unbuilt === null ? (readStoredPlan(planOf(db, sweep.sweepId))?.plan ?? null) : null;
    unbuilt ??= plan === null ? new Map() : cellsWithoutEngine(db, sweep, plan);
    const build = unbuilt.get(key);
    return build === undefined ? ['no run'] : failureSentences([build]).map((sentence) => `its build: ${sentence}`);
  };

  // The largest number of sweeps of one cell.
  let sweepsOfOtherMachine = 0;
  const evidence = read.map(({ all, cell }): CellEvidence => {
    const own = sameMachine(all, sweepIds);
    // Runs without a flag count for every metric.
    const isPlain = own.every(({ flags }) => flags.length === 0);
    let plain: ReturnType<typeof fit> | null = null;
    const [main, ...others] = [...new Set([gateMetric(null, cell), ...metrics])].map((metric) => {
      const valueOf = valueRule(own, metric);
      const valued = own.filter((run) => valueOf(run) > 0);
      const countsAll = isPlain && valued.length === own.length;
      const { counted, excluded, history } = countsAll ? (plain ??= fit(own, metric)) : fit(valued, metric);
      const measured = {
        metric,
        history: { ...history, values: medianValues(counted, valueOf) },
        runsAt: (index: number) => counted[index]?.map(valueOf) ?? [],
      };
      return { excluded, measured };
    });
    const isPlanned = planned.has(cell.key);
    const isFailed = isPlanned && main?.measured.history.places.at(-1) !== sweeps.length - 1;
    const bySweep = new Map(own.map(({ environmentId, sweepId }) => [sweepId, environmentId]));
    const elsewhere = own === all ? 0 : new Set(all.map(({ sweepId }) => sweepId)).size - bySweep.size;
    sweepsOfOtherMachine = Math.max(sweepsOfOtherMachine, elsewhere);
    return {
      cell,
      metrics: [
        ...(main === undefined ? [] : [main.measured]),
        ...others.flatMap(({ measured }) => (measured.history.places.length > 0 ? [measured] : [])),
        ...boundHistories(own, sweepIds),
        ...engineHistories(ofEngines.get(cell.key) ?? []),
      ],
      environmentIds: sweepIds.map((sweepId) => bySweep.get(sweepId) ?? null),
      isPlanned,
      isLeftOut: leftOut.has(cell.key),
      failures: isFailed ? failuresOf(cell.key, main?.excluded ?? []) : [],
    };
  });
  return {
    cells: evidence.filter(
      ({ isLeftOut, metrics: own }) => !isLeftOut || own.some(({ history }) => history.places.length > 0),
    ),
    environments,
    captured: captured.size,
    notes: [
      ineligible > 0 && `${count(ineligible, 'cell')} under a profiling switch or as an upper bound: never judged`,
      sweepsOfOtherMachine > 0 &&
        `${count(sweepsOfOtherMachine, 'sweep')} on another GPU${series.baseBranch === null ? ' model' : ''}, TensorRT major or locked clock left out: bench compare A B --across-gpu --across-tensorrt --across-clocks`,
    ],
  };
}

function engineHistories(all: readonly ReturnType<typeof precisionValues | typeof accuracyValues>[number][]) {
  return [...Map.groupBy(all, ({ metric }) => metric)].map(([metric, own]) => ({
    metric,
    history: { places: own.map(({ place }) => place), values: Float64Array.from(own, ({ value }) => value) },
    runsAt: (index: number) => own.slice(index, index + 1).map(({ value }) => value),
  }));
}

/** Percentage of the fit runs of each sweep with each bottleneck. @param all in the order of the sweeps */
function boundHistories(all: readonly MeasuredRun[], sweepIds: readonly SweepId[]): MetricHistory[] {
  const own = all.filter(({ flags }) => leftOutFor(flags, 'gpuComputeMs') === null);
  const bySweep = Map.groupBy(own, ({ sweepId }) => sweepId);
  const places = sweepIds.flatMap((sweepId, place) => (bySweep.has(sweepId) ? [place] : []));
  if (places.length === 0) return [];
  const found = new Set(own.map(({ boundBy }) => boundBy));
  // Most of the thousands of cells have none of them, so that they share one history.
  const none = new Float64Array(places.length);
  return BOUND_SHARE_IDS.map((metric) => {
    const by = BOUND_SHARES[metric];
    const shareOf = (runs: readonly MeasuredRun[]): number =>
      (100 * runs.filter(({ boundBy }) => boundBy === by).length) / runs.length;
    const values = found.has(by) ? Float64Array.from(bySweep.values(), shareOf) : none;
    return { metric, history: { places, values }, runsAt: (index) => [values[index] ?? 0] };
  });
}

type Read = { readonly cell: KeyedCell; readonly all: readonly MeasuredRun[] };

/** Share of the requested precision in the newest sweep, and in the baseline or the previous sweep. */
function precisionValues(db: StoreDatabase, sweeps: Series['sweeps'], baseline: number | null, cells: readonly Read[]) {
  const [judged, reference] = [sweeps.at(-1)?.sweepId, sweeps[baseline ?? -1]?.sweepId];
  const rebuilt = cells.flatMap(({ all, cell }) => {
    const [earlier, now] = [all.filter(({ sweepId }) => sweepId !== judged), all.at(-1)];
    const before = earlier.findLast(({ sweepId }) => sweepId === reference) ?? earlier.at(-1);
    if (now === undefined || now.sweepId !== judged || before === undefined) return [];
    return now.buildId === before.buildId ? [] : [{ cell, before, now }];
  });
  if (rebuilt.length === 0) return [];
  const ofCells = rebuilt.map(({ cell }) => cell);
  return (['before', 'now'] as const).flatMap((side) => {
    const own = rebuilt.map((one) => one[side]);
    const real = realPrecisions(db, ofCells, own, [...new Set(own.map(({ sweepId }) => sweepId))]);
    return rebuilt.flatMap(({ cell, [side]: { sweepId } }) => {
      const share = precisionShare(cell, real.get(cell.key) ?? null, LEAST_PRECISION_SHARE);
      const about = { key: cell.key, metric: 'precisionSharePercent' as const };
      const place = sweeps.findIndex((sweep) => sweep.sweepId === sweepId);
      return share === null ? [] : [{ ...about, place, value: 100 * (share.timeShare ?? share.layerShare) }];
    });
  });
}

/** Replaces the infinite ratio of identical outputs, in decibels. */
export const IDENTICAL_DB = 200;

/** Accuracies of the newest sweep, and of the baseline or the last sweep that has some, on the same inputs. */
function accuracyValues(db: StoreDatabase, sweeps: Series['sweeps'], baseline: number | null) {
  const newest = sweeps.length - 1;
  const ids = sweeps.map(({ sweepId }) => sweepId);
  const recordsAt = (place: number) => recordsByCell(db, ids.slice(place, place + 1));
  const current = recordsAt(newest);
  const earlier = [baseline ?? newest, ...[...sweeps.keys()].toReversed()].filter((place) => place < newest);
  let before: typeof current = new Map();
  const place = earlier.find((one) => current.size > 0 && (before = recordsAt(one)).size > 0) ?? newest;
  return [...current].flatMap(([key, records]) => {
    const wasOf = (now: AccuracyRecord) => before.get(key)?.find((other) => sameAccuracyHistory(other, now));
    const now = records.find((one) => wasOf(one) !== undefined) ?? records[0];
    return [now && wasOf(now), now].flatMap((record, at) => {
      const value = Math.min(IDENTICAL_DB, record?.accuracy.sqnrDb ?? IDENTICAL_DB);
      return record === undefined ? [] : [{ key, metric: 'sqnrDb' as const, place: at === 0 ? place : newest, value }];
    });
  });
}
