import type { Cause, ValueChange } from '../../records/cause.ts';
import type { ExplainedRun } from '../../layers/explained-run.ts';
import type { ClockReason } from '../../records/telemetry.ts';
import {
  type CauseDetector,
  arrow,
  cause,
  evidenceOf,
  isUnfitFor,
  medianOf,
  newest,
  round,
  shareOf,
  shareOfSlowdown,
  watchedMedian,
} from './context.ts';

/** Smaller ratios of clocks do not matter. */
const CLOCK_FACTOR = 1.005;
/** Growth of a reason's share of samples that counts as a change. */
const REASON_SHARE = 0.25;

/** A lower SM clock on the slow side, and what held it down: heat, the power limit, or something unknown. */
export const clockCauses: CauseDetector = (context) => {
  const { fast, slow } = context;
  const [high, low] = [watchedMedian(fast, 'smClockMhz'), watchedMedian(slow, 'smClockMhz')];
  const factor = high === null || low === null || low <= 0 ? 1 : high / low;
  if (high === null || low === null || factor < CLOCK_FACTOR) return [];
  const share = shareOfSlowdown(context, factor);
  // If only part of a change is GPU time, a clock explains at most that part.
  const explains = context.gpuPart < 1 ? Math.min(share, context.gpuPart * 100) : share;
  const clock = `SM clock ${arrow(context, high, low, 'MHz')}`;
  const evidence = [`${clock} would make compute-bound work ${round((factor - 1) * 100, 3)} % slower`];
  const isHeldMore = (...reasons: readonly ClockReason[]): boolean =>
    (reasonShare(slow, reasons) ?? 0) - (reasonShare(fast, reasons) ?? 0) >= REASON_SHARE;
  const tooHot = evidenceOf(slow, 'thermalSlowdown');
  if (isHeldMore('hwThermalSlowdown', 'swThermalSlowdown') || tooHot.length > 0) {
    const temperature = watchedMedian(slow, 'temperatureMaxC');
    return [
      cause('thermal', explains, {
        title: `too hot: ${clock}`,
        evidence: [...evidence, ...tooHot, ...(temperature === null ? [] : [`up to ${temperature} °C`])],
        confirm: 'let it cool down and measure again; look at fans, airflow and neighbours',
      }),
    ];
  }
  const [was = null, is = null] = [fast, slow].map(
    (runs) => watchedMedian(runs, 'powerLimitW') ?? newest(runs)?.environment.powerLimitW ?? null,
  );
  const limitFell = was !== null && is !== null && is < was;
  const capShare = reasonShare(slow, ['swPowerCap']) ?? 0;
  if (isHeldMore('swPowerCap') || limitFell || capShare >= 0.5) {
    return [
      cause('powerCap', explains, {
        title: `power limit: ${clock}`,
        evidence: [
          ...evidence,
          ...(limitFell ? [`the power limit went ${arrow(context, was, is, 'W')}`] : []),
          `the power cap was active in ${round(capShare * 100, 3)} % of the slow side's samples`,
          ...evidenceOf(slow, 'powerLimited'),
        ],
        confirm: 'nvidia-smi -q -d POWER,PERFORMANCE; compare with locked clocks (--lock-clocks base)',
      }),
    ];
  }
  return [
    cause('smClock', explains, {
      title: clock,
      evidence,
      confirm: 'measure again with locked clocks: bench run --lock-clocks base',
    }),
  ];
};

/** Median share of samples in which a reason held the clock down; null where not recorded. */
function reasonShare(runs: readonly ExplainedRun[], reasons: readonly ClockReason[]): number | null {
  return medianOf(runs, ({ telemetry }) =>
    telemetry === null || telemetry.samples === 0
      ? null
      : Math.max(...reasons.map((reason) => telemetry.clockReasons[reason] ?? 0)),
  );
}

/** Another process used the GPU during timing. */
export const contentionCauses: CauseDetector = (context) => {
  const { fast, slow } = context;
  const share = shareOf(slow, isContended);
  const [before = [], others = []] = [fast, slow].map((runs) =>
    runs.flatMap(({ telemetry }) => telemetry?.otherProcesses ?? []),
  );
  const isShown = share >= 0.5 && share > shareOf(fast, isContended);
  if (!isShown && (others.length === 0 || before.length > 0)) return [];
  const names = [...new Set(others.map(({ name, pid }) => `${name} (pid ${pid})`))].slice(0, 3);
  const cv = medianOf(slow, ({ cvPercent }) => cvPercent);
  return [
    cause(isShown ? 'contention' : 'otherProcess', isShown ? 100 : null, {
      title: `${names[0] ?? 'another process'} used the GPU${context.headIsSlow ? '' : ' before'}`,
      evidence: [
        ...evidenceOf(slow, 'contended'),
        ...(names.length > 0 ? [`on the same GPU: ${names.join(', ')}`] : []),
        ...(cv === null ? [] : [`the times of the queries vary by ${round(cv, 3)} % (CV)`]),
      ],
      confirm: 'nvidia-smi --query-compute-apps=pid,name --format=csv, then measure on an idle GPU',
    }),
  ];
};

function isContended(run: ExplainedRun): boolean {
  return (
    run.flags.some(({ id, effect }) => id === 'contended' && effect !== 'explained') || isUnfitFor(run, 'contended')
  );
}

/** A drop of this much means that the GPU waits. */
const BUSY_FELL = 0.1;

/** The GPU waited for the host between queries: throughput fell at equal GPU times. */
export const hostBoundCauses: CauseDetector = (context) => {
  const { fast, slow, change } = context;
  if (change.metric !== 'throughputQps') return [];
  const [before, after] = [medianOf(fast, busyShare), medianOf(slow, busyShare)];
  if (before === null || after === null || before - after < BUSY_FELL) return [];
  // The GPU waits for its inputs or outputs, not for launches.
  if (shareOf(slow, ({ boundBy }) => boundBy === 'h2d' || boundBy === 'd2h') >= 0.5) return [];
  const load = watchedMedian(slow, 'hostLoad');
  const busy = arrow(context, `${round(before * 100, 3)} %`, `${round(after * 100, 3)} %`);
  return [
    cause('hostBound', shareOfSlowdown(context, before / after), {
      title: `the GPU ${context.headIsSlow ? 'waited' : 'no longer waits'} for the host: busy ${busy}`,
      evidence: [
        'the GPU took as long for each query as before; the time between them grew',
        ...evidenceOf(slow, 'hostBound'),
        ...evidenceOf(slow, 'hostLoaded'),
        ...(load === null ? [] : [`load of the host: ${round(load, 3)} for each CPU`]),
      ],
      confirm: 'look at what else ran on the host; keep its CPUs free, or pin the run to some',
    }),
  ];
};

/** Share of the time in which the GPU computed; known only with one stream. */
function busyShare({ gpuBusy, throughputQps, gpuComputeMeanMs }: ExplainedRun): number | null {
  if (gpuBusy === null || throughputQps === null || gpuComputeMeanMs === null) return gpuBusy;
  return Math.min(1, (throughputQps * gpuComputeMeanMs) / 1000);
}

/** A requested graph was not captured: the host launches each kernel. */
export const graphCauses: CauseDetector = ({ fast, slow, headIsSlow }) => {
  if (shareOf(slow, hasNoGraph) < 0.5 || shareOf(fast, hasNoGraph) >= 0.5) return [];
  return [
    cause('graphNotCaptured', 100, {
      title: `no CUDA graph was captured ${headIsSlow ? 'in head' : 'in base'}`,
      evidence: ['trtexec said that the capture failed, and went on without a graph'],
      confirm: 'the log names what is not permitted under capture: bench show RUN',
    }),
  ];
};

function hasNoGraph(run: ExplainedRun): boolean {
  return run.hints.includes('graph_fail') || isUnfitFor(run, 'graphNotCaptured');
}

/** With this ratio of enqueue time to GPU time or more, the GPU may wait for launches, or does. */
const NEAR = 0.5;
const BOUND = 0.8;

/** Launching takes as long as computing, so that GPU times include the gaps between launches. */
export const enqueueCauses: CauseDetector = (context) => {
  const [before, after] = [
    medianOf(context.fast, (run) => run.enqueueMs) ?? Infinity,
    medianOf(context.slow, (run) => run.enqueueMs) ?? 0,
  ];
  const gpuMs = medianOf(context.slow, (run) => run.gpuComputeMs);
  if (gpuMs === null || context.sides.cudaGraph || after <= before || after < NEAR * gpuMs) return [];
  return [
    cause(
      after >= BOUND * gpuMs ? 'enqueueBound' : 'nearEnqueueBound',
      percentOfChange(context.change, after - before),
      {
        title: `launching ${context.headIsSlow ? 'took longer' : 'takes less'}: enqueue ${arrow(context, round(before), round(after), 'ms')}`,
        evidence: [`enqueue is ${round((after / gpuMs) * 100, 3)} % of the GPU time: the GPU waits for launches`],
        confirm: 'measure the same cell with a CUDA graph, or with a larger batch',
      },
    ),
  ];
};

function percentOfChange({ metric, base, head }: ValueChange, ms: number): number {
  const change = metric === 'throughputQps' ? 1000 / head - 1000 / base : head - base;
  return (ms / Math.max(Math.abs(change), 1e-12)) * 100;
}

const LEAST_TRANSFER_PERCENT = 10;

/** The copy that grew most, for a change of latency or throughput. */
export const transferCauses: CauseDetector = (context) => {
  const { fast, slow, change } = context;
  if (change.metric === 'gpuComputeMs' || change.metric === 'gpuComputeMeanMs') return [];
  const copies = (['h2dMs', 'd2hMs'] as const).map((line) => {
    const [from, to] = [medianOf(fast, (run) => run[line]) ?? 0, medianOf(slow, (run) => run[line]) ?? 0];
    return { name: line === 'h2dMs' ? 'H2D' : 'D2H', from, to, grew: to - from };
  });
  const explains = percentOfChange(
    change,
    copies.reduce((sum, { grew }) => sum + grew, 0),
  );
  if (explains < LEAST_TRANSFER_PERCENT) return [];
  const links = [fast, slow].map((runs) => {
    const [generation, width] = [watchedMedian(runs, 'pcieGeneration'), watchedMedian(runs, 'pcieWidth')];
    return generation === null || width === null ? null : `generation ${generation} x${width}`;
  });
  const [fastLink = null, slowLink = null] = links;
  const isOtherLink = fastLink !== null && slowLink !== null && fastLink !== slowLink;
  return copies
    .toSorted((a, b) => b.grew - a.grew)
    .slice(0, 1)
    .map(({ name, from, to }): Cause =>
      cause('transfers', explains, {
        title: `copies ${context.headIsSlow ? 'took longer' : 'take less'}: ${name} ${arrow(context, round(from), round(to), 'ms')}`,
        evidence: [
          ...(isOtherLink ? [`PCIe link ${arrow(context, fastLink, slowLink)}`] : []),
          ...(slow.some(({ hints }) => hints.includes('pageable')) ? ['host memory was pageable, not pinned'] : []),
        ],
        confirm: 'nvidia-smi -q -d PCIE under load; the same cell without transfers',
      }),
    );
};
