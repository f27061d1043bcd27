import type { ValueChange } from '../../records/cause.ts';
import { hostLinkOf } from '../../records/environment.ts';
import { type CauseDetector, arrow, cause, isUnfitFor, medianOf, round, shareOf, watchedMedian } from './context.ts';

/** A requested graph was not captured: the host launches each kernel. */
export const graphCauses: CauseDetector = ({ fast, slow, headIsSlow }) => {
  const failed = (run: (typeof slow)[number]): boolean =>
    run.hints.includes('graph_fail') || isUnfitFor(run, 'graphNotCaptured');
  if (shareOf(slow, failed) < 0.5 || shareOf(fast, failed) >= 0.5) return [];
  return [
    cause('graphNotCaptured', 100, {
      title: `no CUDA graph was captured ${headIsSlow ? 'in head' : 'in base'}`,
      evidence: ['trtexec said that the capture failed, and went on without a graph'],
      confirm: 'the log names what is not permitted under capture: bench show RUN',
    }),
  ];
};

/** With this ratio of enqueue time to GPU time or more, the GPU may wait for launches. */
const NEAR = 0.5;

/** Launching takes as long as computing, so that GPU times include the gaps between launches. */
export const enqueueCauses: CauseDetector = (context) => {
  const { fast, slow, change, sides } = context;
  const enqueue = (runs: typeof fast): number | null => medianOf(runs, (run) => run.enqueueMs);
  const gpu = (runs: typeof fast): number | null => medianOf(runs, (run) => run.gpuComputeMs);
  const [before, after] = [enqueue(fast), enqueue(slow)];
  const [gpuBefore, gpuAfter] = [gpu(fast), gpu(slow)];
  if (before === null || after === null || gpuBefore === null || gpuAfter === null) return [];
  if (after <= before || after < NEAR * gpuAfter || sides.cudaGraph) return [];
  const grew = after - before;
  const explains = (grew / changeMs(change)) * 100;
  const hinted = slow.some(({ hints }) => hints.includes('enqueue_bound'));
  return [
    cause(after >= 0.8 * gpuAfter ? 'enqueueBound' : 'nearEnqueueBound', explains, {
      title: `launching ${context.headIsSlow ? 'took longer' : 'takes less'}: enqueue ${arrow(context, round(before), round(after), 'ms')}`,
      evidence: [
        `enqueue is ${round((after / gpuAfter) * 100, 3)} % of the GPU time: the GPU waits for launches`,
        ...(hinted ? ['trtexec says that throughput may be bound by enqueue time'] : []),
      ],
      confirm: 'measure the same cell with a CUDA graph, or with a larger batch',
    }),
  ];
};

/** Change per query in ms, above 0. */
function changeMs({ metric, base, head }: ValueChange): number {
  const change = metric === 'throughputQps' ? 1000 / head - 1000 / base : head - base;
  return Math.max(Math.abs(change), 1e-12);
}

export const transferCauses: CauseDetector = (context) => {
  const { fast, slow, change } = context;
  if (change.metric === 'gpuComputeMs' || change.metric === 'gpuComputeMeanMs') return [];
  const both = (runs: typeof fast) => [
    medianOf(runs, (run) => run.h2dMs) ?? 0,
    medianOf(runs, (run) => run.d2hMs) ?? 0,
  ];
  const [[h2dBefore = 0, d2hBefore = 0], [h2dAfter = 0, d2hAfter = 0]] = [both(fast), both(slow)];
  const grew = h2dAfter + d2hAfter - h2dBefore - d2hBefore;
  if (grew <= 0) return [];
  const explains = (grew / changeMs(change)) * 100;
  if (explains < 10) return [];
  const [name, from, to] =
    h2dAfter - h2dBefore >= d2hAfter - d2hBefore
      ? (['H2D', h2dBefore, h2dAfter] as const)
      : (['D2H', d2hBefore, d2hAfter] as const);
  const [fastLink, slowLink] = [linkOf(fast), linkOf(slow)];
  return [
    cause('transfers', explains, {
      title: `copies ${context.headIsSlow ? 'took longer' : 'take less'}: ${name} ${arrow(context, round(from), round(to), 'ms')}`,
      evidence: [
        ...(fastLink !== slowLink && fastLink !== null && slowLink !== null
          ? [`PCIe link ${arrow(context, fastLink, slowLink)}`]
          : []),
        ...(slow.some(({ hints }) => hints.includes('pageable')) ? ['host memory was pageable, not pinned'] : []),
      ],
      confirm:
        hostLinkOf(slow[0]?.environment.gpuName) === 'pcie'
          ? 'nvidia-smi -q -d PCIE under load; the same cell without transfers'
          : 'the same cell without transfers',
    }),
  ];
};

function linkOf(runs: Parameters<typeof medianOf>[0]): string | null {
  const [generation, width] = [watchedMedian(runs, 'pcieGeneration'), watchedMedian(runs, 'pcieWidth')];
  return generation === null || width === null ? null : `generation ${generation} x${width}`;
}
