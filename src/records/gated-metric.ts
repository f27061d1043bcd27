import * as z from 'zod';

import { didYouMean } from '../text/nearest.ts';
import { readDurationS } from '../text/units.ts';
import { keysOf } from '../text/unknown-values.ts';
import type { BoundBy } from './bound.ts';
import { METRIC_IDS, type Metric, type MetricId, metricOf, metricSchema, metricWord } from './metric.ts';
import { type Immutable, idSchema, textOrNull } from './scalars.ts';

/** Metrics that only the gate judges, because no run has them. */
const JUDGED_ONLY = {
  /** Shares of the runs of a sweep with this bottleneck. */
  hostBoundPercent: { word: 'host-bound', label: 'host-bound runs', unit: '%', betterIs: 'lower' },
  h2dBoundPercent: { word: 'h2d-bound', label: 'H2D-bound runs', unit: '%', betterIs: 'lower' },
  d2hBoundPercent: { word: 'd2h-bound', label: 'D2H-bound runs', unit: '%', betterIs: 'lower' },
  powerBoundPercent: { word: 'power-bound', label: 'power-bound runs', unit: '%', betterIs: 'lower' },
  /** Share of the time in the requested precision. */
  precisionSharePercent: { word: 'precision-share', label: 'actual precision', unit: '%', betterIs: 'higher' },
  /** Signal-to-noise ratio of the outputs of a variant. */
  sqnrDb: { word: 'sqnr', label: 'SQNR', unit: 'dB', betterIs: 'higher' },
} as const satisfies Readonly<Record<string, Omit<Metric, 'id'> & { readonly word: string }>>;

type JudgedOnly = keyof typeof JUDGED_ONLY;

export type GatedMetricId = MetricId | JudgedOnly;

export const JUDGED_ONLY_IDS = keysOf(JUDGED_ONLY);

export function isJudgedOnly(id: string): id is JudgedOnly {
  return Object.hasOwn(JUDGED_ONLY, id);
}

/** Bottlenecks that the gate judges by the share of the runs that have them. */
export const BOUND_SHARES = {
  hostBoundPercent: 'host',
  h2dBoundPercent: 'h2d',
  d2hBoundPercent: 'd2h',
  powerBoundPercent: 'power',
} as const satisfies Readonly<Partial<Record<JudgedOnly, BoundBy>>>;

type BoundShareId = keyof typeof BOUND_SHARES;

export function isBoundShare(id: string): id is BoundShareId {
  return Object.hasOwn(BOUND_SHARES, id);
}

export const BOUND_SHARE_IDS = keysOf(BOUND_SHARES);

export const gatedMetricSchema = z.union([metricSchema, z.enum(JUDGED_ONLY_IDS)]);

export function gatedMetricOf(id: GatedMetricId): Omit<Metric, 'id'> & { readonly id: GatedMetricId } {
  return isJudgedOnly(id) ? { id, ...JUDGED_ONLY[id] } : metricOf(id);
}

/** Upper limit of a share; else null. */
export function wholeOf(id: GatedMetricId): number | null {
  if (id === 'gpuBusy') return 1;
  return isJudgedOnly(id) && JUDGED_ONLY[id].unit === '%' ? 100 : null;
}

export function wordOf(id: GatedMetricId): string {
  return isJudgedOnly(id) ? JUDGED_ONLY[id].word : metricWord(id);
}

/** Older matrices name a metric by its ID without the unit: `engine` for engineMib. */
const UNIT = /(?:Ms|S|Mib|Qps|Percent|Db)$/;

/** Metrics by every name that people may write; for other harnesses, their own names too. */
export function metricNames(ofHarnesses: readonly MetricId[] = []): ReadonlyMap<string, GatedMetricId> {
  const own = [...METRIC_IDS, ...JUDGED_ONLY_IDS];
  return new Map<string, GatedMetricId>(
    [...ofHarnesses, ...own].flatMap((id) => [id.replace(UNIT, ''), id, wordOf(id)].map((name) => [name, id] as const)),
  );
}

export function unknownMetric(name: string, names: ReadonlyMap<string, GatedMetricId>): string {
  const words = [...new Set([...names.values()].map(wordOf))];
  return `unknown metric "${name}"${didYouMean(name, words) || ` (known: ${words.join(', ')})`}`;
}

/** Keys of the cells of an entry: its filter applied to the matrix. Null for all cells. */
const cells = z.array(idSchema).nullable();

/** Null for every metric. */
const metric = gatedMetricSchema.nullable();

const limitSchema = z.object({
  /** Text in the matrix, without the filter. */
  text: z.string(),
  filter: textOrNull,
  metric: gatedMetricSchema,
  /** The value of a cell must be at most, or at least, `value`, in the unit of the metric. */
  comparison: z.enum(['<=', '>=']),
  value: z.number(),
  cells,
});

export type GateLimit = Immutable<z.infer<typeof limitSchema>>;

const confirmBudgetSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('share'), percent: z.number() }),
  z.object({ kind: z.literal('time'), seconds: z.number() }),
]);

export type ConfirmBudget = z.infer<typeof confirmBudgetSchema>;

/** Reads `10%` of a sweep, or a time such as `20m`; null for anything else. */
export function readConfirmBudget(text: string): ConfirmBudget | null {
  const share = /^(\d+(?:\.\d+)?)\s*%$/.exec(text);
  if (share !== null) return { kind: 'share', percent: Number(share[1]) };
  const seconds = readDurationS(text);
  return seconds === null ? null : { kind: 'time', seconds };
}

/**
 * `gate:` of a matrix, as stored with its sweeps; excludes programs. Of several matching entries, the last one applies.
 */
export const gateSettingsSchema = z.object({
  /** Whether slower cells are measured in pairs with the last good engine. */
  confirm: z.boolean().default(false),
  /** Null for a tenth of the sweep, and always enough for three cells. */
  confirmBudget: confirmBudgetSchema.nullable().default(null),
  minChange: z.array(z.object({ metric, cells, percent: z.number() })).default([]),
  limits: z.array(limitSchema).default([]),
  /** Name of the baseline that is the reference. */
  against: textOrNull.default(null),
  /** Previous name of the matrix. */
  renamedFrom: textOrNull.default(null),
  /** Metrics and cells that only warn. */
  warn: z.array(z.object({ metric, cells })).default([]),
  owners: z.array(z.object({ owner: z.string(), cells })).default([]),
});

export type GateSettings = Immutable<z.infer<typeof gateSettingsSchema>>;

export const NO_GATE: GateSettings = gateSettingsSchema.parse({});

/** A suspect of a sweep, to be measured alternately with its newest and its last good engine. Stored with the plan. */
export const plannedPairsSchema = z.object({
  cellKey: idSchema,
  metric: gatedMetricSchema,
  lastGoodSweepId: idSchema,
  newestBuildId: textOrNull,
  /** Equal to the newest if nothing was rebuilt; then only the newest is measured again. */
  lastGoodBuildId: textOrNull,
  /** True for eight pairs instead of five. */
  isUnsteady: z.boolean(),
  /** Why there is nothing to measure; null otherwise. */
  problem: textOrNull,
});

export type PlannedPairs = Immutable<z.infer<typeof plannedPairsSchema>>;
