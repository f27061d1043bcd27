import type { Cause, ValueChange } from '../../records/cause.ts';
import type { ExplainedRun } from '../../layers/explained-run.ts';
import { shellLine } from '../../text/shell-quote.ts';
import { median } from '../../statistics/median.ts';
import type { RunFlagId } from '../../records/run-flag.ts';
import type { ClockReason } from '../../records/telemetry.ts';
import { outcomeReason } from '../../records/outcome.ts';
import type { LayersDiff } from '../../layers/diff-layers.ts';
import type { ChangeRows } from '../../layers/change-rows.ts';

/** A change with its two sides ordered by which of them is slower: what explains slower explains faster the other way. */
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
  const [slow, fast] = headIsSlow ? [sides.head, sides.base] : [sides.base, sides.head];
  return { ...gpuGrowth(slow, fast, change, slowdown), sides, change, slow, fast, headIsSlow, slowdown };
}

function gpuGrowth(
  slow: readonly ExplainedRun[],
  fast: readonly ExplainedRun[],
  { metric }: ValueChange,
  slowdown: number,
): Pick<WhyContext, 'gpuGrewMs' | 'gpuPart'> {
  const value = metric === 'gpuComputeMeanMs' ? 'gpuComputeMeanMs' : 'gpuComputeMs';
  const [before, after] = [medianOf(fast, (run) => run[value]), medianOf(slow, (run) => run[value])];
  if (before === null || after === null || before <= 0) return { gpuGrewMs: 0, gpuPart: 1 };
  const gpuGrewMs = Math.max(0, after - before);
  if (metric === 'gpuComputeMs' || metric === 'gpuComputeMeanMs') return { gpuGrewMs, gpuPart: 1 };
  if (metric !== 'latencyMs') {
    return { gpuGrewMs, gpuPart: Math.max(0, Math.min(1, Math.log(after / before) / slowdown)) };
  }
  // A latency is the sum of copies and compute.
  const latency = (runs: readonly ExplainedRun[]) => medianOf(runs, (run) => run.latencyMs) ?? 0;
  const whole = Math.abs(latency(slow) - latency(fast));
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

/** The command that shows the layers of both sides. */
export function diffCommand({ cell, base, head }: WhySides['names']): string {
  return shellLine(['bench', 'layers', cell, '--diff', base, head].filter((word) => word !== ''));
}

export interface WhyLayers {
  readonly diff: LayersDiff;
  readonly rows: ChangeRows;
  /** The cells that the profiles are of, where those asked about have none: their times are those of other queries. */
  readonly otherCell: string | null;
  /** Share of the base's time in regions that show nothing of themselves. */
  readonly opaqueShare: number;
}

/** Two sides of one cell, with what is known of their runs and layers. */
export interface WhySides {
  readonly base: readonly ExplainedRun[];
  readonly head: readonly ExplainedRun[];
  readonly cudaGraph: boolean;
  /** Two different cells are built from different things by intent. */
  readonly isSameCell: boolean;
  /** What the two cells differ in, in words: `no-graph → graph`; empty for the same cell. */
  readonly cellDifference: string;
  /** Null where not both sides have a profile, or the engines are the same. */
  readonly layers: WhyLayers | null;
  /** Which side lacks a layer profile of its own, and why; none where both have one. */
  readonly missingProfiles: readonly { readonly text: string; readonly hasFailed: boolean }[];
  /** What makes the evidence less than it seems: a profile of another cell, runs that were disturbed. */
  readonly notes: readonly string[];
  /** What to write after `bench layers` to see more: the cell (empty for files) and the two sides. */
  readonly names: { readonly cell: string; readonly base: string; readonly head: string };
}

/** Median over the runs that know the value. */
export function medianOf(runs: readonly ExplainedRun[], value: (run: ExplainedRun) => number | null): number | null {
  return median(runs.flatMap((run) => value(run) ?? []));
}

/** Median of what was watched during the runs that know it. */
export function watchedMedian(
  runs: readonly ExplainedRun[],
  field:
    | 'smClockMhz'
    | 'memoryClockMhz'
    | 'temperatureMaxC'
    | 'powerLimitW'
    | 'hostLoad'
    | 'pcieGeneration'
    | 'pcieWidth',
): number | null {
  return medianOf(runs, ({ telemetry }) => telemetry?.[field] ?? null);
}

/** Share of the runs, from 0 to 1. */
export function shareOf(runs: readonly ExplainedRun[], holds: (run: ExplainedRun) => boolean): number {
  return runs.length === 0 ? 0 : runs.filter(holds).length / runs.length;
}

export function hasFlag(run: ExplainedRun, flag: RunFlagId): boolean {
  return run.flags.some(({ id }) => id === flag);
}

export function isUnfitFor(run: ExplainedRun, reason: string): boolean {
  return run.outcome.kind === 'unfit' && outcomeReason(run.outcome) === reason;
}

/** Median share of the samples in which a reason held the clock down; null where nobody looked. */
export function reasonShare(runs: readonly ExplainedRun[], reasons: readonly ClockReason[]): number | null {
  return medianOf(runs, ({ telemetry }) =>
    telemetry === null || telemetry.samples === 0
      ? null
      : Math.max(...reasons.map((reason) => telemetry.clockReasons[reason] ?? 0)),
  );
}

/** The evidence lines of a flag, each once. */
export function evidenceOf(runs: readonly ExplainedRun[], flag: RunFlagId): string[] {
  return [
    ...new Set(runs.flatMap(({ flags }) => flags.filter(({ id }) => id === flag).map((one) => one.evidence))),
  ].slice(0, 2);
}

/** The newest run of a side represents what does not differ between its runs. */
export function newest(runs: readonly ExplainedRun[]): ExplainedRun | null {
  return runs.at(-1) ?? null;
}
