import { type KeyedCell, type Cell, hashOf } from '../../records/cell.ts';
import type { Plan } from '../../records/plan.ts';

/** Cell key to the UUID of the GPU that measures it. */
type Assignment = Readonly<Record<string, string>>;

/**
 * Shares the cells out among GPUs. Cells that people compare with each other stay on one GPU, and each stays where it was
 * measured last: two GPUs of one model differ by more than what a night should be able to tell. The others go, the longest
 * first, where there is the least to do.
 * @param previous GPU by cell key, of those that were measured before
 */
export function assignGpus(plan: Plan, gpus: readonly string[], previous: ReadonlyMap<string, string>): Assignment {
  const seconds = secondsByCell(plan);
  const loads = new Map(gpus.map((gpu) => [gpu, 0]));
  const assigned: Record<string, string> = {};
  const put = (cells: readonly KeyedCell[], gpu: string): void => {
    for (const { key } of cells) {
      assigned[key] = gpu;
      loads.set(gpu, (loads.get(gpu) ?? 0) + (seconds.get(key) ?? 0));
    }
  };
  const groups = comparedTogether(plan.cells.map(({ cell }) => cell));
  const homeless: (readonly KeyedCell[])[] = [];
  for (const group of groups) {
    const home = homeOf(group, gpus, previous);
    if (home === null) homeless.push(group);
    else put(group, home);
  }
  const total = (group: readonly KeyedCell[]): number =>
    group.reduce((sum, { key }) => sum + (seconds.get(key) ?? 0), 0);
  for (const group of homeless.toSorted((a, b) => total(b) - total(a))) {
    put(group, leastLoaded(loads));
  }
  return assigned;
}

export function comparedTogether(cells: readonly KeyedCell[]): (readonly KeyedCell[])[] {
  return [...Map.groupBy(cells, comparedWith).values()];
}

/** Where most cells of a group were; the first of equals. */
function homeOf(
  group: readonly KeyedCell[],
  gpus: readonly string[],
  previous: ReadonlyMap<string, string>,
): string | null {
  const before = group.map(({ key }) => previous.get(key));
  const counts = gpus.map((gpu) => ({ gpu, cells: before.filter((uuid) => uuid === gpu).length }));
  const most = Math.max(0, ...counts.map(({ cells }) => cells));
  return most === 0 ? null : (counts.find(({ cells }) => cells === most)?.gpu ?? null);
}

function leastLoaded(loads: ReadonlyMap<string, number>): string {
  const [first] = [...loads].toSorted(([, a], [, b]) => a - b);
  if (first === undefined) throw new Error('no GPU to measure on');
  return first[0];
}

function secondsByCell({ runs }: Plan): Map<string, number> {
  const seconds = new Map<string, number>();
  for (const { cellKey, estimateS } of runs) {
    seconds.set(cellKey, (seconds.get(cellKey) ?? 0) + estimateS);
  }
  return seconds;
}

/**
 * The same for cells that people compare with each other: those that differ in nothing but precision, graph, transfers,
 * spin wait, streams and flags on an axis. They are measured on one GPU.
 */
export function comparedWith({ inputs, model, shapes }: Cell): string {
  return hashOf({ model, shapes, inputs });
}
