import type { CellRun } from '../records/run.ts';
import { layerFactsOf } from '../layers/layer-facts.ts';
import { realPrecision, type RealPrecision } from '../layers/summarize-layers.ts';
import type { KeyedCell } from '../records/cell.ts';
import { joinLayers } from '../layers/profiled-engine.ts';
import { type LayerRun, layerRunsOfCell, layerRunsOfEngine, layerRunsOfModel } from '../store/runs/layer-runs.ts';
import type { StoreDatabase } from '../store/file/open.ts';
import { runLayers } from '../store/runs/show-run.ts';
import type { SweepId } from '../records/scalars.ts';

type EngineRun = Pick<CellRun, 'buildId' | 'cellKey'>;

/**
 * Actual precisions of the engines of some cells, by cell key. Shares of time need a profile of the cell itself. Shares
 * of layers come from the build, or from another cell of the same network. Omits cells whose layers are unknown.
 */
export function realPrecisions(
  db: StoreDatabase,
  cells: readonly KeyedCell[],
  runs: readonly EngineRun[],
  sweepIds: readonly SweepId[],
): Map<string, RealPrecision> {
  return realPrecisionsOf(new LayerSources(db, runs, sweepIds), cells);
}

export function realPrecisionsOf(sources: LayerSources, cells: readonly KeyedCell[]): Map<string, RealPrecision> {
  return new Map(
    cells.flatMap((cell): [string, RealPrecision][] => {
      const found = sources.of(cell);
      return found === null ? [] : [[cell.key, found]];
    }),
  );
}

/** Finds the run from which the layers of a cell's engine are known. */
export class LayerSources {
  private readonly db: StoreDatabase;
  private readonly sweepIds: readonly SweepId[];
  private readonly buildOfCell: ReadonlyMap<string, string | null>;
  private readonly ofBuild: ReadonlyMap<string, readonly LayerRun[]>;
  /** Cached by run, because one engine serves many cells. */
  private readonly read = new Map<string, RealPrecision | null>();

  constructor(db: StoreDatabase, runs: readonly EngineRun[], sweepIds: readonly SweepId[]) {
    this.db = db;
    this.sweepIds = sweepIds;
    this.buildOfCell = new Map(runs.map(({ cellKey, buildId }) => [cellKey, buildId]));
    const builds = [...new Set(runs.flatMap(({ buildId }) => buildId ?? []))];
    this.ofBuild = Map.groupBy(layerRunsOfEngine(db, builds), ({ buildId }) => buildId ?? '');
  }

  of(cell: KeyedCell): RealPrecision | null {
    const run = this.runOf(cell);
    const found = run === null ? null : this.precisionOf(run);
    return found === null || run?.isOwn === true ? found : { ...found, timeShares: {} };
  }

  /** The run with the layers of the cell's engine. `isOwn`: it is a profile of the cell itself. */
  runOf(cell: KeyedCell): (LayerRun & { readonly isOwn: boolean }) | null {
    const buildId = this.buildOfCell.get(cell.key);
    if (buildId === undefined) return null;
    const ofEngine =
      buildId === null ? layerRunsOfCell(this.db, cell.key, this.sweepIds) : (this.ofBuild.get(buildId) ?? []);
    const own = ofEngine.find((run) => run.cellKey === cell.key && run.iterations !== null);
    const run = own ?? ofEngine[0] ?? layerRunsOfModel(this.db, cell.model, cell.precision, this.sweepIds)[0];
    return run === undefined ? null : { ...run, isOwn: own !== undefined };
  }

  private precisionOf({ runId }: LayerRun): RealPrecision | null {
    const known = this.read.get(runId);
    if (known !== undefined) return known;
    const stored = runLayers(this.db, runId);
    const real = stored === null ? null : realPrecision(layerFactsOf(joinLayers(stored.profile, stored.layers)));
    // A profile without the layers of the inspector may have no types.
    const found = real !== null && Object.keys(real.layerShares).some(isKnown) ? real : null;
    this.read.set(runId, found);
    return found;
  }
}

function isKnown(type: string): boolean {
  return type !== 'unknown';
}
