import type { MetricHistory } from '../../judge/gate/evidence.ts';
import { LEAST_PRECISION_SHARE, precisionShare } from '../../layers/real-precision.ts';
import { type AccuracyRecord } from '../../records/accuracy.ts';
import type { KeyedCell } from '../../records/cell.ts';
import { BOUND_SHARE_IDS, BOUND_SHARES, type GatedMetricId } from '../../records/gated-metric.ts';
import type { CellKey, SweepId } from '../../records/scalars.ts';
import { sameAccuracyHistory } from '../../judge/accuracy-drop.ts';
import { leftOutFor } from '../../judge/run-trust.ts';
import { realPrecisions } from '../../selection/actual-precisions.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { recordsByCell } from '../../store/runs/accuracies.ts';
import type { MeasuredRun } from '../../store/runs/run-values.ts';
import type { Series } from './series.ts';

/** Shares of the fit runs of each sweep with each bottleneck, in percent. @param all in the order of the sweeps */
export function boundHistories(all: readonly MeasuredRun[], sweepIds: readonly SweepId[]): MetricHistory[] {
  const own = all.filter(({ flags }) => leftOutFor(flags, 'gpuComputeMs') === null);
  let from = 0;
  const measured = sweepIds.flatMap((sweepId, night) => {
    const bounds: MeasuredRun['boundBy'][] = [];
    for (; own[from]?.sweepId === sweepId; from += 1) bounds.push(own[from]?.boundBy ?? null);
    return bounds.length === 0 ? [] : [{ night, bounds }];
  });
  if (measured.length === 0) return [];
  const found = new Set(own.map(({ boundBy }) => boundBy));
  const sharesOf = (by: MeasuredRun['boundBy']) =>
    measured.map(({ bounds, night }) => ({
      night,
      value: (100 * bounds.filter((bound) => bound === by).length) / bounds.length,
    }));
  // Most cells have none of them, and there are thousands.
  const zeros = measured.map(({ night }) => ({ night, value: 0 }));
  const none = historyOf('hostBoundPercent', zeros);
  return BOUND_SHARE_IDS.map((metric) => {
    const by = BOUND_SHARES[metric];
    return found.has(by) ? historyOf(metric, sharesOf(by)) : { ...none, metric };
  });
}

function historyOf(
  metric: GatedMetricId,
  values: readonly { readonly night: number; readonly value: number }[],
): MetricHistory {
  return {
    metric,
    history: { nights: values.map(({ night }) => night), values: Float64Array.from(values, ({ value }) => value) },
    runs: values.map(({ value }) => [value]),
  };
}

/**
 * Share of the precision asked for in the newest sweep, and in the baseline or the one before, where the newest engine is
 * another build: the same build computes as before.
 */
export function precisionHistories(
  db: StoreDatabase,
  { baselinePlace, sweeps }: Series,
  cells: readonly KeyedCell[],
  runs: ReadonlyMap<CellKey, readonly MeasuredRun[]>,
): Map<CellKey, MetricHistory> {
  const newest = sweeps.length - 1;
  const rebuilt = cells.flatMap((cell) => {
    const bySweep = Map.groupBy(runs.get(cell.key) ?? [], ({ sweepId }) => sweepId);
    const engines = sweeps.flatMap(({ sweepId }, night) => {
      const run = bySweep.get(sweepId)?.at(-1);
      return run === undefined ? [] : [{ night, run }];
    });
    const now = engines.at(-1);
    const before = engines.find(({ night }) => night === baselinePlace && night !== newest) ?? engines.at(-2);
    const isRebuilt = now?.night === newest && now.run.buildId !== before?.run.buildId;
    return before === undefined || now === undefined || !isRebuilt ? [] : [{ cell, engines: [before, now] }];
  });
  const sharesAt = (place: 0 | 1): Map<string, number> => {
    const own = rebuilt.flatMap(({ cell, engines }) => ({ cell, engine: engines[place] }));
    const sweepIds = [...new Set(own.flatMap(({ engine }) => engine?.run.sweepId ?? []))];
    const asked = own.map(({ cell }) => cell);
    const ofEngines = own.flatMap(({ engine }) => engine?.run ?? []);
    const real = realPrecisions(db, asked, ofEngines, sweepIds);
    return new Map(
      asked.flatMap((cell): [string, number][] => {
        const share = precisionShare(cell, real.get(cell.key) ?? null, LEAST_PRECISION_SHARE);
        return share === null ? [] : [[cell.key, 100 * (share.timeShare ?? share.layerShare)]];
      }),
    );
  };
  if (rebuilt.length === 0) return new Map();
  const [before, now] = [sharesAt(0), sharesAt(1)];
  return new Map(
    rebuilt.flatMap(({ cell, engines }): [string, MetricHistory][] => {
      const values = [before, now].flatMap((shares, place) => {
        const [value, night] = [shares.get(cell.key), engines[place]?.night];
        return value === undefined || night === undefined ? [] : [{ night, value }];
      });
      return values.length === 0 ? [] : [[cell.key, historyOf('precisionSharePercent', values)]];
    }),
  );
}

/** In place of the infinite ratio of outputs that do not differ. */
export const IDENTICAL_DB = 200;

/**
 * Accuracies of the newest sweep's files next to those of the baseline, or of the last sweep on which there were any, on
 * the same inputs: a model is as accurate in every run, so that one sweep is enough.
 */
export function accuracyHistories(db: StoreDatabase, { baselinePlace, sweeps }: Series): Map<CellKey, MetricHistory> {
  const newest = sweeps.length - 1;
  const current = recordsAt(db, sweeps, newest);
  if (current.size === 0) return new Map();
  const earlier = Array.from({ length: newest }, (_, place) => newest - 1 - place);
  for (const night of [...(baselinePlace === null || baselinePlace === newest ? [] : [baselinePlace]), ...earlier]) {
    const before = recordsAt(db, sweeps, night);
    if (before.size > 0) return accuraciesIn(current, before, newest, night);
  }
  return accuraciesIn(current, new Map(), newest, newest);
}

type Records = ReadonlyMap<string, readonly AccuracyRecord[]>;

function recordsAt(db: StoreDatabase, sweeps: Series['sweeps'], night: number): Records {
  const sweep = sweeps[night];
  return sweep === undefined ? new Map() : recordsByCell(db, [sweep.sweepId]);
}

function accuraciesIn(current: Records, before: Records, newest: number, night: number): Map<CellKey, MetricHistory> {
  return new Map(
    [...current].flatMap(([key, records]): [string, MetricHistory][] => {
      const pairs = records.map((now) => ({
        now,
        was: before.get(key)?.find((other) => sameAccuracyHistory(other, now)),
      }));
      const found = pairs.find(({ was }) => was !== undefined) ?? pairs[0];
      if (found === undefined) return [];
      const values = [
        ...(found.was === undefined ? [] : [{ night, value: decibels(found.was) }]),
        { night: newest, value: decibels(found.now) },
      ];
      return [[key, historyOf('sqnrDb', values)]];
    }),
  );
}

function decibels({ accuracy }: AccuracyRecord): number {
  return Math.min(IDENTICAL_DB, accuracy.sqnrDb ?? IDENTICAL_DB);
}
