import type { CellEvidence, MetricHistory } from '../../judge/gate/evidence.ts';
import { measuredNights, medianValues } from '../../judge/gate/fit-runs.ts';
import { fitRuns, type LeftOutRun } from '../../judge/gate/fit-runs.ts';
import { valueRule } from '../../judge/value-rule.ts';
import type { KeyedCell } from '../../records/cell.ts';
import type { Environment } from '../../records/environment.ts';
import { gateMetric, type MetricId } from '../../records/metric.ts';
import { failureSentences } from '../../records/outcome.ts';
import { FLAG_LABELS } from '../../records/run-flag.ts';
import type { CellRun } from '../../records/run.ts';
import type { CellKey, SweepId } from '../../records/scalars.ts';
import { machineFilter } from '../../selection/cell-histories.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { cellRunsOf } from '../../store/runs/cell-runs.ts';
import { type MeasuredRun, measuredRuns } from '../../store/runs/run-values.ts';
import { findBuilds, findEnvironments } from '../../store/sweeps/environments.ts';
import { hashOf } from '../../text/canonical-json.ts';
import { accuracyHistories, boundHistories, precisionHistories } from './judged-only.ts';
import type { Series } from './series.ts';

/** The histories of the cells of a series. */
export class Histories {
  readonly environments: ReadonlyMap<string, Environment>;
  private readonly series: Series;
  private readonly sweepIds: readonly SweepId[];
  private readonly metrics: readonly MetricId[];
  private readonly runs: ReadonlyMap<CellKey, readonly MeasuredRun[]>;
  private readonly sameMachine: ReturnType<typeof machineFilter>;
  /** What each build was made of; null where that is not known. */
  private readonly sources: ReadonlyMap<string, string | null>;
  private readonly precisions: ReadonlyMap<string, MetricHistory>;
  private readonly accuracies: ReadonlyMap<string, MetricHistory>;
  private readonly newest: () => ReadonlyMap<string, readonly CellRun[]>;

  constructor(db: StoreDatabase, series: Series, cells: readonly KeyedCell[], metrics: readonly MetricId[]) {
    const { sweep, sweeps } = series;
    this.series = series;
    this.sweepIds = sweeps.map(({ sweepId }) => sweepId);
    const keys = cells.map(({ key }) => key);
    this.metrics = [...new Set([...metrics, ...cells.map((cell) => gateMetric(null, cell))])];
    this.runs = measuredRuns(db, this.sweepIds, new Set(keys), this.metrics);
    const environmentIds = new Set<string>();
    const buildIds = new Set<string>();
    for (const own of this.runs.values()) {
      for (const { buildId, environmentId } of own) {
        environmentIds.add(environmentId);
        if (buildId !== null) buildIds.add(buildId);
      }
    }
    this.environments = findEnvironments(db, [...environmentIds]);
    this.sameMachine = machineFilter(this.environments);
    this.sources = new Map(
      [...findBuilds(db, [...buildIds])].map(([id, { modelSha256, flags }]) => [
        id,
        modelSha256 === null ? null : hashOf({ modelSha256, flags }),
      ]),
    );
    this.precisions = precisionHistories(db, series, cells, this.runs);
    this.accuracies = accuracyHistories(db, series);
    let newest: ReadonlyMap<string, readonly CellRun[]> | null = null;
    this.newest = () => (newest ??= Map.groupBy(cellRunsOf(db, [sweep.sweepId], keys), ({ cellKey }) => cellKey));
  }

  of(
    cell: KeyedCell,
    { isLeftOut, isPlanned }: Required<Pick<CellEvidence, 'isLeftOut' | 'isPlanned'>>,
  ): { readonly cell: CellEvidence; readonly otherMachine: number } {
    const { sweeps } = this.series;
    const all = this.runs.get(cell.key) ?? [];
    const own = this.sameMachine(all, this.sweepIds);
    const ownMetric = gateMetric(null, cell);
    const fitAll = this.fittingOf(own);
    const metrics: MetricHistory[] = [];
    let failures: readonly string[] = [];
    for (const metric of new Set([ownMetric, ...this.metrics])) {
      const { leftOut, measured } = this.historyOf(metric, own, fitAll);
      const { nights } = measured.history;
      if (metric === ownMetric && nights.at(-1) !== sweeps.length - 1 && isPlanned) {
        failures = this.failuresOf(cell, leftOut);
      }
      if (metric === ownMetric || nights.length > 0) metrics.push(measured);
    }
    metrics.push(
      ...boundHistories(own, this.sweepIds),
      ...[this.precisions.get(cell.key), this.accuracies.get(cell.key)].flatMap((found) => found ?? []),
    );
    return {
      cell: { cell, metrics, environmentIds: this.environmentsOf(own), isPlanned, isLeftOut, failures },
      otherMachine: all.length === own.length ? 0 : sweepsOf(all) - sweepsOf(own),
    };
  }

  /** @param fitAll the runs of the cell that count, where all have a value */
  private historyOf(metric: MetricId, own: readonly MeasuredRun[], fitAll: (metric: MetricId) => FittedRuns) {
    const rule = valueRule(own, metric);
    const valueOf = (run: MeasuredRun): number => rule(run) ?? Number.NaN;
    const isWhole = own.every((run) => valueOf(run) > 0);
    const fitted = isWhole
      ? fitAll(metric)
      : this.fit(
          own.filter((run) => valueOf(run) > 0),
          metric,
        );
    const { leftOut, nights, runs } = fitted;
    const measured = {
      metric,
      history: { ...fitted.history, nights, values: medianValues(runs, valueOf) },
      get runs() {
        return runs.map((latest) => latest.map(valueOf));
      },
    };
    return { measured, leftOut };
  }

  private fit(runs: readonly MeasuredRun[], metric: MetricId) {
    const { byNight, leftOut } = fitRuns(this.series.sweeps, runs, metric);
    const { clock, ...measured } = measuredNights(byNight);
    const builds = measured.runs.map((latest) => latest.at(-1)?.buildId ?? null);
    const sources = builds.map((build) => (build === null ? null : (this.sources.get(build) ?? null)));
    return { leftOut, ...measured, history: { clock, builds, sources } };
  }

  /** Runs without a flag count for every metric. */
  private fittingOf(own: readonly MeasuredRun[]): (metric: MetricId) => FittedRuns {
    const fit = (metric: MetricId): FittedRuns => this.fit(own, metric);
    if (own.some(({ flags }) => flags.length > 0)) return fit;
    let fitted: FittedRuns | null = null;
    return (metric) => (fitted ??= fit(metric));
  }

  private environmentsOf(own: readonly MeasuredRun[]): (string | null)[] {
    const bySweep = new Map(own.map(({ environmentId, sweepId }) => [sweepId, environmentId]));
    return this.sweepIds.map((sweepId) => bySweep.get(sweepId) ?? null);
  }

  private failuresOf(cell: KeyedCell, leftOut: readonly LeftOutRun[]): string[] {
    const runs = this.newest().get(cell.key) ?? [];
    const excluded = leftOut.filter(({ sweepId }) => sweepId === this.series.sweep.sweepId);
    const evidence = new Map(runs.flatMap(({ flags }) => flags).map((flag) => [FLAG_LABELS[flag.id], flag.evidence]));
    const sentences = excluded.map(({ reason }) =>
      [reason, evidence.get(reason)].filter((part) => part !== undefined).join(': '),
    );
    const reasons = [...new Set([...failureSentences(runs.map(({ outcome }) => outcome)), ...sentences])];
    return reasons.length === 0 ? ['no run'] : reasons;
  }
}

type FittedRuns = ReturnType<Histories['fit']>;

function sweepsOf(runs: readonly MeasuredRun[]): number {
  return new Set(runs.map(({ sweepId }) => sweepId)).size;
}
