import type { ChangeRows } from '../../layers/change-rows.ts';
import type { LayersDiff } from '../../layers/diff-layers.ts';
import type { ExplainedRun } from '../../layers/explained-run.ts';
import type { Cause, ValueChange } from '../../records/cause.ts';
import { outcomeReason } from '../../records/outcome.ts';
import type { RunFlagId } from '../../records/run-flag.ts';
import type { RunTelemetry } from '../../records/telemetry.ts';
import { median } from '../../statistics/order-statistics.ts';
import { shellLine } from '../../text/shell-quote.ts';

/** A change with its two sides ordered by speed, so that the same rules explain slower and faster. */
export interface WhyContext {
  readonly sides: WhySides;
  readonly change: ValueChange;
  readonly slow: readonly ExplainedRun[];
  readonly fast: readonly ExplainedRun[];
  readonly headIsSlow: boolean;
  /** Log of the ratio of slow to fast; above 0. */
  readonly slowdown: number;
  /** Growth of the GPU time of a query in ms; 0 if it did not grow. */
  readonly gpuGrewMs: number;
  /** Share of the change that is GPU time, from 0 to 1. The rest is copies, host or waiting. */
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
  { base, head, metric }: ValueChange,
  slowdown: number,
): Pick<WhyContext, 'gpuGrewMs' | 'gpuPart'> {
  const value = metric === 'gpuComputeMeanMs' ? 'gpuComputeMeanMs' : 'gpuComputeMs';
  const [before, after] = [fast, slow].map((runs) => medianOf(runs, (run) => run[value])).map((ms) => ms ?? 0);
  if (before === undefined || after === undefined || before <= 0 || after <= 0) return { gpuGrewMs: 0, gpuPart: 1 };
  const gpuGrewMs = Math.max(0, after - before);
  if (metric === 'gpuComputeMs' || metric === 'gpuComputeMeanMs') return { gpuGrewMs, gpuPart: 1 };
  // Latency is the sum of copies and compute.
  const part = metric === 'latencyMs' ? gpuGrewMs / Math.abs(head - base) : Math.log(after / before) / slowdown;
  return { gpuGrewMs, gpuPart: Number.isFinite(part) ? Math.max(0, Math.min(1, part)) : 0 };
}

/** `1980 → 1650 MHz`, always from base to head. */
export function arrow({ headIsSlow }: WhyContext, fast: string | number, slow: string | number, unit = ''): string {
  const [base, head] = headIsSlow ? [fast, slow] : [slow, fast];
  return `${base} → ${head}${unit === '' ? '' : ` ${unit}`}`;
}

/** Percentage of the slowdown that a factor explains; above 100 if other changes compensated for some of it. */
export function shareOfSlowdown({ slowdown }: WhyContext, factor: number): number {
  if (slowdown <= 0 || !(factor > 0)) return 0;
  return Math.max(0, (Math.log(factor) / slowdown) * 100);
}

export function round(value: number, digits = 4): string {
  return String(Number(value.toPrecision(digits)));
}

export function diffCommand({ cell, base, head }: WhySides['names']): string {
  return shellLine(['bench', 'layers', cell, '--diff', base, head].filter((word) => word !== ''));
}

export interface WhyLayers {
  readonly diff: LayersDiff;
  readonly rows: ChangeRows;
  /** False if a side only lists its layers; the times in `diff` and `rows` are then meaningless. */
  readonly isTimed: boolean;
  /** The cell of the profiles if the requested cells have none; the times are then those of other queries. */
  readonly otherCell: string | null;
}

export interface WhySides {
  readonly base: readonly ExplainedRun[];
  readonly head: readonly ExplainedRun[];
  readonly cudaGraph: boolean;
  /** Two different cells differ in their builds by intention. */
  readonly isSameCell: boolean;
  /** `no-graph → graph`; empty for the same cell. */
  readonly cellDifference: string;
  /** Null if the layers of a side are unknown, or for the same engine. */
  readonly layers: WhyLayers | null;
  /** What weakens the evidence, such as a profile of another cell or disturbed runs. */
  readonly notes: readonly string[];
  /** Arguments for `bench layers`: the cell (empty for files) and both sides. */
  readonly names: { readonly cell: string; readonly base: string; readonly head: string };
}

/** Median over the runs with a value. */
export function medianOf(runs: readonly ExplainedRun[], value: (run: ExplainedRun) => number | null): number | null {
  return median(runs.flatMap((run) => value(run) ?? []));
}

type WatchedField = 'smClockMhz' | 'temperatureMaxC' | 'powerLimitW' | 'hostLoad' | 'pcieGeneration' | 'pcieWidth';

/** Median of a telemetry value over the runs that have it. */
export function watchedMedian(runs: readonly ExplainedRun[], field: WatchedField & keyof RunTelemetry): number | null {
  return medianOf(runs, ({ telemetry }) => telemetry?.[field] ?? null);
}

/** Share of the runs that fulfil a condition, from 0 to 1. */
export function shareOf(runs: readonly ExplainedRun[], holds: (run: ExplainedRun) => boolean): number {
  return runs.length === 0 ? 0 : runs.filter(holds).length / runs.length;
}

export function isUnfitFor(run: ExplainedRun, reason: string): boolean {
  return run.outcome.kind === 'unfit' && outcomeReason(run.outcome) === reason;
}

export function evidenceOf(runs: readonly ExplainedRun[], flag: RunFlagId): string[] {
  return [
    ...new Set(runs.flatMap(({ flags }) => flags.filter(({ id }) => id === flag).map((one) => one.evidence))),
  ].slice(0, 2);
}

/** The newest run of a side represents the facts that are equal in all its runs. */
export function newest(runs: readonly ExplainedRun[]): ExplainedRun | null {
  return runs.at(-1) ?? null;
}

/**
 * All causes with their kind, certainty and rank. The rank of a shown cause counts for each percent of the change that
 * it explains; other ranks are absolute. A cause that explains most of a change ranks above a condition that only
 * changed. Conditions rank by how often such a change is the cause.
 */
const CAUSES = {
  graphNotCaptured: ['graphNotCaptured', 'shown', 1],
  contention: ['contention', 'shown', 0.99],
  hostBound: ['hostBound', 'shown', 0.98],
  thermal: ['thermal', 'shown', 0.97],
  powerCap: ['powerLimit', 'shown', 0.97],
  smClock: ['clocks', 'shown', 0.97],
  transfers: ['transfers', 'shown', 0.96],
  tactics: ['tactics', 'shown', 0.95],
  fusion: ['fusion', 'shown', 0.95],
  precision: ['precision', 'shown', 0.95],
  enqueueBound: ['enqueueBound', 'shown', 0.94],
  nearEnqueueBound: ['enqueueBound', 'likely', 0.94],
  otherProcess: ['contention', 'likely', 72],
  gpu: ['environment', 'possible', 66],
  model: ['model', 'possible', 62],
  options: ['options', 'possible', 58],
  inputs: ['inputs', 'possible', 55],
  environment: ['environment', 'possible', 52],
  engineBuild: ['engineBuild', 'possible', 45],
  cellsDiffer: ['options', 'possible', 40],
} as const satisfies Readonly<Record<string, readonly [Cause['kind'], Cause['certainty'], number]>>;

interface CauseText {
  readonly title: string;
  readonly evidence?: readonly string[];
  readonly gainedPercent?: number | null;
  /** How to confirm the cause. */
  readonly confirm: string;
}

/** @param explainsPercent share of the change that the cause explains; null if unknown */
export function cause(name: keyof typeof CAUSES, explainsPercent: number | null, text: CauseText): Cause {
  const [kind, certainty, rank] = CAUSES[name];
  const { title, evidence = [], gainedPercent = null, confirm } = text;
  const weight = Math.min(100, explainsPercent ?? 1);
  return { kind, certainty, title, evidence, explainsPercent, gainedPercent, confirm, rank: rank * weight };
}

/**
 * A cause that the layers show, while their times in this cell are unknown. It ranks above an engine that was only
 * built again, and below changed options.
 */
export function uncounted(seen: Cause, otherCell: string | null): Cause {
  const rank = CAUSES.engineBuild[2] + 1 + seen.rank / 10;
  const possible: Cause = { ...seen, certainty: 'possible', explainsPercent: null, gainedPercent: null, rank };
  if (otherCell === null) return possible;
  return {
    ...possible,
    title: `${seen.title} (by the profile of ${otherCell})`,
    evidence: [`this cell has no profile on both sides: seen in ${otherCell}`, ...seen.evidence],
    confirm: 'bench run --profile, which profiles this cell too',
  };
}
