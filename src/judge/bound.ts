import { BOUND_WORDS, type BoundBy, type CellBound } from '../records/bound.ts';
import type { Cell } from '../records/cell.ts';
import { type Environment, hostLinkOf } from '../records/environment.ts';
import type { MetricValues } from '../records/metric.ts';
import type { CellRun } from '../records/run.ts';
import type { RunFlagId } from '../records/outcome.ts';
import { median } from '../statistics/order-statistics.ts';
import { mayWaitForLaunches } from '../trtexec/fitness/host-bound.ts';
import { shortMs } from '../trtexec/fitness/facts.ts';
import { isStarved } from './run-trust.ts';
import { enqueueClass, type ParsedRun } from '../trtexec/log/derived.ts';

type Launches = Pick<Cell, 'cudaGraph' | 'spinWait'>;

type Shown = 'gpuBusy' | 'enqueueRatio' | 'gpuComputeMs' | 'h2dMs' | 'd2hMs';

type BoundRun = Pick<CellRun, 'boundBy' | 'flags'> & { readonly values: Pick<MetricValues, Shown> };

/** The bottleneck of most runs; among equally frequent ones, the one of the newest run. Null if none is known. */
export function usualBound(bounds: readonly (BoundBy | null)[]): BoundBy | null {
  const known = bounds.filter((by) => by !== null).toReversed();
  const [most] = [...Map.groupBy(known, (by) => by).values()].toSorted((a, b) => b.length - a.length);
  return most?.[0] ?? null;
}

type Card = Partial<Pick<Environment, 'gpuName' | 'pcieMax'>>;

export function boundOf(cell: Launches | null, runs: readonly BoundRun[], card: Card = {}): CellBound | null {
  const { gpuName = null, pcieMax = null } = card;
  const by = usualBound(runs.map(({ boundBy }) => boundBy));
  if (by === null) return null;
  const own = runs.filter(({ boundBy }) => boundBy === by);
  const link = hostLinkOf(gpuName) === 'pcie' ? pcieMax : null;
  return { by, evidence: evidenceOf(by, own, link), advice: adviceFor(by, own, cell, gpuName) };
}

export function boundOfRead({ derived, flags, log: { device, measurement, options } }: ParsedRun): CellBound | null {
  const medianOf = (line: 'gpuComputeMs' | 'h2dMs' | 'd2hMs') => measurement?.[line]?.median ?? null;
  const times = { gpuComputeMs: medianOf('gpuComputeMs'), h2dMs: medianOf('h2dMs'), d2hMs: medianOf('d2hMs') };
  return boundOf(options, [{ ...derived, flags, values: { ...derived, ...times } }], { gpuName: device.name });
}

/** Smallest change of the ratio that is a turn, so that noise at a limit is none. */
const LEAST_TURN = 0.05;

export function boundReasons(base: readonly BoundRun[], head: readonly BoundRun[]): string[] {
  const [was, is] = [base, head].map((runs) => usualBound(runs.map(({ boundBy }) => boundBy)));
  if (!was || !is) return [];
  if (was !== is) {
    const own = head.filter(({ boundBy }) => boundBy === is);
    return [`now bound by ${BOUND_WORDS[is]}, before by ${BOUND_WORDS[was]}: ${evidenceOf(is, own)}`];
  }
  const [before = null, now = null] = [base, head].map((runs) => medianIn(runs, 'enqueueRatio'));
  if (before === null || now === null || Math.abs(now - before) < LEAST_TURN) return [];
  const [earlier, newer] = [enqueueClass(before), enqueueClass(now)];
  const ratios = `enqueue takes ${now.toFixed(2)} times the GPU time, before ${before.toFixed(2)}`;
  return earlier === newer ? [] : [`enqueue time now ${newer}, before ${earlier}: ${ratios}`];
}

export const FLAG_OF_BOUND: Readonly<Partial<Record<BoundBy, RunFlagId>>> = {
  host: 'hostBound',
  power: 'powerLimited',
  contended: 'contended',
};

/** @param pcieMax the link that card and slot support, where copies take it */
function evidenceOf(by: BoundBy, runs: readonly BoundRun[], pcieMax: string | null = null): string {
  const flags = runs.flatMap((run) => run.flags);
  const flag = flags.find(({ id }) => id === FLAG_OF_BOUND[by]);
  if (flag !== undefined) return flag.evidence;
  const said = (value: Shown, write: (known: number) => string): string[] => {
    const known = medianIn(runs, value);
    return known === null ? [] : [write(known)];
  };
  const busy = said('gpuBusy', (share) => `GPU busy ${Math.round(100 * share)} % of the time`);
  const enqueue = said('enqueueRatio', (ratio) => `enqueue takes ${ratio.toFixed(2)} times the GPU time`);
  if (by !== 'h2d' && by !== 'd2h') return [...busy, ...enqueue].join(', ');
  const [toMs, fromMs] = [shortMs(medianIn(runs, 'h2dMs') ?? 0), shortMs(medianIn(runs, 'd2hMs') ?? 0)];
  const copies = areBothLong(runs)
    ? [`copies take ${toMs} ms to the GPU and ${fromMs} ms from it`]
    : said(`${by}Ms`, (ms) => `a copy takes ${shortMs(ms)} ms`);
  const reduced = flags.find(({ id }) => id === 'pcieReduced')?.evidence;
  const link = reduced ?? (pcieMax === null ? [] : `PCIe up to ${pcieMax}`);
  return [...copies, ...said('gpuComputeMs', (ms) => `GPU compute ${shortMs(ms)} ms`), ...busy].concat(link).join(', ');
}

function areBothLong(runs: readonly BoundRun[]): boolean {
  const computeMs = medianIn(runs, 'gpuComputeMs') ?? Infinity;
  return Math.min(medianIn(runs, 'h2dMs') ?? 0, medianIn(runs, 'd2hMs') ?? 0) > computeMs;
}

function medianIn(runs: readonly BoundRun[], value: Shown): number | null {
  return median(runs.flatMap(({ values }) => values[value] ?? []));
}

/**
 * How far copies and compute fill the time one after the other, and whether at most a quarter of what could overlap does.
 * @param shares of the time that each of them takes
 */
export function overlapOf(shares: readonly number[]): { readonly filled: number; readonly isSerial: boolean } {
  const filled = shares.reduce((sum, share) => sum + share, 0);
  return { filled, isSerial: filled - 1 <= 0.25 * (filled - Math.max(...shares)) };
}

/** Whether copies that hardly overlap with compute fill the time in which the GPU is idle. */
function areCopiesSerial(runs: readonly BoundRun[]): boolean {
  const [gpuBusy, gpuComputeMs] = [medianIn(runs, 'gpuBusy') ?? 0, medianIn(runs, 'gpuComputeMs') ?? Infinity];
  const copiesMs = [medianIn(runs, 'h2dMs') ?? 0, medianIn(runs, 'd2hMs') ?? 0];
  const { filled, isSerial } = overlapOf([gpuBusy, ...copiesMs.map((ms) => (ms / gpuComputeMs) * gpuBusy)]);
  return isSerial && filled >= 0.95;
}

const COPY_ADVICE =
  'copies explain the idle GPU: overlap them with compute (pinned memory, more streams), or copy less';
const PAUSE_ADVICE = 'launches do not explain the idle GPU: look for pauses, and for other work on the CPUs';
const LAUNCH_ADVICE = 'use a CUDA graph or a larger batch';

export const BOUND_ADVICE = {
  compute: 'look at its layers with `bench layers`; a lower precision takes less',
  power: 'normal for large networks; compare with runs under the same power limit',
  host: 'keep other work off the CPUs, and run again: the GPU times still count',
  h2d: 'send smaller inputs, keep them on the GPU, or read them there (GPUDirect)',
  d2h: 'return smaller outputs, or leave them on the GPU',
  paced: 'measure without the pauses to see its full speed',
  contended: 'stop the other process on the GPU, and run again',
} satisfies Readonly<Record<BoundBy, string>>;

const BUSY = 0.965;

/** Without a CUDA graph, GPU times include the gaps between launches. */
const NEAR_LAUNCH_ADVICE = 'a CUDA graph may make it faster: its launches take more than half of the GPU time';

export const GRAPH_ADVICE: readonly string[] = [LAUNCH_ADVICE, NEAR_LAUNCH_ADVICE];

const LEAST_GRAPH_GAIN = 1;

/** @param gain of the same cell with a CUDA graph in percent, or why there is none */
export function withGraphGain(bound: CellBound, gain: number | string): CellBound {
  if (!GRAPH_ADVICE.includes(bound.advice) || (typeof gain === 'number' && gain >= LEAST_GRAPH_GAIN)) return bound;
  const graph = `a CUDA graph ${typeof gain === 'string' ? gain : 'gains nothing here'}`;
  const advice = bound.by === 'compute' ? `${BOUND_ADVICE.compute}; ${graph}` : `use a larger batch: ${graph}`;
  return { ...bound, advice };
}

function adviceFor(by: BoundBy, runs: readonly BoundRun[], cell: Launches | null, gpuName: string | null): string {
  if (by === 'h2d' || by === 'd2h') {
    const link = hostLinkOf(gpuName);
    if (link === 'sharedMemory')
      return 'CPU and GPU share their memory here, an application need not copy: measure without transfers';
    const advice = areBothLong(runs) ? 'send and return less, or keep it on the GPU' : BOUND_ADVICE[by];
    return link === 'c2c' ? advice : `${advice}; look at the PCIe link`;
  }
  const isGraph = cell?.cudaGraph === true;
  const isNear = enqueueClass(medianIn(runs, 'enqueueRatio') ?? 0) !== 'free';
  const isProfiled = runs.some(({ flags }) => flags.some(({ id }) => id === 'profilingOn'));
  if (by === 'compute' && isNear && !isGraph && !isProfiled) return NEAR_LAUNCH_ADVICE;
  if (by !== 'host' || runs.some(isStarved)) return BOUND_ADVICE[by];
  const [gpuBusy, enqueueRatio] = [medianIn(runs, 'gpuBusy'), medianIn(runs, 'enqueueRatio')];
  const isLaunching = mayWaitForLaunches(gpuBusy, enqueueRatio) && (isGraph || isNear || enqueueRatio === null);
  if (!isLaunching) return areCopiesSerial(runs) ? COPY_ADVICE : PAUSE_ADVICE;
  if (!isGraph) return gpuBusy !== null && gpuBusy >= BUSY ? NEAR_LAUNCH_ADVICE : LAUNCH_ADVICE;
  return cell.spinWait === true ? 'use a larger batch' : 'use spin wait or a larger batch';
}
