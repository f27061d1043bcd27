import { ALL_CELLS } from '../../judge/gate/cell-words.ts';
import { BOUND_SHARE_IDS, type GatedMetricId, isBoundShare } from '../../records/gated-metric.ts';
import { formatDecibels, formatNumber, formatPercent } from '../../terminal/numbers.ts';
import { printable } from '../../text/printable.ts';
import { IDENTICAL_DB } from './judged-only.ts';
import type { CheckedFinding } from './output.ts';

type Change = CheckedFinding['metrics'][number];

/**
 * `all fp8 of vit_base and vit_small`, `all cells`; empty without a group.
 * @param own models of its cells; @param all those of the series
 */
export function groupText(group: readonly string[], own: readonly string[] = [], all: readonly string[] = []): string {
  if (group.length === 0) return '';
  if (group.includes(ALL_CELLS)) return ALL_CELLS;
  const models = new Set(own);
  const isNamed = models.size > 3 || models.size === new Set(all).size || group.includes(own[0] ?? '');
  return printable(`all ${group.join(' ')}${isNamed ? '' : ` of ${[...models].toSorted().join(' and ')}`}`);
}

/** What is no time and no throughput is worse or better, not slower or faster. */
const NO_SPEEDS: readonly GatedMetricId[] = [
  'buildMemoryMib',
  'contextMib',
  'energyPerItemMj',
  'energyPerQueryMj',
  'engineMib',
  ...BOUND_SHARE_IDS,
  'memoryMib',
  'outputErrorPercent',
  'precisionSharePercent',
  'sqnrDb',
];

export function isOfSpeed({ details: [first] }: Pick<CheckedFinding, 'details'>): boolean {
  return first === undefined || !NO_SPEEDS.includes(first.metric);
}

export function directionText(finding: Pick<CheckedFinding, 'details' | 'direction'>): string {
  if (isOfSpeed(finding)) return finding.direction;
  return finding.direction === 'slower' ? 'worse' : 'better';
}

/** Shares and ratios in decibels have no relative change that says anything. */
export function changeText(change: Pick<Change, 'metric' | 'changePercent' | 'before' | 'after'>): string {
  const { after, before, changePercent, metric } = change;
  if (metric === 'sqnrDb') return `${formatDecibels(ratioOf(before))} → ${formatDecibels(ratioOf(after))}`;
  if (isBoundShare(metric) || metric === 'precisionSharePercent') {
    return `${formatPercent(before, false)} → ${formatPercent(after, false)}`;
  }
  return formatPercent(changePercent);
}

export function levelText({ metric, unit }: Pick<Change, 'metric' | 'unit'>, value: number): string {
  if (metric === 'sqnrDb') return formatDecibels(ratioOf(value));
  return `${formatNumber(value)} ${printable(unit)}`;
}

function ratioOf(value: number): number | null {
  return value >= IDENTICAL_DB ? null : value;
}
