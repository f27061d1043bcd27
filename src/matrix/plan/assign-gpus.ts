import type { Cell, KeyedCell } from '../../records/cell.ts';
import { type Plan, type PlannedBuild, type PlannedCell, buildRefsOf } from '../../records/plan.ts';
import { compareTexts, hashOf } from '../../text/canonical-json.ts';

/**
 * Assigns cells to GPUs. Compared cells stay on one GPU, and each stays on its last one, because two GPUs of a model
 * differ by more than the detectable effect. Others go, longest first, to the least loaded GPU.
 * @param previous GPU by cell key
 */
export function assignGpus(plan: Plan, gpus: readonly string[], previous: ReadonlyMap<string, string>) {
  const runS = secondsByCell(plan);
  const groups = comparedTogether(plan.cells.map(({ cell }) => cell)).map((cells) => ({
    cells,
    home: homeOf(cells, gpus, previous),
    seconds: cells.reduce((sum, { key }) => sum + (runS.get(key) ?? 0), 0),
  }));
  const settled = groups.filter(({ home }) => home !== null);
  const homeless = groups.filter(({ home }) => home === null).toSorted((a, b) => b.seconds - a.seconds);
  const loads = new Map(gpus.map((gpu) => [gpu, 0]));
  const assigned: Record<string, string> = {};
  for (const { cells, home, seconds } of [...settled, ...homeless]) {
    const [[leastLoaded] = ['']] = [...loads].toSorted(([, a], [, b]) => a - b);
    const gpu = home ?? leastLoaded;
    for (const { key } of cells) assigned[key] = gpu;
    loads.set(gpu, (loads.get(gpu) ?? 0) + seconds);
  }
  return assigned;
}

export function comparedTogether(cells: readonly KeyedCell[]): (readonly KeyedCell[])[] {
  return [...Map.groupBy(cells, comparedWith).values()];
}

/** The GPU that measured most cells of a group; null if none did. */
function homeOf(
  group: readonly KeyedCell[],
  gpus: readonly string[],
  previous: ReadonlyMap<string, string>,
): string | null {
  const counts = gpus.map((gpu) => ({ gpu, cells: group.filter(({ key }) => previous.get(key) === gpu).length }));
  const [most] = counts.toSorted((a, b) => b.cells - a.cells);
  return most === undefined || most.cells === 0 ? null : most.gpu;
}

/** @param known seconds of one timed run by cell; otherwise the plan's estimate counts */
export function secondsByCell({ runs }: Plan, known?: ReadonlyMap<string, number>): Map<string, number> {
  const seconds = new Map<string, number>();
  for (const run of runs) {
    const { cellKey } = run;
    seconds.set(cellKey, (seconds.get(cellKey) ?? 0) + (known?.get(cellKey) ?? run.estimateS));
  }
  return seconds;
}

/** The part of a plan for some of its cells. */
export function planOfCells(plan: Plan, keys: ReadonlySet<string>): Plan {
  const cells = plan.cells.filter(({ cell }) => keys.has(cell.key));
  const runs = plan.runs.filter(({ cellKey }) => keys.has(cellKey));
  // A cell has several if builds are compared, or if it has a neighbor.
  const refs = new Set([...cells.map(({ buildRef }) => buildRef), ...runs.flatMap(buildRefsOf)]);
  const builds = plan.builds.filter(({ buildRef }) => refs.has(buildRef));
  const variantRefs = new Set(builds.map(({ variantRef }) => variantRef));
  const variants = plan.variants.filter(({ variantRef }) => variantRefs.has(variantRef));
  return { ...plan, cells, runs, builds, variants };
}

/**
 * Equal for cells that are compared: they differ only in precision, graph, transfers, spin wait, streams and options on
 * axes. They are measured on one GPU.
 */
export function comparedWith({ inputs, model, shapes }: Cell): string {
  return hashOf({ model, shapes, inputs });
}

/** Estimate without any record: small networks took 15 to 60 s on an H200, and large ones took minutes. */
export const BUILD_ESTIMATE_S = 60;

/** Seconds for a small model. ViT-B took 50 s (ModelOpt 0.47.0 on 2 cores). */
const VARIANT_ESTIMATE_S = 30;

/** Seconds of an answer from recordings. */
const RECORDED_S = 0.1;

/** Builds without given engines. */
export function engineBuilds(builds: readonly PlannedBuild[]): PlannedBuild[] {
  return builds.filter(({ args }) => args.length > 0);
}

/** Duration of these steps in seconds, one after another. */
export function totalEstimateS(
  { builds, runs, variants }: Pick<Plan, 'builds' | 'runs' | 'variants'>,
  isReplay: boolean,
  known: TimeEstimates | null = null,
): number {
  const built = engineBuilds(builds);
  if (isReplay) return (variants.length + built.length + runs.length) * RECORDED_S;
  const runsS = runs.reduce((sum, { cellKey, estimateS }) => sum + (known?.runS.get(cellKey) ?? estimateS), 0);
  const buildsS = built.reduce((sum, { buildRef }) => sum + (known?.buildS.get(buildRef) ?? BUILD_ESTIMATE_S), 0);
  return variants.length * VARIANT_ESTIMATE_S + buildsS + runsS;
}

export interface TimeEstimates {
  /** Wall seconds of one timed run, by cell key. */
  readonly runS: ReadonlyMap<string, number>;
  /** Seconds until an engine is ready, by `buildRef`; 0 if cached. */
  readonly buildS: ReadonlyMap<string, number>;
  /** Last measurement of each cell, ISO 8601, by cell key. */
  readonly measuredAt: ReadonlyMap<string, string>;
}

/**
 * Leaves out whole cells until a plan fits into a time. Cells measured longest ago, or never, come first, so that cells
 * left out now are measured next time. One cell always stays.
 * @param gpus number of GPUs that measure at the same time
 */
export function fitBudget(plan: Plan, budgetS: number, { buildS, measuredAt, runS }: TimeEstimates, gpus: number) {
  const runsS = secondsByCell(plan, runS);
  const built = new Set<string>();
  const buildsOf = Map.groupBy(plan.runs, ({ cellKey }) => cellKey);
  /** Several if builds are compared, or with a neighbor. */
  const missingBuilds = ({ cell, buildRef }: PlannedCell): string[] => {
    const needed = (buildsOf.get(cell.key) ?? []).flatMap(buildRefsOf);
    return [...new Set([buildRef, ...needed])].filter((ref) => !built.has(ref));
  };
  const costOf = (entry: PlannedCell): number =>
    missingBuilds(entry).reduce(
      (sum, ref) => sum + (buildS.get(ref) ?? BUILD_ESTIMATE_S),
      runsS.get(entry.cell.key) ?? 0,
    );
  const kept = new Set<string>();
  const availableS = budgetS * gpus;
  let expectedS = 0;
  let leftOutS = 0;
  for (const entry of longestAgoFirst(plan.cells, measuredAt)) {
    const cost = costOf(entry);
    if (kept.size > 0 && expectedS + cost > availableS) {
      leftOutS += cost;
      continue;
    }
    kept.add(entry.cell.key);
    for (const ref of missingBuilds(entry)) built.add(ref);
    expectedS += cost;
  }
  return {
    plan: planOfCells(plan, kept),
    leftOut: plan.cells.filter(({ cell }) => !kept.has(cell.key)),
    leftOutS: leftOutS / gpus,
    keptS: expectedS / gpus,
  };
}

/** Compared cells are adjacent, in the order of the cell that waited longest. */
function longestAgoFirst(cells: readonly PlannedCell[], measuredAt: ReadonlyMap<string, string>): PlannedCell[] {
  const byKey = new Map(cells.map((entry) => [entry.cell.key, entry]));
  const at = (key: string): string => measuredAt.get(key) ?? '';
  return comparedTogether(cells.map(({ cell }) => cell))
    .map((group) => {
      const members = group.toSorted((a, b) => compareTexts(at(a.key), at(b.key)));
      return { members, since: at(members[0]?.key ?? '') };
    })
    .toSorted((a, b) => compareTexts(a.since, b.since))
    .flatMap(({ members }) => members.flatMap(({ key }) => byKey.get(key) ?? []));
}
