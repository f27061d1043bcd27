import * as z from 'zod';

import type { KeyedCell } from '../../records/cell.ts';
import type { Environment } from '../../records/environment.ts';
import type { Finding } from '../../records/finding.ts';
import { gatedMetricSchema, isJudgedOnly } from '../../records/gated-metric.ts';
import type { GateLimit, GateSettings, GatedMetricId } from '../../records/gated-metric.ts';
import { type CellKey, count, type Immutable, numberOrNull } from '../../records/scalars.ts';
import type { Sweep } from '../../records/sweep.ts';
import type { CellHistory } from '../history/noise.ts';

export interface MetricHistory {
  readonly metric: GatedMetricId;
  /** One value for each sweep that has one. `places` holds the indices of these sweeps. Shares may be 0. */
  readonly history: CellHistory;
  /** The values of the runs of the sweep at an index of `places`. */
  readonly runsAt: (index: number) => readonly number[];
}

export interface CellEvidence {
  readonly cell: KeyedCell;
  /** Every gated metric with values. The first one is the cell's own, which is shown. */
  readonly metrics: readonly MetricHistory[];
  /** Environment of its newest run in each sweep, by index; null for a sweep without one. */
  readonly environmentIds: readonly (string | null)[];
  /** False for a cell of the previous sweep that is not part of this one. */
  readonly isPlanned: boolean;
  /** True if a filter left the cell of the matrix out of this sweep; its newest values then count. */
  readonly isLeftOut?: boolean;
  /** Why the judged sweep has no value of the cell's own metric; empty if it has one. */
  readonly failures: readonly string[];
}

/** Result of the pairs of one cell, with the change of the median pair: above 0 when the newest engine has the larger value. */
export interface PairResult extends Pick<NonNullable<Finding['pairs']>, 'agreeing' | 'changePercent' | 'count'> {
  readonly cellKey: CellKey;
  readonly metric: GatedMetricId;
  readonly outcome: 'confirmed' | 'machine' | 'cleared' | 'buildLuck' | 'notComparable';
}

export interface SweepEvidence {
  /** Oldest first; the last one is judged. */
  readonly sweeps: readonly Sweep[];
  /** True if the others belong to the base of a pull request; false for a series of its own. */
  readonly isPullRequest: boolean;
  /** Index of the sweep whose runs are the reference; null or undefined for the last accepted level. */
  readonly baselinePlace?: number | null;
  readonly cells: readonly CellEvidence[];
  readonly environments: ReadonlyMap<string, Environment>;
  readonly findings: readonly Finding[];
  /** Acknowledgements by finding. `isOver`: they have ended. */
  readonly acknowledged: ReadonlyMap<string, { readonly isOver: boolean }>;
  readonly rules: GateRules;
  /** Results for the cells that were measured in pairs after the judged sweep; null when it had no pairs. */
  readonly pairs: readonly PairResult[] | null;
}

export const judgedCellSchema = z.strictObject({
  verdict: z.enum(['slower', 'faster', 'same', 'unclear', 'noResult']),
  /** This is its first sweep, it is not planned in this sweep, or no run counts. */
  reason: z.enum(['new', 'missing', 'failed']).nullable().describe('Why it is not compared'),
  metric: gatedMetricSchema,
  before: numberOrNull.describe('Reference level: the last accepted one'),
  now: numberOrNull,
  changePercent: numberOrNull.describe('Change of the newest level against the reference'),
  ciPercent: z.tuple([z.number(), z.number()]).nullable().describe('95 % interval of the change'),
  mdePercent: numberOrNull.describe('Detectable effect: found nine times in ten'),
  levels: z.tuple([z.number(), z.number()]).nullable().describe('The two levels between which the cell alternates'),
  runs: count.describe('Fit runs in the newest sweep'),
  referenceSweeps: count.describe('Sweeps used to estimate the reference'),
  notes: z.array(z.string()).describe('Why it has no result, or is unclear'),
});

export type JudgedCell = Immutable<z.infer<typeof judgedCellSchema>> & { readonly cellKey: CellKey };

export type GateRules = ReturnType<typeof gateRules>;

export function gateRules(settings: GateSettings, minChangePercent: number | null = null) {
  const { limits, owners, warn } = settings;
  const stated = minChangePercent === null ? [] : [{ metric: null, cells: null, percent: minChangePercent }];
  const minChangeFor = lastFitting([...settings.minChange, ...stated]);
  const [limitFor, warningFor, ownerFor] = [lastFitting(limits), lastFitting(warn), lastFitting(owners)];
  return {
    /** Smallest relevant change in percent; 0 if not set. An entry without a metric is not for shares. */
    minChangeOf: (cell: CellKey, metric: GatedMetricId): number =>
      minChangeFor(cell, metric, isJudgedOnly(metric))?.percent ?? 0,
    /** Slower builds only warn: they have many causes, and nobody waits for a nightly build. */
    isWarning: (cell: CellKey, metric: GatedMetricId): boolean =>
      metric === 'buildS' || warningFor(cell, metric) !== undefined,
    ownerOf: (cells: readonly CellKey[]): string | null =>
      [...new Set(cells.flatMap((cell) => ownerFor(cell, null)?.owner ?? []))].toSorted().join(', ') || null,
    limitOf: (cell: CellKey, metric: GatedMetricId): GateLimit | null => limitFor(cell, metric) ?? null,
    /** Metrics with a limit in some cell. Their values are needed in addition to those that the gate judges. */
    limited: [...new Set(limits.map(({ metric }) => metric))],
    limits,
  };
}

type RuleEntry = { readonly metric?: GatedMetricId | null; readonly cells: readonly CellKey[] | null };

/** The last entry for a cell and metric. An entry without cells is for all, one without a metric for every metric. */
function lastFitting<Entry extends RuleEntry>(entries: readonly Entry[]) {
  const all = entries.map((entry) => ({ entry, keys: entry.cells === null ? null : new Set(entry.cells) }));
  return (cell: CellKey, metric: GatedMetricId | null, isNamed = false): Entry | undefined =>
    all.findLast(({ entry: { metric: own = null }, keys }) => {
      return (own === metric || (own === null && !isNamed)) && (keys === null || keys.has(cell));
    })?.entry;
}
