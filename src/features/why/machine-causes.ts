import type { Cause } from '../../records/cause.ts';
import type { ExplainedRun } from '../../layers/explained-run.ts';
import type { ClockReason } from '../../records/telemetry.ts';
import {
  type CauseDetector,
  type WhyContext,
  arrow,
  cause,
  evidenceOf,
  hasFlag,
  isUnfitFor,
  medianOf,
  newest,
  reasonShare,
  round,
  shareOf,
  shareOfSlowdown,
  watchedMedian,
} from './context.ts';

/** Smaller ratios of clocks do not matter. */
const CLOCK_FACTOR = 1.005;
/** Growth of a reason's share of samples that counts as a change. */
const REASON_SHARE = 0.25;

/** Clocks and their limits: power, temperature, or unknown. */
export const clockCauses: CauseDetector = (context) => {
  const { fast, slow, sides } = context;
  const sm = factorOf(context, 'smClockMhz');
  const memory = factorOf(context, 'memoryClockMhz');
  const causes: Cause[] = [];
  if (sm !== null && sm.factor >= CLOCK_FACTOR) causes.push(smClockCause(context, sm));
  else if (sm === null) causes.push(...unrecordedClockCause(context));
  if (memory !== null && memory.factor >= CLOCK_FACTOR) {
    causes.push(
      cause('memoryClock', gpuShare(context, memory.factor), {
        title: `memory clock ${arrow(context, memory.fast, memory.slow, 'MHz')}`,
        evidence: [`memory-bound work takes ${round((memory.factor - 1) * 100, 3)} % longer`],
        confirm: 'nvidia-smi -q -d CLOCK; lock it: nvidia-smi -lmc',
      }),
    );
  }
  const [high = null, low = null] = [fast, slow].map((runs) => newest(runs)?.environment.powerLimitW ?? null);
  if (causes.length === 0 && high !== null && low !== null && low < high && sides.cudaGraph) {
    causes.push(
      cause('lowerPowerLimit', null, {
        title: `power limit ${arrow(context, high, low, 'W')}`,
        evidence: ['no clock was recorded during the runs'],
        confirm: `nvidia-smi -pl ${high}, and measure again`,
      }),
    );
  }
  return causes;
};

interface Factor {
  readonly fast: number;
  readonly slow: number;
  readonly factor: number;
}

function factorOf({ fast, slow }: WhyContext, clock: 'smClockMhz' | 'memoryClockMhz'): Factor | null {
  const [high, low] = [watchedMedian(fast, clock), watchedMedian(slow, clock)];
  return high === null || low === null || low <= 0 ? null : { fast: high, slow: low, factor: high / low };
}

const THERMAL: readonly ClockReason[] = ['hwThermalSlowdown', 'swThermalSlowdown'];
const BOARD: readonly ClockReason[] = ['hwSlowdown', 'hwPowerBrake'];

function smClockCause(context: WhyContext, { fast, slow, factor }: Factor): Cause {
  const explains = gpuShare(context, factor);
  const clock = `SM clock ${arrow(context, fast, slow, 'MHz')}`;
  const evidence = [
    `${clock} would make compute-bound work ${round((factor - 1) * 100, 3)} % slower`,
    ...evenLayers(context),
  ];
  if (heldMore(context, THERMAL) || context.slow.some((run) => hasFlag(run, 'thermalSlowdown'))) {
    const temperature = watchedMedian(context.slow, 'temperatureMaxC');
    return cause('thermal', explains, {
      title: `too hot: ${clock}`,
      evidence: [
        ...evidence,
        ...evidenceOf(context.slow, 'thermalSlowdown'),
        ...(temperature === null ? [] : [`up to ${temperature} °C`]),
      ],
      confirm: 'let it cool down and measure again; look at fans, airflow and neighbours',
    });
  }
  const [high = null, low = null] = [context.fast, context.slow].map(
    (runs) => watchedMedian(runs, 'powerLimitW') ?? newest(runs)?.environment.powerLimitW ?? null,
  );
  const limitFell = high !== null && low !== null && low < high;
  const capShare = reasonShare(context.slow, ['swPowerCap']);
  if (heldMore(context, ['swPowerCap']) || limitFell || (capShare !== null && capShare >= 0.5)) {
    return cause('powerCap', explains, {
      title: `power limit: ${clock}`,
      evidence: [
        ...evidence,
        ...(limitFell ? [`the power limit went ${arrow(context, high, low, 'W')}`] : []),
        ...(capShare === null
          ? []
          : [`the power cap was active in ${round(capShare * 100, 3)} % of the slow side's samples`]),
        ...evidenceOf(context.slow, 'powerLimited'),
      ],
      confirm: 'nvidia-smi -q -d POWER,PERFORMANCE; compare with locked clocks (--lock-clocks base)',
    });
  }
  const board = heldMore(context, BOARD) ? ['the board slowed the clock down (hardware slowdown)'] : [];
  return cause('smClock', explains, {
    title: clock,
    evidence: [...evidence, ...board],
    confirm: 'measure again with locked clocks: bench run --lock-clocks base',
  });
}

/** If only part of a change is GPU time, a clock explains at most that part. */
function gpuShare(context: WhyContext, factor: number): number {
  const share = shareOfSlowdown(context, factor);
  return context.gpuPart < 1 ? Math.min(share, context.gpuPart * 100) : share;
}

/** Whether a reason limited the clock in considerably more samples of the slow side. */
function heldMore({ fast, slow }: WhyContext, reasons: readonly ClockReason[]): boolean {
  const [before, after] = [reasonShare(fast, reasons), reasonShare(slow, reasons)];
  return after !== null && after - (before ?? 0) >= REASON_SHARE;
}

function evenLayers({ sides }: WhyContext): string[] {
  const common = sides.layers?.diff.commonPercent ?? null;
  return common === null || Math.abs(common) < 1
    ? []
    : [`layers that kept their kernels changed by ${round(common, 3)} %, all of them`];
}

/** Without a recorded clock, equally slower layers suggest a lower one. */
function unrecordedClockCause(context: WhyContext): Cause[] {
  const common = context.sides.layers?.diff.commonPercent ?? null;
  if (common === null || Math.abs(common) < 2) return [];
  const factor = 1 + (context.headIsSlow ? common : -common / (1 + common / 100)) / 100;
  const explains = gpuShare(context, factor);
  if (explains < 30) return [];
  return [
    cause('unrecordedClock', explains, {
      title: `every layer changed by ${round(common, 3)} %: maybe a clock, which nobody recorded`,
      evidence: ['layers that kept their kernels all changed by the same; no clock was recorded'],
      confirm: 'measure again with telemetry, or with locked clocks: bench run --lock-clocks base',
    }),
  ];
}

/** Another process used the GPU during timing. */
export const contentionCauses: CauseDetector = (context) => {
  const { fast, slow } = context;
  const isContended = (run: (typeof slow)[number]): boolean =>
    run.flags.some(({ id, effect }) => id === 'contended' && effect !== 'explained') || isUnfitFor(run, 'contended');
  const share = shareOf(slow, isContended);
  const others = slow.flatMap(({ telemetry }) => telemetry?.otherProcesses ?? []);
  const before = fast.flatMap(({ telemetry }) => telemetry?.otherProcesses ?? []);
  const isShown = share >= 0.5 && share > shareOf(fast, isContended);
  const isSeen = others.length > 0 && before.length === 0;
  if (!isShown && !isSeen) return [];
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
  return [
    cause('hostBound', shareOfSlowdown(context, before / after), {
      title: `the GPU ${context.headIsSlow ? 'waited' : 'no longer waits'} for the host: busy ${arrow(context, percent(before), percent(after))}`,
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

function percent(share: number): string {
  return `${round(share * 100, 3)} %`;
}
