import { valueRule } from '../../judge/value-rule.ts';
import { changeRows, diffLayers } from '../../layers/diff-layers.ts';
import { layerFactsOf } from '../../layers/layer-facts.ts';
import { type KeyedCell, cellDifference } from '../../records/cell.ts';
import { failureSentences, outcomeReason } from '../../records/outcome.ts';
import type { ProfiledEngine } from '../../layers/profiled-engine.ts';
import { findCells } from '../../store/cells.ts';
import { failedRunsOfCell } from '../../store/runs/runs.ts';
import { type ExplainedRun, explainedRuns } from '../../store/runs/layer-runs.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { profiledCell } from '../../selection/profiled-engine.ts';
import type { RunId, SweepId } from '../../records/scalars.ts';

/** One cell in some sweeps, or a single run of it. */
export interface WhyPoint {
  readonly cell: KeyedCell;
  readonly sweepIds: readonly SweepId[];
  readonly runId: RunId | null;
  /** Argument for `bench layers CELL --diff`; a path for files. */
  readonly name: string;
}

export type WhySides = ReturnType<typeof whySides>;
export type WhyLayers = NonNullable<WhySides['layers']>;

/** @param isStored false for files, which have no cell */
export function whySides(db: StoreDatabase, base: WhyPoint, head: WhyPoint, isStored = true) {
  const [baseRuns = [], headRuns = []] = withValues([usableRuns(db, base), usableRuns(db, head)]);
  const { layers, notes } = layersBetween(db, base, head);
  const isSameCell = base.cell.key === head.cell.key;
  // The expression of another cell selects nothing within the first.
  const nameOf = ({ cell, name, runId }: WhyPoint) =>
    isSameCell || !isStored ? name : (runId ?? cell.key).slice(0, 8);
  return {
    base: baseRuns,
    head: headRuns,
    cudaGraph: base.cell.cudaGraph === true && head.cell.cudaGraph === true,
    /** Two different cells differ in their builds by intention. */
    isSameCell,
    /** `no-graph → graph`; empty for the same cell. */
    cellDifference: cellDifference(base.cell, head.cell),
    layers,
    /** What weakens the evidence, such as a profile of another cell or disturbed runs. */
    notes: [...notes, ...runNotes(db, 'base', base, baseRuns), ...runNotes(db, 'head', head, headRuns)],
    /** Arguments for `bench layers`: the cell (empty for files and two cells) and both sides. */
    names: { cell: isStored && isSameCell ? base.cell.key.slice(0, 8) : '', base: nameOf(base), head: nameOf(head) },
  };
}

type StoredRun = ReturnType<typeof explainedRuns>[number];

/** Uses one kind of times for both sides, as in a comparison. */
function withValues(sides: readonly (readonly StoredRun[])[]): ExplainedRun[][] {
  const gpuOf = valueRule(sides.flat(), 'gpuComputeMs');
  const latencyOf = valueRule(sides.flat(), 'latencyMs');
  return sides.map((runs) =>
    runs.map((run) => ({ ...run, ...run.values, gpuComputeMs: gpuOf(run), latencyMs: latencyOf(run) })),
  );
}

/** Measured runs; else runs whose numbers are at least consistent. */
function usableRuns(db: StoreDatabase, point: WhyPoint): StoredRun[] {
  const all = explainedRuns(db, point);
  const measured = all.filter(({ outcome }) => outcome.kind === 'measured');
  return measured.length > 0 ? measured : all.filter(({ outcome }) => outcomeReason(outcome) !== 'suspectErrors');
}

/** Whether the runs are measurements, and their flags, each once: a flag may explain a change or hide one. */
function runNotes(db: StoreDatabase, side: string, point: WhyPoint, runs: readonly ExplainedRun[]): string[] {
  const isValid = runs.length === 0 || runs.some(({ outcome }) => outcome.kind === 'measured');
  const reasons = isValid ? '' : unmeasuredReasons(db, point);
  const warnings = runs
    .flatMap(({ flags }) => flags)
    .filter(({ effect, id }) => effect !== 'explained' || id === 'bimodal')
    .filter(({ evidence }) => isValid || !reasons.includes(evidence));
  const byFlag = [...Map.groupBy(warnings, ({ id }) => id).values()];
  return [
    ...(isValid ? [] : [`${side} has no valid run: ${reasons}`]),
    ...byFlag.map((same) => `${side}, ${same.length} of ${runs.length} runs: ${same[0]?.evidence ?? ''}`),
  ];
}

/** Reasons why timed runs are invalid, each once with evidence; empty if there are none. */
export function unmeasuredReasons(db: StoreDatabase, { cell, sweepIds, runId }: WhyPoint): string {
  const failed = failedRunsOfCell(db, sweepIds, cell.key);
  const own = failed.filter((run) => run.role === 'timed' && (runId === null || run.runId === runId));
  return failureSentences(own.map(({ outcome }) => outcome)).join('; ');
}

const noted = (side: string, { notes }: ProfiledEngine) => notes.map((note) => `layers of ${side}: ${note}`);

/** The layers of both sides; null if those of one are unknown, or for the same engine. */
export function layersBetween(db: StoreDatabase, base: WhyPoint, head: WhyPoint) {
  const before = profiledCell(db, base.cell, base.sweepIds, base.name);
  const after = profiledCell(db, head.cell, head.sweepIds, head.name);
  const none = { layers: null, notes: [], profiles: null };
  if (before === null || after === null || before.runId === after.runId) return none;
  if (!haveSameShapes(db, before, after)) {
    return { ...none, notes: ['the profiles of the two sides are of different shapes: left out'] };
  }
  const diff = diffLayers(layerFactsOf(before.layers), layerFactsOf(after.layers));
  // Layers listed by a build belong to no cell.
  const others = [[before, base] as const, [after, head] as const].flatMap(([{ cellKey, cellLabel }, { cell }]) =>
    cellKey === null || cellKey === cell.key ? [] : [cellLabel ?? 'another cell'],
  );
  /** The cell of the profiles if the requested cells have none; the times are then those of other queries. */
  const otherCell = others.length === 0 ? null : [...new Set(others)].join(' and ');
  /** False if a side only lists its layers; the times in `diff` and `rows` are then meaningless. */
  const isTimed = before.iterations !== null && after.iterations !== null;
  const notes = [...noted('base', before), ...noted('head', after)];
  return { layers: { diff, rows: changeRows(diff), isTimed, otherCell }, profiles: [before, after] as const, notes };
}

/** Layer times at another batch cannot explain a change. */
function haveSameShapes(db: StoreDatabase, a: ProfiledEngine, b: ProfiledEngine): boolean {
  if (a.cellKey === b.cellKey || a.cellKey === null || b.cellKey === null) return true;
  const cells = findCells(db, [a.cellKey, b.cellKey]);
  const shapes = (key: string): string => JSON.stringify(cells.get(key)?.shapes);
  return shapes(a.cellKey) === shapes(b.cellKey);
}
