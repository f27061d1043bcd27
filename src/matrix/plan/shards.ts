import * as z from 'zod';

import { type Immutable, count } from '../../records/scalars.ts';
import type { Plan, PlannedCell } from '../../records/plan.ts';
import { hashOf } from '../../text/canonical-json.ts';
import { secondsByCell, planOfCells, comparedWith, BUILD_ESTIMATE_S } from './assign-gpus.ts';

export const shardSchema = z.object({ index: count, cellKeys: z.array(z.string()), estimateS: z.number() });

/** The work of one task. Cells that are compared with each other are in the same shard. */
export type Shard = Immutable<z.infer<typeof shardSchema>>;

/**
 * Splits a plan into shards. Cells of one model with the same shapes are compared, so they stay together. Groups with a
 * common engine share a shard while there is room.
 * @param shardS approximate duration of a shard in seconds
 * @param buildsTakeTime false for recordings
 */
export function shardPlan(plan: Plan, shardS: number, buildsTakeTime: boolean) {
  const shards = packCells(plan, shardS, buildsTakeTime ? BUILD_ESTIMATE_S : 0);
  const shardOf = new Map(
    shards.flatMap(({ cellKeys, index }) => cellKeys.map((key): [string, number] => [key, index])),
  );
  const ownRef = (buildRef: string, key: string): string => refOf(buildRef, shardOf.get(key) ?? 0);
  const builds = shards.flatMap(({ cellKeys, index }) =>
    planOfCells(plan, new Set(cellKeys)).builds.map((build) => ({ ...build, buildRef: refOf(build.buildRef, index) })),
  );
  return {
    shards,
    plan: {
      ...plan,
      builds,
      cells: plan.cells.map((planned) => ({ ...planned, buildRef: ownRef(planned.buildRef, planned.cell.key) })),
      runs: plan.runs.map(({ neighbor, ...run }) => ({
        ...run,
        buildRef: ownRef(run.buildRef, run.cellKey),
        ...(neighbor && { neighbor: { ...neighbor, buildRef: ownRef(neighbor.buildRef, run.cellKey) } }),
      })),
    },
  };
}

/**
 * The part of one shard, group by group in the rounds of the plan. Compared cells stay interleaved, and an interrupted
 * attempt leaves mostly complete cells.
 */
export function planOfShard(plan: Plan, { cellKeys }: Shard): Plan {
  const part = planOfCells(plan, new Set(cellKeys));
  const groupOf = new Map(part.cells.map(({ cell }) => [cell.key, comparedWith(cell)]));
  const runsOf = Map.groupBy(part.runs, ({ cellKey }) => groupOf.get(cellKey) ?? '');
  return { ...part, runs: [...runsOf.values()].flat() };
}

function refOf(buildRef: string, shard: number): string {
  return hashOf({ buildRef, shard });
}

/** Packs groups of compared cells into shards. Groups with the same engines are adjacent. */
function packCells(plan: Plan, shardS: number, buildS: number): Shard[] {
  const runS = secondsByCell(plan);
  const estimateOf = (cells: readonly PlannedCell[]): number =>
    cells.reduce((sum, { cell }) => sum + (runS.get(cell.key) ?? 0), enginesOf(cells).size * buildS);
  const groups = Map.groupBy(plan.cells, ({ cell }) => comparedWith(cell)).values();
  const byEngines = Map.groupBy(groups, (cells) => [...enginesOf(cells)].toSorted().join(' '));
  const packed: PlannedCell[][] = [];
  for (const group of [...byEngines.values()].flat()) {
    const joined = [...(packed.at(-1) ?? []), ...group];
    if (packed.length > 0 && estimateOf(joined) <= shardS) packed.splice(-1, 1, joined);
    else packed.push(group);
  }
  return packed.map((cells, index) => ({
    index,
    cellKeys: cells.map(({ cell }) => cell.key),
    estimateS: estimateOf(cells),
  }));
}

function enginesOf(cells: readonly PlannedCell[]): Set<string> {
  return new Set(cells.map(({ buildRef }) => buildRef));
}
