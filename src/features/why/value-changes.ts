import { type ExplainedMetric, EXPLAINED_METRICS, type ValueChange } from '../../records/cause.ts';
import { isCalled } from '../../records/verdict.ts';
import type { ExplainedRun } from '../../layers/explained-run.ts';
import { compareCells } from '../../judge/compare/compare-cells.ts';
import { meanLog, percentOfLog } from '../../statistics/logarithms.ts';

/**
 * By how much single runs of one cell differ from night to night without any cause, in percent: the worst of 42 cells
 * over three recorded nights, .7 % with a CUDA graph and 3.8 % without.
 */
const ONE_RUN_PERCENT = { graph: 1, noGraph: 4 } as const;
/** Means have no robust centre, and the host's own time is nobody's but the host's. */
const WILD_ONE_RUN_PERCENT: Readonly<Partial<Record<ExplainedMetric, number>>> = {
  gpuComputeMeanMs: 10,
  enqueueMs: 50,
};
const WILD_PERCENT: Readonly<Partial<Record<ExplainedMetric, number>>> = { enqueueMs: 20 };
/** Smaller ones are never called, however many runs. */
const LEAST_PERCENT = 0.5;
/** A change of this size that the runs can neither show nor rule out is worth a word. */
const UNCLEAR_PERCENT = 2;

/** The change of each value, and whether it is more than chance. Values that a side lacks are left out. */
export function valueChanges(
  base: readonly ExplainedRun[],
  head: readonly ExplainedRun[],
  cudaGraph: boolean,
): ValueChange[] {
  return EXPLAINED_METRICS.flatMap((metric) => {
    const [a, b] = [valuesOf(base, metric), valuesOf(head, metric)];
    return a.length === 0 || b.length === 0 ? [] : [changeOf(metric, a, b, cudaGraph)];
  });
}

function valuesOf(runs: readonly ExplainedRun[], metric: ExplainedMetric): number[] {
  return runs.flatMap((run) => {
    const value = run[metric];
    return value !== null && value > 0 ? [value] : [];
  });
}

function changeOf(
  metric: ExplainedMetric,
  base: readonly number[],
  head: readonly number[],
  cudaGraph: boolean,
): ValueChange {
  const common = {
    metric,
    base: Math.exp(meanLog(base)),
    head: Math.exp(meanLog(head)),
    changePercent: percentOfLog(meanLog(head) - meanLog(base)),
    runs: [base.length, head.length] as const,
  };
  const size = Math.abs(common.changePercent);
  if (Math.min(base.length, head.length) >= 2) {
    const betterIs = metric === 'throughputQps' ? 'higher' : 'lower';
    const [compared] = compareCells([{ cellKey: metric, base, head, betterIs }]).cells;
    const floor = Math.max(LEAST_PERCENT, WILD_PERCENT[metric] ?? 0);
    const isReal = compared !== undefined && isCalled(compared) && size >= floor;
    const hidden = Math.max(floor, compared?.mdePercent ?? 0);
    return {
      ...common,
      ciPercent: compared?.ciPercent ?? null,
      isReal,
      isUnclear: !isReal && compared?.verdict === 'unclear' && size >= UNCLEAR_PERCENT && size >= floor,
      leastPercent: hidden,
      basis: `${base.length} + ${head.length} runs`,
    };
  }
  const leastPercent = Math.max(
    cudaGraph ? ONE_RUN_PERCENT.graph : ONE_RUN_PERCENT.noGraph,
    WILD_ONE_RUN_PERCENT[metric] ?? 0,
  );
  return {
    ...common,
    ciPercent: null,
    isReal: size > leastPercent,
    isUnclear: false,
    leastPercent,
    basis: `one run a side: single runs ${cudaGraph ? 'with' : 'without'} a CUDA graph differ by up to ${leastPercent} % by chance`,
  };
}
