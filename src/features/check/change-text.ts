import { formatDecibels, formatNumber, formatPercent } from '../../terminal/numbers.ts';
import { printable } from '../../text/printable.ts';
import { IDENTICAL_DB } from './judged-only.ts';
import type { CheckedFinding } from './output.ts';

type Change = CheckedFinding['metrics'][number];

/** Shares and ratios in decibels have no relative change that says anything. */
export function changeText(change: Pick<Change, 'metric' | 'changePercent' | 'before' | 'after'>): string {
  const { after, before, changePercent, metric } = change;
  if (metric === 'sqnrDb') return `${formatDecibels(ratioOf(before))} → ${formatDecibels(ratioOf(after))}`;
  if (metric === 'hostBoundPercent' || metric === 'precisionSharePercent') {
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
