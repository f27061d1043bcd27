import type { ExplainedRun } from '../../store/runs/layer-runs.ts';
import { type Cause, type ValueChange, explainedMetricOf } from '../../records/cause.ts';
import { median } from '../../statistics/order-statistics.ts';
import { shellLine } from '../../text/shell-quote.ts';
import type { WhySides } from './why-sides.ts';

export type WhyContext = ReturnType<typeof contextOf>;
export type CauseDetector = (context: WhyContext) => Cause | readonly Cause[] | null;

/** A change with its two sides ordered by speed, so that the same rules explain slower and faster. */
export function contextOf(sides: WhySides, change: ValueChange) {
  const { base, head, metric } = change;
  const ratio = explainedMetricOf(metric).betterIs === 'higher' ? base / head : head / base;
  const headIsSlow = ratio >= 1;
  const [slow, fast] = headIsSlow ? [sides.head, sides.base] : [sides.base, sides.head];
  /** Log of the ratio of slow to fast; above 0. */
  const slowdown = Math.abs(Math.log(ratio));
  const value = metric === 'gpuComputeMeanMs' ? metric : 'gpuComputeMs';
  const [before, after] = [medianOf(fast, (run) => run[value]) ?? 0, medianOf(slow, (run) => run[value]) ?? 0];
  const isKnown = before > 0 && after > 0;
  /** Growth of the GPU time of a query in ms; 0 if it did not grow. */
  const gpuGrewMs = isKnown ? Math.max(0, after - before) : 0;
  // Latency is the sum of copies and compute.
  const part = metric === 'latencyMs' ? gpuGrewMs / Math.abs(head - base) : Math.log(after / before) / slowdown;
  const isWhole = !isKnown || metric === 'gpuComputeMs' || metric === 'gpuComputeMeanMs';
  /** Share of the change that is GPU time, from 0 to 1. The rest is copies, host or waiting. */
  const gpuPart = isWhole ? 1 : Number.isFinite(part) ? Math.max(0, Math.min(1, part)) : 0;
  return { sides, change, slow, fast, headIsSlow, slowdown, gpuGrewMs, gpuPart };
}

export function round(value: number, digits = 4): string {
  return String(Number(value.toPrecision(digits)));
}

export function diffCommand({ cell, base, head }: WhySides['names']): string {
  return shellLine(['bench', 'layers', cell, '--diff', base, head].filter((word) => word !== ''));
}

/** Median over the runs with a value. */
export function medianOf(runs: readonly ExplainedRun[], value: (run: ExplainedRun) => number | null): number | null {
  return median(runs.flatMap((run) => value(run) ?? []));
}

/** The newest run of a side represents the facts that are equal in all its runs. */
export function newest(runs: readonly ExplainedRun[]): ExplainedRun | null {
  return runs.at(-1) ?? null;
}

/** Replaced by the command that compares the layers of both sides. */
export const LAYER_DIFF = 'bench layers --diff';
const CAPTURE = 'the log names what is not permitted under capture: bench show RUN';
const IDLE_HOST = 'look at what else ran on the host; keep its CPUs free, or pin the run to some';
const POWER = 'nvidia-smi -q -d POWER,PERFORMANCE; compare with locked clocks (--lock-clocks base)';
const BUILD_LUCK = 'run the old engine and the new one; measure build luck with several builds';
const IDLE_GPU = 'nvidia-smi --query-compute-apps=pid,name --format=csv, then measure on an idle GPU';
const GRAPH = 'measure the same cell with a CUDA graph, or with a larger batch';
const OLD_MACHINE = 'run the same engine on the old machine or driver, or bench bisect --factors';

/**
 * All causes with their kind, certainty and rank, and how to confirm them. The rank of a shown cause counts for each
 * percent of the change that it explains; other ranks are absolute. A cause that explains most of a change ranks above a
 * condition that only changed. Conditions rank by how often such a change is the cause.
 */
const CAUSES = {
  graphNotCaptured: ['graphNotCaptured', 'shown', 1, CAPTURE],
  contention: ['contention', 'shown', 0.99, IDLE_GPU],
  hostBound: ['hostBound', 'shown', 0.98, IDLE_HOST],
  thermal: ['thermal', 'shown', 0.97, 'let it cool down and measure again; look at fans, airflow and neighbours'],
  powerCap: ['powerLimit', 'shown', 0.97, POWER],
  smClock: ['clocks', 'shown', 0.97, 'measure again with locked clocks: bench run --lock-clocks base'],
  transfers: ['transfers', 'shown', 0.96, 'nvidia-smi -q -d PCIE under load; the same cell without transfers'],
  tactics: ['tactics', 'shown', 0.95, LAYER_DIFF],
  fusion: ['fusion', 'shown', 0.95, LAYER_DIFF],
  precision: ['precision', 'shown', 0.95, LAYER_DIFF],
  sameKernel: ['sameKernel', 'shown', 0.38, `${LAYER_DIFF}; bench profile CELL --ncu shows why one kernel is slow`],
  enqueueBound: ['enqueueBound', 'shown', 0.94, GRAPH],
  nearEnqueueBound: ['enqueueBound', 'likely', 0.94, GRAPH],
  otherProcess: ['contention', 'likely', 72, IDLE_GPU],
  gpu: ['environment', 'possible', 66, OLD_MACHINE],
  model: ['model', 'possible', 62, 'run the old model with the new build, or bench bisect --factors'],
  options: ['options', 'possible', 58, 'run once with the old options'],
  inputs: ['inputs', 'possible', 55, 'run with the old input files'],
  environment: ['environment', 'possible', 52, OLD_MACHINE],
  engineBuild: ['engineBuild', 'possible', 45, BUILD_LUCK],
  cellsDiffer: ['options', 'possible', 40, 'profile both (bench run --profile), and compare their layers'],
} as const satisfies Readonly<Record<string, readonly [Cause['kind'], Cause['certainty'], number, string]>>;

export type CauseName = keyof typeof CAUSES;

/** @param explainsPercent share of the change that the cause explains; null if unknown */
export function cause(
  name: CauseName,
  explainsPercent: number | null,
  title: string,
  evidence: readonly string[] = [],
  gainedPercent: number | null = null,
): Cause {
  const [kind, certainty, share, confirm] = CAUSES[name];
  const rank = share * Math.min(100, explainsPercent ?? 1);
  return { kind, certainty, title, evidence, explainsPercent, gainedPercent, confirm, rank };
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
