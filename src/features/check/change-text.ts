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

/** `+15.8 to +25.5 %` of one metric in several cells. */
export function rangeText(changes: readonly Pick<Change, 'metric' | 'changePercent' | 'before' | 'after'>[]): string {
  const sorted = changes.toSorted((a, b) => a.changePercent - b.changePercent);
  const texts = [sorted[0], sorted.at(-1)].map((change) => (change === undefined ? '' : changeText(change)));
  const [least = '', most = ''] = texts;
  if (least === most || least.includes('→')) return most;
  return `${least.replace(/ %$/, '')} to ${most}`;
}
