import type { KeyedCell, Cell } from '../../records/cell.ts';
import { hashOf } from '../../text/canonical-json.ts';
import type { Plan } from '../../records/plan.ts';

type Assignment = Readonly<Record<string, string>>;

/**
 * Assigns cells to GPUs. Cells that are compared stay on one GPU, and each on its last one: two GPUs of a model differ
 * by more than the detectable effect. Others go, longest first, to the least loaded.
 * @param previous GPU by cell key
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

/** @param known seconds of one timed run where something is known, else as the plan estimates it */
export function secondsByCell({ runs }: Plan, known?: ReadonlyMap<string, number>): Map<string, number> {
  const seconds = new Map<string, number>();
  for (const { cellKey, estimateS } of runs) {
    seconds.set(cellKey, (seconds.get(cellKey) ?? 0) + (known?.get(cellKey) ?? estimateS));
  }
  return seconds;
}

/** The part of a plan that is about some of its cells. */
export function planOfCells(plan: Plan, keys: ReadonlySet<string>): Plan {
  const cells = plan.cells.filter(({ cell }) => keys.has(cell.key));
  const runs = plan.runs.filter(({ cellKey }) => keys.has(cellKey));
  // Where builds are measured, a cell has several.
  const refs = new Set([...cells, ...runs].map(({ buildRef }) => buildRef));
  const builds = plan.builds.filter(({ buildRef }) => refs.has(buildRef));
  const variantRefs = new Set(builds.map(({ variantRef }) => variantRef));
  const variants = plan.variants.filter(({ variantRef }) => variantRefs.has(variantRef));
  return { ...plan, cells, runs, builds, variants };
}

/**
 * Equal for cells that are compared: they differ only in precision, graph, transfers, spin wait, streams and axis
 * flags. They are measured on one GPU.
 */
export function comparedWith({ inputs, model, shapes }: Cell): string {
  return hashOf({ model, shapes, inputs });
}
