import type { ValueChange } from '../../records/cause.ts';
import { arrow, type CauseDetector, round, isUnfitFor, medianOf, shareOf } from './context.ts';

/** A graph that was asked for was not captured: the host launches each kernel by itself. */
export const graphCauses: CauseDetector = ({ fast, slow, headIsSlow }) => {
  const failed = (run: (typeof slow)[number]): boolean =>
    run.hints.includes('graph_fail') || isUnfitFor(run, 'graphNotCaptured');
  if (shareOf(slow, failed) < 0.5 || shareOf(fast, failed) >= 0.5) return [];
  return [
    {
      kind: 'graphNotCaptured',
      certainty: 'shown',
      title: `no CUDA graph was captured ${headIsSlow ? 'any more' : 'before'}`,
      evidence: ['trtexec said that the capture failed, and went on without a graph'],
      explainsPercent: 100,
      confirm: 'the log names what is not permitted under capture: bench show RUN',
      rank: 100,
    },
  ];
};

/** From this ratio of enqueue to GPU time on the GPU may wait for launches. */
const NEAR = 0.5;

/** Launching takes as long as computing: GPU times then hold the gaps between launches. */
export const enqueueCauses: CauseDetector = (context) => {
  const { fast, slow, change, sides } = context;
  const enqueue = (runs: typeof fast): number | null => medianOf(runs, (run) => run.enqueueMs);
  const gpu = (runs: typeof fast): number | null => medianOf(runs, (run) => run.gpuComputeMs);
  const [before, after] = [enqueue(fast), enqueue(slow)];
  const [gpuBefore, gpuAfter] = [gpu(fast), gpu(slow)];
  if (before === null || after === null || gpuBefore === null || gpuAfter === null) return [];
  if (after <= before || after < NEAR * gpuAfter || sides.cudaGraph) return [];
  const grew = after - before;
  const explains = Math.min(100, (grew / changeMs(change)) * 100);
  const hinted = slow.some(({ hints }) => hints.includes('enqueue_bound'));
  return [
    {
      kind: 'enqueueBound',
      certainty: after >= 0.8 * gpuAfter ? 'shown' : 'likely',
      title: `launching ${context.headIsSlow ? 'took longer' : 'takes less'}: enqueue ${arrow(context, round(before), round(after), 'ms')}`,
      evidence: [
        `enqueue is ${round((after / gpuAfter) * 100, 3)} % of the GPU time: the GPU waits for launches`,
        ...(hinted ? ['trtexec says that throughput may be bound by enqueue time'] : []),
      ],
      explainsPercent: explains,
      confirm: 'measure the same cell with a CUDA graph, or with a larger batch',
      rank: 0.94 * explains,
    },
  ];
};

/** Of one query, above 0. */
function changeMs({ metric, base, head }: ValueChange): number {
  const change = metric === 'throughputQps' ? 1000 / head - 1000 / base : head - base;
  return Math.max(Math.abs(change), 1e-12);
}

/** Copies between host and GPU. */
export const transferCauses: CauseDetector = (context) => {
  const { fast, slow, change } = context;
  if (change.metric === 'gpuComputeMs' || change.metric === 'gpuComputeMeanMs') return [];
  const both = (runs: typeof fast) => ({
    h2d: medianOf(runs, (run) => run.h2dMs) ?? 0,
    d2h: medianOf(runs, (run) => run.d2hMs) ?? 0,
  });
  const [before, after] = [both(fast), both(slow)];
  const grew = after.h2d + after.d2h - before.h2d - before.d2h;
  if (grew <= 0) return [];
  const explains = Math.min(100, (grew / changeMs(change)) * 100);
  if (explains < 10) return [];
  const parts = [
    ['H2D', before.h2d, after.h2d],
    ['D2H', before.d2h, after.d2h],
  ] as const;
  const [name, from, to] = parts[0][2] - parts[0][1] >= parts[1][2] - parts[1][1] ? parts[0] : parts[1];
  const links = [fast, slow].map((runs) => linkOf(runs));
  return [
    {
      kind: 'transfers',
      certainty: 'shown',
      title: `copies ${context.headIsSlow ? 'took longer' : 'take less'}: ${name} ${arrow(context, round(from), round(to), 'ms')}`,
      evidence: [
        ...(links[0] !== links[1] && links[0] !== null && links[1] !== null
          ? [`PCIe link ${arrow(context, links[0] ?? '', links[1] ?? '')}`]
          : []),
        ...(slow.some(({ hints }) => hints.includes('pageable')) ? ['host memory was pageable, not pinned'] : []),
      ],
      explainsPercent: explains,
      confirm: 'nvidia-smi -q -d PCIE under load; the same cell without transfers',
      rank: 0.96 * explains,
    },
  ];
};

function linkOf(runs: Parameters<typeof medianOf>[0]): string | null {
  const generation = medianOf(runs, ({ telemetry }) => telemetry?.pcieGeneration ?? null);
  const width = medianOf(runs, ({ telemetry }) => telemetry?.pcieWidth ?? null);
  return generation === null || width === null ? null : `generation ${generation} x${width}`;
}
