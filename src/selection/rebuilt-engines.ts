import * as z from 'zod';

import { diffLayers } from '../layers/diff-layers.ts';
import { layerFactsOf } from '../layers/layer-facts.ts';
import { joinLayers } from '../layers/profiled-engine.ts';
import type { KeyedCell } from '../records/cell.ts';
import { gateMetric } from '../records/metric.ts';
import { count as countSchema, id } from '../records/output-parts.ts';
import { type CellRun, isMeasured } from '../records/run.ts';
import type { BuildId, SweepId } from '../records/scalars.ts';
import type { Sweep } from '../records/sweep.ts';
import { median } from '../statistics/order-statistics.ts';
import { buildRunOf, loadedEngines } from '../store/builds/builds.ts';
import { findCells } from '../store/cells.ts';
import type { StoreDatabase } from '../store/file/open.ts';
import { cellRunsOf } from '../store/runs/cell-runs.ts';
import { layersOfBuild } from '../store/runs/layer-runs.ts';
import { seriesUntil } from '../store/sweeps/find-sweeps.ts';
import { count } from '../terminal/numbers.ts';
import { cellLabel } from '../records/cell-label.ts';
import { printable } from '../text/printable.ts';

export const rebuiltEngineSchema = z.strictObject({
  model: z.string(),
  precision: z.string(),
  isSameInputs: z.boolean().describe('True if model content, build flags, TensorRT, GPU model and driver are equal'),
  base: id.describe('The build of the previous sweep, for bench layers --diff'),
  head: id.describe('The new build'),
  layersChanged: countSchema.describe('Layers with another tactic, fusion or precision'),
  layers: countSchema,
  cells: countSchema,
  changePercent: z.number().nullable().describe('Raw change of the GPU compute time; median over its cells'),
});

export type RebuiltEngine = z.infer<typeof rebuiltEngineSchema>;

export interface LayerCount {
  readonly changed: number;
  readonly of: number;
}

/** Changes that do not count: every version has another hash for the same kernel. */
const KEPT: readonly string[] = ['same', 'unknown', 'otherHash'];

/**
 * Counts layers of the second build with another fusion, tactic or precision; null if a build has no stored layers.
 * Compares each pair once.
 */
function layerCounts(db: StoreDatabase): (base: BuildId | null, head: BuildId | null) => LayerCount | null {
  const known = new Map<string, LayerCount | null>();
  const factsOfBuild = (build: BuildId) => {
    const layers = layersOfBuild(db, build);
    return layers === null ? null : layerFactsOf(joinLayers(null, layers));
  };
  return (base, head) => {
    if (base === null || head === null) return null;
    const pair = `${base} ${head}`;
    const found = known.get(pair);
    if (found !== undefined) return found;
    const [before, after] = [factsOfBuild(base), factsOfBuild(head)];
    const counted = before === null || after === null ? null : countChanged(before, after);
    known.set(pair, counted);
    return counted;
  };
}

type Facts = ReturnType<typeof layerFactsOf>;

function countChanged(before: Facts, after: Facts): LayerCount {
  const parts = diffLayers(before, after).parts.filter(({ change }) => !KEPT.includes(change));
  const changed = parts.reduce((sum, { base, head }) => sum + Math.max(head.length, base.length), 0);
  return { changed, of: Math.max(before.length, after.length) };
}

/**
 * Engines of a sweep that were rebuilt since the previous sweep and whose stored layers differ, with the effect on
 * time. Excludes cells with several builds on a side, which `bench noise` covers.
 */
export function rebuiltEngines(
  db: StoreDatabase,
  sweep: Sweep,
  cells: readonly KeyedCell[],
  runs: readonly CellRun[],
): RebuiltEngine[] {
  const [, previous] = seriesUntil(db, sweep, 2);
  if (previous === undefined) return [];
  const before = Map.groupBy(cellRunsOf(db, [previous.sweepId]), ({ cellKey }) => cellKey);
  const after = Map.groupBy(runs, ({ cellKey }) => cellKey);
  const pairs = cells.flatMap((cell) => {
    const [base, head] = [built(before.get(cell.key)), built(after.get(cell.key))];
    if (base === null || head === null || base.run.buildId === head.run.buildId) return [];
    const metric = gateMetric('gpuComputeMs', cell);
    const [was, is] = [base, head].map((side) => median(side.runs.flatMap(({ values }) => values[metric] ?? [])));
    return [{ cell, base: base.run, head: head.run, change: was && is ? (is / was - 1) * 100 : null }];
  });
  const changedLayers = layerCounts(db);
  return [...Map.groupBy(pairs, ({ base, head }) => `${base.buildId} ${head.buildId}`).values()].flatMap((same) => {
    const [first] = same;
    const counted = first === undefined ? null : changedLayers(first.base.buildId, first.head.buildId);
    if (first === undefined || counted === null || counted.changed === 0) return [];
    return [
      {
        model: first.cell.model,
        precision: first.cell.precision,
        isSameInputs: first.base.engineKey === first.head.engineKey,
        base: buildRunOf(db, first.base.runId)?.runId ?? first.base.runId,
        head: buildRunOf(db, first.head.runId)?.runId ?? first.head.runId,
        layersChanged: counted.changed,
        layers: counted.of,
        cells: same.length,
        changePercent: median(same.flatMap(({ change }) => change ?? [])),
      },
    ];
  });
}

/** Measured runs of one build; null without any, or with several builds. */
function built(runs: readonly CellRun[] = []) {
  const measured = runs.filter((run) => isMeasured(run) && run.buildId !== null);
  const [run] = measured;
  return run === undefined || measured.some(({ buildId }) => buildId !== run.buildId) ? null : { run, runs: measured };
}

const MOST_NAMED = 3;

interface MixedEngines {
  readonly sweepId: SweepId;
  readonly cell: KeyedCell;
  /** Engine files from the command lines. */
  readonly paths: readonly string[];
}

export function mixedEngines(db: StoreDatabase, sweepIds: readonly SweepId[]): MixedEngines[] {
  const loaded = loadedEngines(db, sweepIds);
  const cells = findCells(db, [...new Set(loaded.map(({ cellKey }) => cellKey))]);
  const groups = Map.groupBy(loaded, ({ sweepId, cellKey }) => `${sweepId} ${cellKey}`);
  return [...groups.values()].flatMap((runs) => {
    const paths = [...new Set(runs.map(({ path }) => path))].toSorted();
    const [first] = runs;
    const cell = first === undefined ? undefined : cells.get(first.cellKey);
    return first === undefined || cell === undefined || paths.length < 2
      ? []
      : [{ sweepId: first.sweepId, cell, paths }];
  });
}

export function engineNotes(db: StoreDatabase, sweepId: SweepId): string[] {
  return mixedEngines(db, [sweepId]).map(engineNote);
}

export function engineNote({ sweepId, cell, paths }: MixedEngines): string {
  const named = paths.slice(0, MOST_NAMED).map(printable).join(', ');
  const more = paths.length > MOST_NAMED ? ', …' : '';
  return `${count(paths.length, 'engine')} in one cell of sweep ${sweepId.slice(0, 8)}, ${cellLabel(cell)}: ${named}${more}; the median mixes them: import each with a --sweep or --model of its own`;
}
