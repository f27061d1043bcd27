import type { CellNights } from '../../judge/gate/cell-nights.ts';
import type { TrendStep } from '../../judge/trend.ts';
import type { Sweep } from '../../records/sweep.ts';
import type { CellSamples, LeftOut, ReportNight, ReportLayers, ReportLayersDiff } from '../../html/page-types.ts';
import type { ReportCell } from './page/page-data.ts';
import { histogramOf, type RunSamples } from '../../html/histogram.ts';
import { cellRunsOf } from '../../store/runs/cell-runs.ts';
import { type CellRun, isMeasured } from '../../records/run.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { runSamples } from '../../store/runs/show-run.ts';
import { precisionTwinKey } from '../../judge/deployment.ts';
import { changeRows } from '../../layers/change-rows.ts';
import { diffLayers } from '../../layers/diff-layers.ts';
import { type LayerFacts, layerFactsOf } from '../../layers/layer-facts.ts';
import { layerLabel } from '../../layers/layer-label.ts';
import { sumMs } from '../../layers/summarize-layers.ts';
import type { KeyedCell } from '../../records/cell.ts';
import { PURPOSE_WORDS } from '../../terminal/words.ts';
import { CHANGE_WORDS } from '../layers/index.ts';
import { type LayerRun, layerRunsOfCell } from '../../store/runs/layer-runs.ts';
import { profiledRun } from '../../selection/profiled-engine.ts';
import type { SweepId } from '../../records/scalars.ts';

/** One entry for each sweep of the series. @param environmentIds those of the page, in its order */
export function reportNights(
  { history, runs }: CellNights,
  sweeps: readonly Sweep[],
  environmentIds: readonly string[],
): (ReportNight | null)[] {
  const nights: (ReportNight | null)[] = sweeps.map(() => null);
  for (const [place, current] of runs.entries()) {
    const night = history.nights[place];
    const value = history.values[place];
    if (night === undefined || value === undefined) continue;
    const values = current.map((run) => run.value);
    const environment = environmentIds.indexOf(current.at(-1)?.environmentId ?? '');
    nights[night] = {
      value,
      least: Math.min(...values),
      most: Math.max(...values),
      runs: current.length,
      environment: environment === -1 ? null : environment,
    };
  }
  return nights;
}

/** The nights as `bench trend` takes them, to mark them. */
export function nightSteps(nights: readonly (ReportNight | null)[], sweeps: readonly Sweep[]): TrendStep[] {
  return sweeps.map(({ sweepId }, night) => {
    const { value = null, runs = 0 } = nights[night] ?? {};
    return { id: sweepId, sweepId, value, runs };
  });
}

/** Measured runs that do not count, by sweep and reason. */
export function leftOutRuns({ leftOut }: CellNights, sweeps: readonly Sweep[]): LeftOut[] {
  const places = new Map(sweeps.map(({ sweepId }, night) => [sweepId, night]));
  const groups = Map.groupBy(leftOut, ({ sweepId, reason }) => `${sweepId} ${reason}`);
  return [...groups.values()]
    .flatMap((group): LeftOut[] => {
      const [first] = group;
      const night = first === undefined ? undefined : places.get(first.sweepId);
      return first === undefined || night === undefined ? [] : [{ night, reason: first.reason, runs: group.length }];
    })
    .toSorted((a, b) => a.night - b.night);
}

/** More runs than this are not distinguishable in a chart. */
const SHOWN_RUNS = 6;

/** Query times of the newest runs of each cell, by key. */
export function newestSamples(
  db: StoreDatabase,
  cells: readonly Pick<ReportCell, 'cell' | 'nights'>[],
  sweepIds: readonly SweepId[],
): Map<string, CellSamples> {
  const newest = cells.map(({ cell: { key }, nights }) => ({
    key,
    night: nights.findLastIndex((night) => night !== null),
  }));
  const wanted = new Set(newest.flatMap(({ night }) => sweepIds[night] ?? []));
  const keys = cells.map(({ cell }) => cell.key);
  const runs = cellRunsOf(db, [...wanted], keys).filter(isMeasured);
  const bySweepAndCell = Map.groupBy(runs, ({ sweepId, cellKey }) => `${sweepId} ${cellKey}`);
  return new Map(
    newest.map(({ key, night }) => {
      const own = bySweepAndCell.get(`${sweepIds[night]} ${key}`) ?? [];
      return [key, samplesOf(db, own, night < 0 ? null : night)];
    }),
  );
}

function samplesOf(db: StoreDatabase, runs: readonly CellRun[], night: number | null): CellSamples {
  const compute: RunSamples[] = [];
  const latency: RunSamples[] = [];
  let unreadable = 0;
  for (const { runId } of runs.slice(-SHOWN_RUNS)) {
    try {
      const columns = runSamples(db, runId)?.columns;
      if (columns?.computeMs !== undefined) compute.push({ runId, values: columns.computeMs });
      if (columns?.latencyMs !== undefined) latency.push({ runId, values: columns.latencyMs });
    } catch {
      // A blob that was not written by this program, or was damaged: the rest of the report is valid.
      unreadable += 1;
    }
  }
  const histogram = histogramOf('GPU compute time', compute) ?? histogramOf('latency', latency);
  return { night, histogram, unreadable };
}

/** This many of a cell are drawn, and of all cells together; the smaller ones are drawn as one. */
const DRAWN_LAYERS = 240;
const ALL_LAYERS = 12_000;
const LEAST_LAYERS = 40;
const SHOWN_CHANGES = 16;
const REFERENCES = ['fp16', 'fp32', 'tf32'];

interface CellLayers {
  readonly layers: ReportLayers | null;
  readonly diffs: readonly ReportLayersDiff[];
}

interface Profile {
  readonly run: LayerRun;
  readonly facts: readonly LayerFacts[];
  readonly notes: readonly string[];
}

/** The newest profile of each cell and its layer diff, by key. */
export function cellLayers(
  db: StoreDatabase,
  cells: readonly KeyedCell[],
  sweepIds: readonly SweepId[],
): Map<string, CellLayers> {
  const places = new Map(sweepIds.map((id, night) => [id, night]));
  const profiles = new Map(cells.map((cell) => [cell.key, profilesOf(db, cell, sweepIds)]));
  const twins = Map.groupBy(cells, precisionTwinKey);
  const profiled = [...profiles.values()].filter(({ length }) => length > 0).length;
  const drawn = Math.max(LEAST_LAYERS, Math.min(DRAWN_LAYERS, Math.floor(ALL_LAYERS / profiled)));
  return new Map(
    cells.map((cell): [string, CellLayers] => {
      const [newest, before] = profiles.get(cell.key) ?? [];
      if (newest === undefined) return [cell.key, { layers: null, diffs: [] }];
      const night = places.get(newest.run.sweepId) ?? null;
      const siblings = twins.get(precisionTwinKey(cell)) ?? [];
      const reference = REFERENCES.flatMap((name) => siblings.find(({ precision }) => precision === name) ?? [])[0];
      const [twin] = reference === undefined || reference === cell ? [] : (profiles.get(reference.key) ?? []);
      const earlier = `its profile of ${dayOf(before?.run)}`;
      return [
        cell.key,
        {
          layers: asLayers(newest, night, drawn),
          diffs: [
            ...diffOf(`against ${earlier}`, before, newest),
            ...diffOf(`against ${reference?.precision ?? ''}`, twin, newest),
          ],
        },
      ];
    }),
  );
}

function dayOf(run: LayerRun | undefined): string {
  return run?.startedAt?.slice(0, 10) ?? 'before';
}

/** At most two with times, of different sweeps, newest first; else one with names only. */
function profilesOf(db: StoreDatabase, { key }: KeyedCell, sweepIds: readonly SweepId[]): Profile[] {
  const runs = layerRunsOfCell(db, key, sweepIds);
  const timed = runs.filter(({ iterations }) => iterations !== null);
  const [newest = runs[0]] = timed;
  if (newest === undefined) return [];
  const before = timed.find(({ sweepId }) => sweepId !== newest.sweepId);
  return [newest, before].flatMap((run) => {
    const engine = run === undefined ? null : profiledRun(db, run.runId, '');
    return run === undefined || engine === null
      ? []
      : [{ run, facts: layerFactsOf(engine.layers), notes: engine.notes }];
  });
}

function asLayers({ run, facts, notes }: Profile, night: number | null, drawn: number): ReportLayers {
  const sorted = facts.toSorted((a, b) => b.averageMs - a.averageMs || a.index - b.index);
  const rest = sorted.slice(drawn);
  return {
    runId: run.runId,
    night,
    iterations: run.iterations,
    totalMs: sumMs(facts),
    layers: sorted
      .slice(0, drawn)
      .map((layer) => ({
        label: layerLabel(layer),
        block: layer.block ?? `no ONNX node (${layer.kind})`,
        purpose: PURPOSE_WORDS[layer.kind],
        type: layer.type ?? '',
        precision: layer.precisionIn ?? '',
        tactic: layer.tactic ?? '',
        ms: layer.averageMs,
      })),
    rest: { layers: rest.length, ms: sumMs(rest) },
    notes,
  };
}

function diffOf(title: string, base: Profile | undefined, head: Profile): ReportLayersDiff[] {
  if (base === undefined || base.run.iterations === null || head.run.iterations === null) return [];
  const diff = diffLayers(base.facts, head.facts);
  const { rows, unknown, unchanged, unattributed } = changeRows(diff);
  const named = [
    ...(unattributed === null ? [] : [{ ...unattributed, label: 'without any ONNX node' }]),
    ...(unknown === null ? [] : [{ ...unknown, label: 'kernels that nobody named' }]),
    ...(unchanged === null ? [] : [{ ...unchanged, label: 'all layers that kept their kernels' }]),
  ];
  const rest = rows.slice(SHOWN_CHANGES);
  return [
    {
      title,
      baseMs: diff.baseMs,
      headMs: diff.headMs,
      rows: [...rows.slice(0, SHOWN_CHANGES), ...named].map((row) => ({
        change: CHANGE_WORDS[row.change],
        label: row.label,
        detail: row.detail ?? '',
        layers: [row.baseLayers, row.headLayers],
        baseMs: row.baseMs,
        headMs: row.headMs,
      })),
      moreRows: rest.length,
      moreMs: rest.reduce((sum, { deltaMs }) => sum + deltaMs, 0),
    },
  ];
}
