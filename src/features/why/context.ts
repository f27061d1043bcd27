import type { Cause, ValueChange } from '../../records/cause.ts';
import type { ExplainedRun } from '../../layers/explained-run.ts';
import { medianOf, type WhySides } from './side-facts.ts';

/** A change with its two sides told by which of them is slower: what explains slower explains faster the other way. */
export interface WhyContext {
  readonly sides: WhySides;
  readonly change: ValueChange;
  readonly slow: readonly ExplainedRun[];
  readonly fast: readonly ExplainedRun[];
  readonly headIsSlow: boolean;
  /** Logarithm of how many times as long a query takes on the slow side; above 0. */
  readonly slowdown: number;
  /** What the GPU's own time of a query grew by, in ms; 0 when it did not. */
  readonly gpuGrewMs: number;
  /** The share of the change that this is, from 0 to 1: the rest is copies, the host, or waiting. */
  readonly gpuPart: number;
}

export type CauseDetector = (context: WhyContext) => readonly Cause[];

export function contextOf(sides: WhySides, change: ValueChange): WhyContext {
  const ratio = change.metric === 'throughputQps' ? change.base / change.head : change.head / change.base;
  const headIsSlow = ratio >= 1;
  const slowdown = Math.abs(Math.log(ratio));
  return {
    ...gpuGrowth(sides, change, headIsSlow, slowdown),
    sides,
    change,
    slow: headIsSlow ? sides.head : sides.base,
    fast: headIsSlow ? sides.base : sides.head,
    headIsSlow,
    slowdown,
  };
}

function gpuGrowth(
  { base, head }: WhySides,
  { metric }: ValueChange,
  headIsSlow: boolean,
  slowdown: number,
): Pick<WhyContext, 'gpuGrewMs' | 'gpuPart'> {
  const value = metric === 'gpuComputeMeanMs' ? 'gpuComputeMeanMs' : 'gpuComputeMs';
  const [was, is] = [base, head].map((runs) => medianOf(runs, (run) => run[value]));
  if (was === null || was === undefined || is === null || is === undefined || was <= 0) {
    return { gpuGrewMs: 0, gpuPart: 1 };
  }
  const gpuGrewMs = Math.max(0, headIsSlow ? is - was : was - is);
  if (metric === 'gpuComputeMs' || metric === 'gpuComputeMeanMs') return { gpuGrewMs, gpuPart: 1 };
  const grew = Math.log(headIsSlow ? is / was : was / is);
  if (metric !== 'latencyMs') {
    return { gpuGrewMs, gpuPart: Math.max(0, Math.min(1, grew / slowdown)) };
  }
  // A latency is the sum of copies and compute.
  const latency = [base, head].map((runs) => medianOf(runs, (run) => run.latencyMs) ?? 0);
  const whole = Math.abs((latency[1] ?? 0) - (latency[0] ?? 0));
  return { gpuGrewMs, gpuPart: whole > 0 ? Math.min(1, gpuGrewMs / whole) : 0 };
}

/** `1980 → 1650 MHz`, from base to head whichever is slow. */
export function arrow({ headIsSlow }: WhyContext, fast: string | number, slow: string | number, unit = ''): string {
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

function quoted(word: string): string {
  return /^[\w./~:=@^-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** The command that shows the layers of both sides. */
export function diffCommand({ cell, base, head }: WhySides['names']): string {
  const words = [cell, '--diff', base, head].filter((word) => word !== '');
  return ['bench layers', ...words.map(quoted)].join(' ');
}
