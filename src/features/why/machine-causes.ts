import { compareCells } from '../../judge/compare/compare-cells.ts';
import { formatPercent, intervalText } from '../../terminal/numbers.ts';
import type { ExplainedRun } from '../../store/runs/layer-runs.ts';
import { type ValueChange, explainedMetricOf } from '../../records/cause.ts';
import { outcomeReason, type RunFlagId } from '../../records/outcome.ts';
import type { ClockReason } from '../../records/telemetry.ts';
import { type CauseDetector, type WhyContext, cause, medianOf, newest, round } from './context.ts';

/** Smaller ratios of clocks do not matter. */
const CLOCK_FACTOR = 1.005;
/** Growth of a reason's share of samples that counts as a change. */
const REASON_SHARE = 0.25;

/** A lower SM clock on the slow side, and what held it down: heat, the power limit, or something unknown. */
const clockCauses: CauseDetector = (context) => {
  const { fast, slow } = context;
  const [high, low] = [watchedMedian(fast, 'smClockMhz'), watchedMedian(slow, 'smClockMhz')];
  if (high === null || low === null || low <= 0 || high / low < CLOCK_FACTOR) return null;
  const share = shareOfSlowdown(context, high / low);
  // If only part of a change is GPU time, a clock explains at most that part.
  const explains = context.gpuPart < 1 ? Math.min(share, context.gpuPart * 100) : share;
  const clock = `SM clock ${arrow(context, high, low, 'MHz')}`;
  const effect = `${clock} would make compute-bound work ${round((high / low - 1) * 100, 3)} % slower`;
  const evidence = [effect, ...changeInCycles(context.sides)];
  const isHeldMore = (...reasons: readonly ClockReason[]): boolean =>
    reasonShare(slow, reasons) - reasonShare(fast, reasons) >= REASON_SHARE;
  const tooHot = evidenceOf(slow, 'thermalSlowdown');
  if (isHeldMore('hwThermalSlowdown', 'swThermalSlowdown') || tooHot.length > 0) {
    const temperature = watchedMedian(slow, 'temperatureMaxC');
    const heat = temperature === null ? [] : [`up to ${temperature} °C`];
    return cause('thermal', explains, `too hot: ${clock}`, [...evidence, ...tooHot, ...heat]);
  }
  const limitOf = (runs: readonly ExplainedRun[]) =>
    watchedMedian(runs, 'powerLimitW') ?? newest(runs)?.environment.powerLimitW ?? null;
  const [was, is] = [limitOf(fast), limitOf(slow)];
  const limitFell = was !== null && is !== null && is < was;
  const capShare = reasonShare(slow, ['swPowerCap']);
  if (isHeldMore('swPowerCap') || limitFell || capShare >= 0.5) {
    return cause('powerCap', explains, `power limit: ${clock}`, [
      ...evidence,
      ...(limitFell ? [`the power limit went ${arrow(context, was, is, 'W')}`] : []),
      `the power cap was active in ${round(capShare * 100, 3)} % of the slow side's time`,
      ...evidenceOf(slow, 'powerLimited'),
    ]);
  }
  return cause('smClock', explains, clock, evidence);
};

/** The change of the GPU time in cycles of the SM clock, which has no part that the clock explains. */
function changeInCycles({ base, head }: WhyContext['sides']): string[] {
  const [was, is] = [base, head].map((runs) =>
    runs.flatMap(({ gpuComputeMs: ms, telemetry }) => (ms && telemetry?.smClockMhz ? ms * telemetry.smClockMhz : [])),
  );
  if (was?.[0] === undefined || is?.[0] === undefined) return [];
  const { cells } = compareCells([{ cellKey: 'cycles', base: was, head: is, betterIs: 'lower' }]);
  return cells.map(({ changePercent, ciPercent }) => {
    const interval = ciPercent === null ? '' : ` (95 % interval ${intervalText(ciPercent)})`;
    return `GPU time in SM cycles ${formatPercent(changePercent)}${interval}`;
  });
}

/** Median share of samples in which a reason held the clock down; 0 where not recorded. */
function reasonShare(runs: readonly ExplainedRun[], reasons: readonly ClockReason[]): number {
  const share = medianOf(runs, ({ telemetry }) =>
    telemetry === null || telemetry.samples === 0
      ? null
      : Math.max(...reasons.map((reason) => telemetry.clockReasons[reason] ?? 0)),
  );
  return share ?? 0;
}

/** Another process used the GPU during timing. */
const contentionCauses: CauseDetector = ({ fast, headIsSlow, slow }) => {
  const others = othersOf(slow);
  const share = shareOf(slow, isContended);
  const isShown = share >= 0.5 && share > shareOf(fast, isContended);
  if (!isShown && (others.length === 0 || othersOf(fast).length > 0)) return null;
  const names = [...new Set(others.map(({ name, pid }) => `${name} (pid ${pid})`))].slice(0, 3);
  const cv = medianOf(slow, ({ cvPercent }) => cvPercent);
  const title = `${names[0] ?? 'another process'} used the GPU${headIsSlow ? '' : ' before'}`;
  return cause(isShown ? 'contention' : 'otherProcess', isShown ? 100 : null, title, [
    ...evidenceOf(slow, 'contended'),
    ...(names.length > 0 ? [`on the same GPU: ${names.join(', ')}`] : []),
    ...(cv === null ? [] : [`the times of the queries vary by ${round(cv, 3)} % (CV)`]),
  ]);
};

function othersOf(runs: readonly ExplainedRun[]) {
  return runs.flatMap(({ telemetry }) => telemetry?.otherProcesses ?? []);
}

function isContended({ flags, outcome }: ExplainedRun): boolean {
  const isStated = outcomeReason(outcome) === 'contended';
  return isStated || flags.some(({ id, effect }) => id === 'contended' && effect !== 'explained');
}

/** A drop of this much means that the GPU waits. */
const BUSY_FELL = 0.1;

/** The GPU waited for the host between queries: throughput fell at equal GPU times. */
const hostBoundCauses: CauseDetector = (context) => {
  const { change, fast, slow } = context;
  const [before, after] = [medianOf(fast, busyShare), medianOf(slow, busyShare)];
  const isWaiting = before !== null && after !== null && before - after >= BUSY_FELL;
  // The GPU waits for its inputs or outputs, or pauses as requested.
  const isElsewhere = shareOf(slow, ({ boundBy: by }) => by === 'h2d' || by === 'd2h' || by === 'paced') >= 0.5;
  if (change.metric !== 'throughputQps' || !isWaiting || isElsewhere) return null;
  const load = watchedMedian(slow, 'hostLoad');
  const busy = arrow(context, `${round(before * 100, 3)} %`, `${round(after * 100, 3)} %`);
  const title = `the GPU ${context.headIsSlow ? 'waited' : 'no longer waits'} for the host: busy ${busy}`;
  return cause('hostBound', shareOfSlowdown(context, before / after), title, [
    `the GPU took as long for each query as before; the time between them ${context.headIsSlow ? 'grew' : 'shrank'}`,
    ...evidenceOf(slow, 'hostBound'),
    ...evidenceOf(slow, 'hostLoaded'),
    ...(load === null ? [] : [`load of the host: ${round(load, 3)} for each CPU`]),
  ]);
};

/** Share of the time in which the GPU computed; known only with one stream. */
function busyShare({ gpuBusy, throughputQps, gpuComputeMeanMs }: ExplainedRun): number | null {
  if (gpuBusy === null || throughputQps === null || gpuComputeMeanMs === null) return gpuBusy;
  return Math.min(1, (throughputQps * gpuComputeMeanMs) / 1000);
}

/** A requested graph was not captured: the host launches each kernel. */
const graphCauses: CauseDetector = ({ fast, headIsSlow, slow }) => {
  if (shareOf(slow, hasNoGraph) < 0.5 || shareOf(fast, hasNoGraph) >= 0.5) return null;
  return cause('graphNotCaptured', 100, `no CUDA graph was captured ${headIsSlow ? 'in head' : 'in base'}`, [
    'trtexec said that the capture failed, and went on without a graph',
  ]);
};

function hasNoGraph({ hints, outcome }: ExplainedRun): boolean {
  return hints.includes('graph_fail') || outcomeReason(outcome) === 'graphNotCaptured';
}

/** With this ratio of enqueue time to GPU time or more, the GPU may wait for launches, or does. */
const NEAR = 0.5;
const BOUND = 0.8;

/** Launching takes as long as computing, so that GPU times include the gaps between launches. */
const enqueueCauses: CauseDetector = (context) => {
  const { change, fast, headIsSlow, sides, slow } = context;
  const before = medianOf(fast, (run) => run.enqueueMs) ?? Infinity;
  const after = medianOf(slow, (run) => run.enqueueMs) ?? 0;
  const gpuMs = medianOf(slow, (run) => run.gpuComputeMs);
  if (gpuMs === null || sides.cudaGraph || after <= before || after < NEAR * gpuMs) return null;
  const name = after >= BOUND * gpuMs ? 'enqueueBound' : 'nearEnqueueBound';
  const enqueue = arrow(context, round(before), round(after), 'ms');
  const title = `launching ${headIsSlow ? 'took longer' : 'takes less'}: enqueue ${enqueue}`;
  const evidence = `enqueue is ${round((after / gpuMs) * 100, 3)} % of the GPU time of ${headIsSlow ? 'head' : 'base'}: the GPU waits for launches`;
  // Launches and computing overlap.
  return cause(name, Math.min(100, percentOfChange(change, after - before)), title, [evidence]);
};

/** 0 for a metric that is no time and not counted in queries. */
function percentOfChange({ metric, base, head }: ValueChange, ms: number): number {
  if (metric !== 'throughputQps' && explainedMetricOf(metric).unit !== 'ms') return 0;
  const change = metric === 'throughputQps' ? 1000 / head - 1000 / base : head - base;
  return (ms / Math.max(Math.abs(change), 1e-12)) * 100;
}

const LEAST_TRANSFER_PERCENT = 10;

/** The copy that grew most, for a change of latency or throughput. */
const transferCauses: CauseDetector = (context) => {
  const { change, fast, headIsSlow, slow } = context;
  if (change.metric === 'gpuComputeMs' || change.metric === 'gpuComputeMeanMs') return null;
  const grown = (name: string, line: 'h2dMs' | 'd2hMs') => {
    const [from, to] = [medianOf(fast, (run) => run[line]) ?? 0, medianOf(slow, (run) => run[line]) ?? 0];
    return { name, from, to, grew: to - from };
  };
  const [h2d, d2h] = [grown('H2D', 'h2dMs'), grown('D2H', 'd2hMs')];
  const explains = percentOfChange(change, h2d.grew + d2h.grew);
  if (explains < LEAST_TRANSFER_PERCENT) return null;
  const { name, from, to } = d2h.grew > h2d.grew ? d2h : h2d;
  const [fastLink, slowLink] = [linkOf(fast), linkOf(slow)];
  const isOtherLink = fastLink !== null && slowLink !== null && fastLink !== slowLink;
  const link = isOtherLink ? arrow(context, fastLink, slowLink) : slowLink;
  const copy = `${name} ${arrow(context, round(from), round(to), 'ms')}`;
  return cause('transfers', explains, `copies ${headIsSlow ? 'took longer' : 'take less'}: ${copy}`, [
    ...(link === null ? [] : [`PCIe link ${link}`]),
    ...(slow.some(({ hints }) => hints.includes('pageable')) ? ['host memory was pageable, not pinned'] : []),
  ]);
};

function linkOf(runs: readonly ExplainedRun[]): string | null {
  const [generation, width] = [watchedMedian(runs, 'pcieGeneration'), watchedMedian(runs, 'pcieWidth')];
  return generation === null || width === null ? null : `generation ${generation} x${width}`;
}

/** `1980 → 1650 MHz`, always from base to head. */
function arrow({ headIsSlow }: WhyContext, fast: string | number, slow: string | number, unit = ''): string {
  return `${headIsSlow ? `${fast} → ${slow}` : `${slow} → ${fast}`} ${unit}`.trimEnd();
}

/** Percentage of the slowdown that a factor explains; above 100 if other changes compensated for some of it. */
function shareOfSlowdown({ slowdown }: WhyContext, factor: number): number {
  return slowdown <= 0 ? 0 : Math.max(0, (Math.log(factor) / slowdown) * 100);
}

type WatchedField = 'smClockMhz' | 'temperatureMaxC' | 'powerLimitW' | 'hostLoad' | 'pcieGeneration' | 'pcieWidth';

/** Median of a telemetry value over the runs that have it. */
function watchedMedian(runs: readonly ExplainedRun[], field: WatchedField): number | null {
  return medianOf(runs, ({ telemetry }) => telemetry?.[field] ?? null);
}

/** Share of the runs that fulfil a condition, from 0 to 1. */
function shareOf(runs: readonly ExplainedRun[], holds: (run: ExplainedRun) => boolean): number {
  return runs.length === 0 ? 0 : runs.filter(holds).length / runs.length;
}

function evidenceOf(runs: readonly ExplainedRun[], flag: RunFlagId): string[] {
  const own = runs.flatMap(({ flags }) => flags.filter(({ id }) => id === flag));
  return [...new Set(own.map(({ evidence }) => evidence))].slice(0, 2);
}

export const OF_MACHINE = [graphCauses, contentionCauses, hostBoundCauses, clockCauses, enqueueCauses, transferCauses];
