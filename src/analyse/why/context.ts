import type { Cause, ValueChange } from '../../domain/cause.ts';
import type { ExplainedRun } from '../../domain/explained-run.ts';
import type { WhySides } from './side-facts.ts';

/** A change with its two sides told by which of them is slower: what explains slower explains faster the other way. */
export interface WhyContext {
  readonly sides: WhySides;
  readonly change: ValueChange;
  readonly slow: readonly ExplainedRun[];
  readonly fast: readonly ExplainedRun[];
  readonly headIsSlow: boolean;
  /** Logarithm of how many times as long a query takes on the slow side; above 0. */
  readonly slowdown: number;
}

export type CauseDetector = (context: WhyContext) => readonly Cause[];

export function contextOf(sides: WhySides, change: ValueChange): WhyContext {
  const ratio =
    change.metric === 'throughputQps' ? change.base / change.head : change.head / change.base;
  const headIsSlow = ratio >= 1;
  return {
    sides,
    change,
    slow: headIsSlow ? sides.head : sides.base,
    fast: headIsSlow ? sides.base : sides.head,
    headIsSlow,
    slowdown: Math.abs(Math.log(ratio)),
  };
}

/** `1980 → 1650 MHz`, from base to head whichever is slow. */
export function arrow(
  { headIsSlow }: WhyContext,
  fast: string | number,
  slow: string | number,
  unit = '',
): string {
  const [base, head] = headIsSlow ? [fast, slow] : [slow, fast];
  return `${base} → ${head}${unit === '' ? '' : ` ${unit}`}`;
}

/** Share of the slowdown that a factor accounts for, in percent, from 0 to 100. */
export function shareOfSlowdown({ slowdown }: WhyContext, factor: number): number {
  if (slowdown <= 0 || !(factor > 0)) return 0;
  return Math.max(0, Math.min(100, (Math.log(factor) / slowdown) * 100));
}

export function round(value: number, digits = 4): string {
  return String(Number(value.toPrecision(digits)));
}
