import type { KeyedCell } from '../../records/cell.ts';
import type { Environment } from '../../records/environment.ts';
import type { Finding, JUDGED_BY } from '../../records/finding.ts';
import { type GateLimit, type GateSettings, type GatedMetricId, isJudgedOnly } from '../../records/gated-metric.ts';
import type { CellKey, SweepId } from '../../records/scalars.ts';
import type { Sweep } from '../../records/sweep.ts';
import type { CellHistory } from '../history/noise.ts';

/** One metric of a cell over the sweeps of its series. */
export interface MetricHistory {
  readonly metric: GatedMetricId;
  /** One value for each sweep that has one; `places` are their places among the sweeps. Shares may be 0. */
  readonly history: CellHistory;
  readonly runs: readonly (readonly number[])[];
}

export interface CellEvidence {
  readonly cell: KeyedCell;
  /** Every gated metric that it has values of. The first one is its own, by which it is shown. */
  readonly metrics: readonly MetricHistory[];
  /** Environment of its newest run in each sweep, by place; null where it has none. */
  readonly environmentIds: readonly (string | null)[];
  /** False for a cell of the previous sweep that is not part of this one. */
  readonly isPlanned: boolean;
  /** In the matrix, but left out of this sweep by a filter: its newest values count. */
  readonly isLeftOut?: boolean;
  /** Why the judged sweep has no value of its own metric; empty where it has one. */
  readonly failures: readonly string[];
}

/** What pairs of the newest and the last good engine said of a cell. */
export interface PairResult {
  readonly cellKey: CellKey;
  /** By which the cell was suspected. */
  readonly metric: GatedMetricId;
  readonly outcome: 'confirmed' | 'machine' | 'cleared' | 'buildLuck' | 'notComparable';
  readonly count: number;
  readonly agreeing: number;
  /** Of the median pair; above 0 where the newest engine has the larger value. */
  readonly changePercent: number;
}

export interface SweepEvidence {
  /** Oldest first; the last one is judged. */
  readonly sweeps: readonly Sweep[];
  /** Of these, those of the base of a pull request; null for a series of its own. */
  readonly baseSweeps: number | null;
  /** Place of the sweep whose runs are the reference; null or not stated: what was last accepted. */
  readonly baselinePlace?: number | null;
  /** Of the judged sweep, and of the one before it. */
  readonly cells: readonly CellEvidence[];
  readonly environments: ReadonlyMap<string, Environment>;
  /** Everything that was reported of this series, whatever became of it. */
  readonly findings: readonly Finding[];
  /** Acknowledgements by finding: whether their time is over. */
  readonly acknowledged: ReadonlyMap<string, { readonly isOver: boolean }>;
  readonly rules: GateRules;
  /** Of each cell that was measured in pairs after the judged sweep; null when it was made without pairs. */
  readonly pairs: readonly PairResult[] | null;
}

export const CELL_VERDICTS = ['slower', 'faster', 'same', 'unclear', 'noResult'] as const;

export type CellVerdict = (typeof CELL_VERDICTS)[number];

/** Why a cell is not compared: its first sweep, not planned in this sweep, or no fit run. */
export const CELL_REASONS = ['new', 'missing', 'failed'] as const;

/** A metric of a cell in the judged sweep, compared with its reference level. */
export interface JudgedCell {
  readonly cellKey: CellKey;
  readonly verdict: CellVerdict;
  readonly reason: (typeof CELL_REASONS)[number] | null;
  readonly metric: GatedMetricId;
  /** Reference level and value of this sweep, in the unit of the metric. */
  readonly before: number | null;
  readonly now: number | null;
  /** Of the value against the reference, with the interval of 95 % of that estimate. */
  readonly changePercent: number | null;
  readonly ciPercent: readonly [number, number] | null;
  /** Smallest change that would be reported in this sweep nine times in ten. */
  readonly mdePercent: number | null;
  /** Two known levels, in the unit of the metric. */
  readonly levels: readonly [number, number] | null;
  readonly runs: number;
  readonly referenceSweeps: number;
  /** What else there is to say: why it has no value, or why it is unclear. */
  readonly notes: readonly string[];
}

/** What is worth pairs with the last good engine, as it lies off its reference on the worse side. */
export interface Candidate {
  readonly group: readonly string[];
  /** The cell, or the three calmest ones of the group. */
  readonly cellKeys: readonly CellKey[];
  readonly metric: GatedMetricId;
  readonly changePercent: number;
  readonly deviations: number;
  readonly lastGoodSweepId: SweepId | null;
  /** Cells with two known levels, or whose builds of the same sources differed: eight pairs, of which seven agree. */
  readonly isUnsteady: boolean;
}

export interface SweepVerdict {
  readonly judgedBy: (typeof JUDGED_BY)[number];
  /** Every known finding with its state after this sweep, and every new one: those whose `reportedSweepId` it is. */
  readonly findings: readonly Finding[];
  readonly endedAcknowledgements: readonly string[];
  /** By the metric that each cell is compared by, in the order of the evidence. */
  readonly cells: readonly JudgedCell[];
  readonly judged: (cellKey: CellKey, metric: GatedMetricId) => JudgedCell | null;
  /** Groups before cells; those further off first. */
  readonly candidates: readonly Candidate[];
}

/** A build is slower for many reasons, and nobody waits for it at night. */
const ONLY_WARNS: GatedMetricId = 'buildS';

export type GateRules = ReturnType<typeof gateRules>;

/**
 * The settings of a gate by cell and metric. Of several entries that fit the last holds.
 * @param minChangePercent of the command line: in place of what the settings say
 */
export function gateRules(settings: GateSettings, minChangePercent: number | null = null) {
  const stated = minChangePercent === null ? [] : [{ metric: null, cells: null, percent: minChangePercent }];
  const minChange = [...settings.minChange, ...stated].map(fitted);
  const limits = settings.limits.map(fitted);
  const warn = settings.warn.map(fitted);
  const owners = settings.owners.map((entry) => fitted({ ...entry, metric: null }));
  return {
    /** Smaller changes are not reported, in percent; 0 where nothing is stated. */
    minChangeOf: (cell: CellKey, metric: GatedMetricId): number => {
      const found = minChange.findLast(
        ({ entry, fits }) => fits(cell, metric) && (entry.metric !== null || !isJudgedOnly(metric)),
      );
      return found?.entry.percent ?? 0;
    },
    isWarning: (cell: CellKey, metric: GatedMetricId): boolean =>
      metric === ONLY_WARNS || warn.some(({ fits }) => fits(cell, metric)),
    /** Everybody who looks after one of the cells; null for nobody. */
    ownerOf: (cells: readonly CellKey[]): string | null => {
      const found = cells.flatMap((cell) => owners.findLast(({ fits }) => fits(cell, null))?.entry.owner ?? []);
      return found.length === 0 ? null : [...new Set(found)].toSorted().join(', ');
    },
    limitOf: (cell: CellKey, metric: GatedMetricId): GateLimit | null =>
      limits.findLast(({ entry, fits }) => entry.metric === metric && fits(cell, metric))?.entry ?? null,
    /** Metrics that have a limit in some cell: their values are needed beyond those that the gate judges anyway. */
    limited: [...new Set(settings.limits.map(({ metric }) => metric))],
    limits: settings.limits,
  };
}

function fitted<Entry extends { readonly metric: GatedMetricId | null; readonly cells: readonly CellKey[] | null }>(
  entry: Entry,
) {
  const keys = entry.cells === null ? null : new Set(entry.cells);
  return {
    entry,
    fits: (cell: CellKey, metric: GatedMetricId | null): boolean =>
      (entry.metric === null || entry.metric === metric) && (keys === null || keys.has(cell)),
  };
}

/** Values of the cells of a sweep by metric, in its unit. */
export type NewestValues = ReadonlyMap<CellKey, ReadonlyMap<GatedMetricId, number>>;

/** Values beyond their limits, in the order of the cells; how far, in percent of the limit: null for a limit of 0. */
export function brokenLimits(rules: GateRules, values: NewestValues) {
  return [...values].flatMap(([cell, ofCell]) =>
    rules.limited.flatMap((metric) => {
      const [limit, value] = [rules.limitOf(cell, metric), ofCell.get(metric)];
      if (limit === null || value === undefined) return [];
      if (limit.comparison === '<=' ? value <= limit.value : value >= limit.value) return [];
      return [{ limit, cell, value, beyondPercent: limit.value === 0 ? null : (value / limit.value - 1) * 100 }];
    }),
  );
}

export type BrokenLimit = ReturnType<typeof brokenLimits>[number];

/** Limits that none of their cells has a value for: they say nothing, which their owner should know. */
export function limitsWithoutValue({ limits }: GateRules, values: NewestValues): GateLimit[] {
  return limits.filter(({ metric, cells }) =>
    (cells ?? [...values.keys()]).every((cell) => values.get(cell)?.has(metric) !== true),
  );
}

/** `p99 <= 2 ms (model=vit*)`. */
export function limitText({ filter, text }: GateLimit): string {
  return filter === null ? text : `${text} (${filter})`;
}
