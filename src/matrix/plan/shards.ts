import { hashOf } from '../../text/canonical-json.ts';
import type { Plan, PlannedCell } from '../../records/plan.ts';
import type { Shard } from '../../tools/slurm/states.ts';
import { BUILD_ESTIMATE_S, comparedWith, planOfCells, secondsByCell } from './assign-gpus.ts';

interface Group {
  readonly cells: readonly PlannedCell[];
  readonly runsS: number;
}

/**
 * Splits a plan into shards. Cells of one model with the same shapes are compared, so they stay together. Groups with a
 * common engine share a shard while there is room.
 * @param shardS approximate duration of a shard in seconds
 * @param buildsTakeTime false for recordings
 */
export function shardPlan(plan: Plan, shardS: number, buildsTakeTime: boolean) {
  const packed = packGroups(groupsOf(plan), shardS, buildsTakeTime ? BUILD_ESTIMATE_S : 0);
  const shards: Shard[] = packed.map(({ groups, estimateS }, index) => ({
    index,
    cellKeys: groups.flatMap(({ cells }) => cells.map(({ cell }) => cell.key)),
    estimateS,
  }));
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
      runs: plan.runs.map((run) => ({ ...run, buildRef: ownRef(run.buildRef, run.cellKey) })),
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

function groupsOf(plan: Plan): Group[] {
  const runS = secondsByCell(plan);
  const groups = Map.groupBy(plan.cells, ({ cell }) => comparedWith(cell));
  return [...groups.values()].map((cells) => ({
    cells,
    runsS: cells.reduce((sum, { cell }) => sum + (runS.get(cell.key) ?? 0), 0),
  }));
}

interface Packed {
  readonly groups: readonly Group[];
  readonly estimateS: number;
}

/** Packs groups by engine, so that groups with the same engine are adjacent. */
function packGroups(groups: readonly Group[], shardS: number, buildS: number): Packed[] {
  const byEngines = [...Map.groupBy(groups, enginesOf).values()].flat();
  const packed: Packed[] = [];
  for (const group of byEngines) {
    const last = packed.at(-1);
    const joined = last === undefined ? null : pack([...last.groups, group], buildS);
    if (joined !== null && joined.estimateS <= shardS) packed.splice(-1, 1, joined);
    else packed.push(pack([group], buildS));
  }
  return packed;
}

function pack(groups: readonly Group[], buildS: number): Packed {
  const engines = new Set(groups.flatMap(({ cells }) => cells.map(({ buildRef }) => buildRef)));
  const runsS = groups.reduce((sum, group) => sum + group.runsS, 0);
  return { groups, estimateS: runsS + engines.size * buildS };
}

function enginesOf({ cells }: Group): string {
  return [...new Set(cells.map(({ buildRef }) => buildRef))].toSorted().join(' ');
}
