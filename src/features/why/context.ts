import type { ChangeRows } from '../../layers/change-rows.ts';
import type { LayersDiff } from '../../layers/diff-layers.ts';
import type { ExplainedRun } from '../../layers/explained-run.ts';
import type { Cause, ValueChange } from '../../records/cause.ts';
import { outcomeReason } from '../../records/outcome.ts';
import type { RunFlagId } from '../../records/run-flag.ts';
import type { ClockReason } from '../../records/telemetry.ts';
import { median } from '../../statistics/order-statistics.ts';
import { shellLine } from '../../text/shell-quote.ts';

/** A change with its two sides ordered by which of them is slower: what explains slower explains faster the other way. */
export interface WhyContext {
  readonly sides: WhySides;
  readonly change: ValueChange;
  readonly slow: readonly ExplainedRun[];
  readonly fast: readonly ExplainedRun[];
  readonly headIsSlow: boolean;
  /** Log of the ratio of slow to fast; above 0. */
  readonly slowdown: number;
  /** Growth of the GPU time of a query, ms; 0 when it did not grow. */
  readonly gpuGrewMs: number;
  /** Share of the change that is GPU time, 0 to 1: the rest is copies, host, or waiting. */
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
  // Latency is the sum of copies and compute.
  const latency = (runs: readonly ExplainedRun[]) => medianOf(runs, (run) => run.latencyMs) ?? 0;
  const whole = Math.abs(latency(slow) - latency(fast));
  return { gpuGrewMs, gpuPart: whole > 0 ? Math.min(1, gpuGrewMs / whole) : 0 };
}

/** `1980 → 1650 MHz`, base to head whichever is slow. */
export function arrow({ headIsSlow }: WhyContext, fast: string | number, slow: string | number, unit = ''): string {
  const [base, head] = headIsSlow ? [fast, slow] : [slow, fast];
  return `${base} → ${head}${unit === '' ? '' : ` ${unit}`}`;
}

/** Percent of the slowdown that a factor explains; above 100 where others made up for it. */
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
  /** False where layers are only listed on a side: the times in `diff` and `rows` then say nothing. */
  readonly isTimed: boolean;
  /** The cells of the profiles, where those asked about have none: times of other queries. */
  readonly otherCell: string | null;
  /** Share of the base's time in opaque regions. */
  readonly opaqueShare: number;
}

export interface WhySides {
  readonly base: readonly ExplainedRun[];
  readonly head: readonly ExplainedRun[];
  readonly cudaGraph: boolean;
  /** Two different cells differ in their builds by intent. */
  readonly isSameCell: boolean;
  /** `no-graph → graph`; empty for the same cell. */
  readonly cellDifference: string;
  /** Null where the layers of a side are not known, or for the same engine. */
  readonly layers: WhyLayers | null;
  /** Sides without a layer profile of their own, and why. */
  readonly missingProfiles: readonly { readonly text: string; readonly hasFailed: boolean }[];
  /** What weakens the evidence: a profile of another cell, disturbed runs. */
  readonly notes: readonly string[];
  /** Arguments for `bench layers`: the cell (empty for files) and both sides. */
  readonly names: { readonly cell: string; readonly base: string; readonly head: string };
}

/** Over runs with a value. */
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

/** Median share of samples in which a reason held the clock down; null where not recorded. */
export function reasonShare(runs: readonly ExplainedRun[], reasons: readonly ClockReason[]): number | null {
  return medianOf(runs, ({ telemetry }) =>
    telemetry === null || telemetry.samples === 0
      ? null
      : Math.max(...reasons.map((reason) => telemetry.clockReasons[reason] ?? 0)),
  );
}

export function evidenceOf(runs: readonly ExplainedRun[], flag: RunFlagId): string[] {
  return [
    ...new Set(runs.flatMap(({ flags }) => flags.filter(({ id }) => id === flag).map((one) => one.evidence))),
  ].slice(0, 2);
}

/** The newest run of a side represents what does not differ between its runs. */
export function newest(runs: readonly ExplainedRun[]): ExplainedRun | null {
  return runs.at(-1) ?? null;
}

/**
 * Every cause that is named, with its rank: for each percent of the change that it accounts for, or the whole rank of one
 * of which that cannot be counted. What accounts for most of a change ranks above what only changed; the latter are
 * ranked by how often such a change is the cause.
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
  memoryClock: ['clocks', 'likely', 0.9],
  unrecordedClock: ['clocks', 'possible', 0.9],
  otherProcess: ['contention', 'likely', 72],
  gpu: ['environment', 'possible', 66],
  model: ['model', 'possible', 62],
  options: ['options', 'possible', 58],
  inputs: ['inputs', 'possible', 55],
  environment: ['environment', 'possible', 52],
  lowerPowerLimit: ['powerLimit', 'possible', 48],
  engineBuild: ['engineBuild', 'possible', 45],
  cellsDiffer: ['options', 'possible', 40],
} as const satisfies Readonly<Record<string, readonly [Cause['kind'], Cause['certainty'], number]>>;

/** Above an engine of which no more is known than that it was built again, below options that changed. */
const OTHER_CELL_RANK = CAUSES.engineBuild[2] + 1;

interface CauseText {
  readonly title: string;
  readonly evidence?: readonly string[];
  readonly gainedPercent?: number | null;
  /** What would confirm it. */
  readonly confirm: string;
}

/** @param explainsPercent share of the change that it accounts for; null where that cannot be counted */
export function cause(name: keyof typeof CAUSES, explainsPercent: number | null, text: CauseText): Cause {
  const [kind, certainty, rank] = CAUSES[name];
  const { title, evidence = [], gainedPercent = null, confirm } = text;
  const weight = Math.min(100, explainsPercent ?? 1);
  return { kind, certainty, title, evidence, explainsPercent, gainedPercent, confirm, rank: rank * weight };
}

/** A profile of another batch may or may not behave in the same way. */
export function seenInOtherCell(seen: Cause, otherCell: string): Cause {
  return {
    ...uncounted(seen),
    title: `${seen.title} (by the profile of ${otherCell})`,
    evidence: [`this cell has no profile on both sides: seen in ${otherCell}`, ...seen.evidence],
    confirm: 'bench run --profile, which profiles this cell too',
  };
}

/** Seen in the layers, of which nobody knows how long they take in this cell. */
export function uncounted(seen: Cause): Cause {
  const rank = OTHER_CELL_RANK + seen.rank / 10;
  return { ...seen, certainty: 'possible', explainsPercent: null, gainedPercent: null, rank };
}
