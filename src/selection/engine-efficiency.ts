import { type LayerFacts, layerFactsOf } from '../layers/layer-facts.ts';
import { joinLayers } from '../layers/join-layers.ts';
import type { EngineConditions, ProfiledEngine } from '../layers/profiled-engine.ts';
import { valuesOf } from '../judge/value-rule.ts';
import { type EngineEfficiency, engineEfficiency } from '../layers/work/efficiency.ts';
import type { KeyedCell, Shapes } from '../records/cell.ts';
import { type CellRun, isMeasured } from '../records/run.ts';
import type { CellKey } from '../records/scalars.ts';
import { median } from '../statistics/median.ts';
import { findCells } from '../store/cells.ts';
import type { StoreDatabase } from '../store/file/open.ts';
import { cellRunsOf } from '../store/runs/cell-runs.ts';
import { runLayers, showRun } from '../store/runs/show-run.ts';
import { findEnvironments } from '../store/sweeps/environments.ts';
import type { LayerSources } from './actual-precisions.ts';
import { type EngineModel, modelOfRun, NO_MODEL, type ReadModels } from './engine-model.ts';

/** What is known of a profiled engine besides its layers. */
export interface EngineCircumstances {
  readonly model: EngineModel | string;
  readonly shapes: Shapes;
  readonly conditions: EngineConditions;
  /** Of the timed runs of its cell and sweep. */
  readonly gpuComputeMs: number | null;
}

const UNKNOWN: EngineConditions = { gpuName: null, maxSmClockMhz: null, mig: null, smClockMhz: null };

export function statedCircumstances({ stated }: ProfiledEngine, model: EngineModel | null): EngineCircumstances {
  return {
    shapes: {},
    conditions: UNKNOWN,
    gpuComputeMs: null,
    ...stated,
    model: model ?? `${NO_MODEL}: --onnx FILE names it`,
  };
}

/** @param cell that was asked for, where the profile is of none */
export async function storedCircumstances(
  db: StoreDatabase,
  { cellKey, runId, sweepId }: Pick<ProfiledEngine, 'cellKey' | 'runId' | 'sweepId'>,
  cell: KeyedCell | null,
  named: EngineModel | null,
): Promise<EngineCircumstances> {
  const run = showRun(db, runId);
  const own = cellKey === null ? cell : (findCells(db, [cellKey]).get(cellKey) ?? cell);
  const { environment = UNKNOWN, telemetry = null } = run ?? {};
  const timed = own === null || sweepId === null ? [] : cellRunsOf(db, [sweepId], [own.key]).filter(isMeasured);
  const clock = telemetry?.smClockMhz ?? median(timed.flatMap(({ smClockMhz }) => smClockMhz ?? []));
  const found = named ?? (await modelOfRun(db, runId, new Map()));
  const { gpuName, maxSmClockMhz, mig } = environment;
  return {
    model: typeof found === 'string' ? `${found}; --onnx FILE names it` : found,
    shapes: own?.shapes ?? {},
    conditions: { gpuName, maxSmClockMhz, mig, smClockMhz: clock },
    gpuComputeMs: median(valuesOf(timed, 'gpuComputeMs')),
  };
}

export function efficiencyOf(
  layers: readonly LayerFacts[],
  { conditions, model, shapes }: EngineCircumstances,
  ms: number | null,
) {
  return engineEfficiency(layers, typeof model === 'string' ? model : { ...model, shapes }, conditions, ms);
}

type EfficiencyRun = Pick<
  CellRun,
  'cellKey' | 'centres' | 'environmentId' | 'outcome' | 'role' | 'smClockMhz' | 'values'
>;

/**
 * How much of its GPU each cell uses, by its key: the layers of its engine, and the times of its own runs. Cells whose ONNX
 * model is not here are absent.
 */
export async function cellEfficiencies(
  db: StoreDatabase,
  cells: readonly KeyedCell[],
  runs: readonly EfficiencyRun[],
  sources: LayerSources,
): Promise<Map<CellKey, EngineEfficiency>> {
  const read: ReadModels = new Map();
  const byCell = Map.groupBy(runs.filter(isMeasured), ({ cellKey }) => cellKey);
  const environments = findEnvironments(db, [...new Set(runs.map(({ environmentId }) => environmentId))]);
  const found = new Map<CellKey, EngineEfficiency>();
  const sourced = cells.flatMap((cell) => {
    const source = sources.runOf(cell);
    return source === null ? [] : [{ cell, source }];
  });
  for (const [runId, together] of Map.groupBy(sourced, ({ source }) => source.runId)) {
    const model = await modelOfRun(db, runId, read);
    const stored = typeof model === 'string' ? null : runLayers(db, runId);
    if (stored === null || typeof model === 'string') continue;
    const profiled = layerFactsOf(joinLayers(stored.profile, stored.layers));
    for (const { cell, source } of together) {
      // Times of another cell say nothing of this one.
      const facts = source.isOwn ? profiled : profiled.map((layer) => ({ ...layer, averageMs: 0 }));
      const own = byCell.get(cell.key) ?? [];
      const environment = environments.get(own[0]?.environmentId ?? '');
      if (environment === undefined) continue;
      const { gpuName, maxSmClockMhz, mig } = environment;
      const smClockMhz = median(own.flatMap((run) => run.smClockMhz ?? []));
      const shaped = { ...model, shapes: cell.shapes };
      const conditions = { gpuName, maxSmClockMhz, mig, smClockMhz };
      found.set(cell.key, engineEfficiency(facts, shaped, conditions, queryMs(cell, own)).engine);
    }
  }
  return found;
}

/** Of the GPU; with several streams the time from one query to the next, as theirs overlap. */
function queryMs({ streams }: KeyedCell, runs: readonly EfficiencyRun[]): number | null {
  if (streams === 1) return median(valuesOf(runs, 'gpuComputeMs'));
  const throughputQps = median(valuesOf(runs, 'throughputQps'));
  return throughputQps === null || throughputQps === 0 ? null : 1000 / throughputQps;
}
