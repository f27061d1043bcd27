import * as z from 'zod';

import { didYouMean } from '../text/nearest.ts';
import { keysOf } from '../text/unknown-values.ts';
import type { BoundBy } from './bound.ts';
import { type Metric, METRIC_IDS, type MetricId, metricOf, metricSchema, metricWord } from './metric.ts';

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

const JUDGED_ONLY_IDS = keysOf(JUDGED_ONLY);

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

function wordOf(id: GatedMetricId): string {
  return isJudgedOnly(id) ? JUDGED_ONLY[id].word : metricWord(id);
}

/** Returns `engine` for engineMib, the form of older matrices: an ID without its unit. */
function shortName(id: string): string {
  return id.replace(/(?:Ms|S|Mib|Qps|Percent|Db)$/, '');
}

/** Metrics by every name that people may write; for other harnesses, their own names too. */
export function metricNames(ofHarnesses: readonly MetricId[] = []): ReadonlyMap<string, GatedMetricId> {
  const own = [...METRIC_IDS, ...JUDGED_ONLY_IDS];
  return new Map<string, GatedMetricId>(
    [...ofHarnesses, ...own].flatMap((id) => [shortName(id), id, wordOf(id)].map((name) => [name, id] as const)),
  );
}

export function unknownMetric(name: string, names: ReadonlyMap<string, GatedMetricId>): string {
  const words = [...new Set([...names.values()].map(wordOf))];
  return `unknown metric "${name}"${didYouMean(name, words) || ` (known: ${words.join(', ')})`}`;
}
