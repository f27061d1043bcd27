import * as z from 'zod';

import { isMeasured, type CellRun } from '../../../records/run.ts';
import { isColdStart } from '../../../records/harness.ts';
import { noiseKindOf } from '../../../records/cell.ts';
import type { CellKey, SweepId } from '../../../records/scalars.ts';
import type { Plan, PlannedCell, PlannedRun } from '../../../records/plan.ts';
import { isIneligible } from '../../../records/outcome.ts';
import { SEARCH_AXES, axisTwinKey, placeOn, pointJudge, searchStep } from '../../../judge/latency-search.ts';
import type { LatencySearch, SearchPoint } from '../../../judge/latency-search.ts';
import { valueRule } from '../../../judge/value-rule.ts';
import { anotherRun, highestRepeat } from '../../../judge/adaptive-repeats.ts';
import { count, id, output as outputSchema, provenance as provenanceSchema } from '../../../records/output-parts.ts';
import type { OutputOf } from '../../../records/output-parts.ts';
import type { Sweep } from '../../../records/sweep.ts';
import type { SweepContext } from '../../../run/sweep-context.ts';
import { median } from '../../../statistics/order-statistics.ts';
import { earlierSweeps, pastOf } from '../../../selection/cell-histories.ts';
import type { StoreDatabase } from '../../../store/file/open.ts';
import { cellRunsOf } from '../../../store/runs/cell-runs.ts';
import { UsageError } from '../../../errors.ts';
import { PAST_WINDOW_SWEEPS } from '../../../judge/run-noise.ts';
import type { Machine } from '../../../machine/machine.ts';
import { environmentsOf } from '../../../store/sweeps/environments.ts';
import { seriesOf } from '../../../store/sweeps/find-sweeps.ts';
import { unfinishedSweeps } from '../../../store/sweeps/sweeps.ts';
import { printable } from '../../../text/printable.ts';

const pointSchema = z.strictObject({
  key: id,
  label: z.string(),
  at: count.describe('Batch or number of streams'),
  state: z
    .enum(['holds', 'misses', 'open', 'lost', 'notMeasured'])
    .describe('open: needs more runs; lost: its runs failed'),
  isClose: z.boolean().describe('True if run noise hides the difference to the limit: the median decided'),
  limitedMs: z.number().nullable().describe('Median of the limited latency over the runs'),
  runs: count,
  knownRuns: count.describe('How many of these runs come from other sweeps'),
});

export const searchSchema = outputSchema('bench choose --search --json', {
  sweepId: id.nullable().describe('Null for a dry run, or if no new run was needed'),
  provenance: provenanceSchema,
  limits: z.strictObject({
    maxLatencyMs: z.number(),
    metric: z.enum(['median', 'p99']),
    surePercent: z.number(),
    maxRuns: count.nullable(),
  }),
  axis: z.enum(SEARCH_AXES),
  groups: z.array(
    z.strictObject({
      label: z.string().describe('Label of its smallest cell'),
      model: z.string(),
      precision: z.string(),
      isComplete: z.boolean(),
      isMonotone: z.boolean().describe('False if a larger point had a lower latency than a smaller one'),
      highest: pointSchema.nullable().describe('The highest point found within the limit'),
      points: z.array(pointSchema),
    }),
  ),
  runs: z.strictObject({
    made: count,
    known: count.describe('Reused runs from other sweeps of the same commit and machine'),
    expected: count.describe('Expected number of runs if no point is near the limit'),
    product: count.describe('Number of runs without a search: all cells, maximum repeats'),
  }),
});

export type SearchOutput = OutputOf<typeof searchSchema>;

type Group = SearchOutput['groups'][number];

/** Runs in addition to a bisection: a second one on each side of the limit, and one at the point above. */
const MORE_THAN_BISECTED = 3;

interface SearchContext extends Pick<SweepContext, 'plan' | 'sweep'> {
  /** Null when there is no store yet. */
  readonly db: StoreDatabase | null;
  readonly search: LatencySearch;
  /** Runs available per cell. */
  readonly recorded: (cellKey: CellKey) => number;
}

/** Groups of cells that differ only in the axis, smallest value first. */
function searchGroups({ cells }: Plan, { axis }: Pick<LatencySearch, 'axis'>): PlannedCell[][] {
  const placed = cells.filter(({ cell }) => !isColdStart(cell) && placeOn(axis, cell) !== null);
  return [...Map.groupBy(placed, ({ cell }) => axisTwinKey(axis, cell)).values()].map((group) =>
    group.toSorted((a, b) => (placeOn(axis, a.cell) ?? 0) - (placeOn(axis, b.cell) ?? 0)),
  );
}

/** Chooses the next runs of a search from the store, so that it continues after a kill. */
export class SearchRuns {
  private readonly given: SearchContext;
  private readonly groups: readonly (readonly PlannedCell[])[];
  /** The sweep of the search and the earlier sweeps that count. */
  private readonly counted: readonly SweepId[];
  private readonly earlier: readonly Sweep[];
  /** Requested repeats. A cell that got no run from a request has no engine. */
  private readonly asked = new Map<CellKey, number>();

  constructor(given: SearchContext) {
    const { db, plan, search, sweep } = given;
    this.given = given;
    this.groups = searchGroups(plan, search);
    this.counted = [...search.knownSweepIds, sweep.sweepId];
    this.earlier = db === null ? [] : earlierSweeps(db, sweep, this.counted);
  }

  /** True when nothing needs to be measured. */
  isKnown(): boolean {
    return this.found().groups.every(({ next }) => next === null);
  }

  /** One run for each group without an answer; empty when all have one, or no more runs are allowed. */
  next(): PlannedRun[] {
    const { plan, search } = this.given;
    const { groups, own } = this.found();
    const left = search.maxRuns === null ? Infinity : Math.max(0, search.maxRuns - own.length);
    const open = groups.flatMap(({ next }) => next ?? []).slice(0, left);
    return open.flatMap(({ cellKey }): PlannedRun[] => {
      const made = own.filter((run) => run.cellKey === cellKey);
      const again = anotherRun(plan, cellKey, made);
      for (const { repeat } of again) this.asked.set(cellKey, repeat);
      return again;
    });
  }

  /** @param sweepId null for a plan */
  output({ provenance, sweepId }: Pick<Sweep, 'provenance'> & Pick<SearchOutput, 'sweepId'>): SearchOutput {
    const { axis, maxLatencyMs, maxRuns, maxRepeats, metric, surePercent } = this.given.search;
    const found = this.found();
    const groups = found.groups.map(({ output }) => output);
    const points = groups.flatMap((group) => group.points);
    const product = points.length * maxRepeats;
    const expected = groups.reduce((sum, group) => {
      const open = group.points.filter(({ state }) => state === 'notMeasured').length;
      return group.isComplete ? sum : sum + MORE_THAN_BISECTED + Math.ceil(Math.log2(open + 1));
    }, 0);
    return {
      schemaVersion: 1,
      sweepId,
      provenance,
      limits: { maxLatencyMs, metric: metric === 'p99Ms' ? 'p99' : 'median', surePercent, maxRuns },
      axis,
      groups,
      runs: {
        made: found.own.length,
        known: points.reduce((sum, { knownRuns }) => sum + knownRuns, 0),
        expected: Math.min(maxRuns ?? product, product, expected),
        product,
      },
    };
  }

  /** The groups with their next point, and the runs of this sweep. */
  private found() {
    const { db, plan, search } = this.given;
    const keys = plan.cells.map(({ cell }) => cell.key);
    const runs = db === null ? [] : cellRunsOf(db, this.counted, keys).filter(({ role }) => role === 'timed');
    const byCell = Map.groupBy(runs, ({ cellKey }) => cellKey);
    const points = this.groups.map((group) =>
      group.map((planned) => this.point(planned, byCell.get(planned.cell.key) ?? [])),
    );
    const judge = pointJudge(points.flat(), search);
    const groups = points.map((group, place) => {
      const judged = group.map(judge);
      const { best, isMonotone, next } = searchStep(judged);
      const planned = this.groups[place] ?? [];
      const shown = judged.map(({ at, cellKey: key, head: values, isClose, state }, nth) => {
        const own = this.ownRuns(byCell.get(key) ?? []).filter(isMeasured).length;
        const counts = { runs: values.length, knownRuns: Math.max(0, values.length - own) };
        const label = planned[nth]?.label ?? '';
        return { key, label, at, state, isClose, limitedMs: median(values), ...counts };
      });
      const { cell, label = '' } = planned[0] ?? {};
      const output: Group = {
        label,
        model: cell?.model ?? '',
        precision: cell?.precision ?? '',
        isComplete: next === null,
        isMonotone,
        highest: shown.find(({ key }) => key === best?.cellKey) ?? null,
        points: shown,
      };
      return { next, output };
    });
    return { groups, own: this.ownRuns(runs) };
  }

  private point({ cell }: PlannedCell, runs: readonly CellRun[]): SearchPoint {
    const { db, recorded, search } = this.given;
    const own = this.ownRuns(runs);
    const mostRuns = Math.min(search.maxRepeats, recorded(cell.key));
    const counted = runs.filter((run) => isMeasured(run) && !isIneligible(run.flags));
    const valueOf = valueRule(counted, search.metric);
    const values = counted.flatMap((run) => valueOf(run) ?? []);
    const isRefused = (this.asked.get(cell.key) ?? 0) > highestRepeat(own);
    const isSpent =
      isRefused || own.at(-1)?.outcome.kind === 'failed' || Math.max(own.length, values.length) >= mostRuns;
    return {
      cellKey: cell.key,
      at: placeOn(search.axis, cell) ?? 0,
      base: [],
      head: values,
      // Values of earlier sweeps at the same level.
      past:
        db === null || this.earlier.length === 0 || values.length === 0
          ? []
          : pastOf(db, this.earlier, [{ cell, runs: counted }], search.metric)(cell.key, values),
      kind: noiseKindOf(cell),
      isSpent,
    };
  }

  private ownRuns(runs: readonly CellRun[]): readonly CellRun[] {
    return runs.filter(({ sweepId }) => sweepId === this.given.sweep.sweepId);
  }
}

/** The request of `bench choose --search`. */
export interface SearchRequest extends Omit<LatencySearch, 'axis' | 'knownSweepIds' | 'maxRepeats'> {
  /** Null: the batch, else the streams, whichever the matrix varies. */
  readonly axis: LatencySearch['axis'] | null;
  /** Null for the repeats of the matrix. */
  readonly maxRepeats: number | null;
}

/** A matrix may request a single run, which is not enough for an answer. */
const LEAST_REPEATS = 3;

/**
 * @param db null when there is no store yet
 * @param machines null when nothing will run
 */
export function wantedSearch(
  db: StoreDatabase | null,
  plan: Plan,
  sweep: Sweep,
  machines: readonly Machine[] | null,
  { maxRepeats, ...request }: SearchRequest,
): LatencySearch {
  return {
    ...request,
    axis: axisOf(plan, request.axis),
    maxRepeats: maxRepeats ?? Math.max(LEAST_REPEATS, plan.repeats),
    knownSweepIds: db === null ? [] : knownSweeps(db, sweep, machines),
  };
}

/** @throws UsageError when no cells differ only in the axis */
function axisOf(plan: Plan, asked: LatencySearch['axis'] | null): LatencySearch['axis'] {
  const axes = asked === null ? SEARCH_AXES : [asked];
  const found = axes.find((axis) => searchGroups(plan, { axis }).some(({ length }) => length > 1));
  if (found !== undefined) return found;
  throw new UsageError(
    `nothing to search in ${printable(plan.matrix)}: no two of its cells differ only in ${axes.join(' or ')}`,
  );
}

/**
 * Sweeps of the series, including interrupted ones, whose runs are equivalent to new ones: same commit, TensorRT, host
 * and GPU.
 */
function knownSweeps(db: StoreDatabase, sweep: Sweep, machines: readonly Machine[] | null): string[] {
  if (sweep.dirty === true) return [];
  const uuids = new Set(machines?.flatMap(({ device }) => device?.uuid ?? []));
  const isHere = ({ sweepId }: Sweep): boolean =>
    uuids.size === 0 || environmentsOf(db, sweepId).every(({ gpuUuid }) => gpuUuid === null || uuids.has(gpuUuid));
  const unfinished = unfinishedSweeps(db).filter(({ sweepId }) => sweepId !== sweep.sweepId);
  return [...unfinished, ...seriesOf(db, sweep, PAST_WINDOW_SWEEPS)]
    .filter(
      (other) =>
        other.dirty !== true &&
        (['matrix', 'branch', 'provenance', 'commit', 'tensorrt', 'host', 'recordingSet', 'trtexec'] as const).every(
          (of) => other[of] === sweep[of],
        ) &&
        isHere(other),
    )
    .map(({ sweepId }) => sweepId)
    .toReversed();
}
