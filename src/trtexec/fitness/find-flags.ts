import { knownVariablesOn } from '../../process/environment-variables.ts';
import type { HarnessReading, TimeStatistics } from '../../records/harness.ts';
import type { RunFlag, RunFlagId, RunMark } from '../../records/outcome.ts';
import { median } from '../../statistics/order-statistics.ts';
import { contended } from './contended.ts';
import type { ComputeTimes, FitnessFacts } from './facts.ts';
import { at, bimodal, coarseTimer, computeTimesOf, isAlone, percent, profiled } from './facts.ts';
import { hostBound } from './host-bound.ts';
import type { ClockReason, RunTelemetry } from '../../records/telemetry.ts';

/** From this share of the samples on, a slowdown makes a run unfit: a single sample does not affect the median. */
const UNFIT_SHARE = 0.1;
/** Share of the samples from which the power cap is reported. */
const CAPPED_SHARE = 0.1;
/** If the driver gives no reasons, a board at this share of its power limit counts as capped. */
const AT_CAP = 0.95;
/** Data-center GPUs slow down from about 85 °C on. */
const HOT_C = 83;
/** A clock below this share of another one is a step: clocks vary by one or two steps of 15 MHz. */
const CLOCK_STEP = 0.93;

function powerLimited({ telemetry, machine }: FitnessFacts): RunFlag | null {
  if (telemetry === null) return null;
  const limitW = telemetry.powerLimitW ?? machine.powerLimitW ?? null;
  const share = telemetry.clockReasons.swPowerCap ?? 0;
  const { powerW } = telemetry;
  const atCap = limitW !== null && powerW !== null && powerW >= AT_CAP * limitW;
  if (share < CAPPED_SHARE && (knowsReasons(telemetry) || !atCap)) return null;
  const power = powerW === null ? '' : `${whole(powerW)}${limitW === null ? '' : ` of ${whole(limitW)}`} W`;
  const reason = share > 0 ? `software power cap ${percent(share)} of the time` : '';
  const evidence = listed(reason, power, clockText(telemetry));
  return { id: 'powerLimited', effect: 'explained', value: share > 0 ? share : null, evidence };
}

function thermalSlowdown(facts: FitnessFacts): RunFlag | null {
  const { telemetry } = facts;
  if (telemetry === null) return null;
  const share = longest(telemetry, ['swThermalSlowdown', 'hwThermalSlowdown']);
  const { temperatureMaxC: heat, temperatureStartC: startC } = telemetry;
  const climb = heat === null || startC === null || startC >= heat ? '' : `${whole(startC)} → `;
  const hot = heat === null ? '' : `, ${climb}${whole(heat)} °C`;
  if (share > 0) return slowdown('thermalSlowdown', share, `thermal slowdown`, telemetry, hot);
  if (knowsReasons(telemetry) || heat === null || heat < HOT_C || !isSlowed(facts, telemetry)) return null;
  const evidence = `${clockText(telemetry)} at ${climb}${whole(heat)} °C`;
  return { id: 'thermalSlowdown', effect: 'excluded', value: null, evidence };
}

/** The board slowed the GPU down for a reason other than heat, usually its power supply. */
function hardwareSlowdown({ telemetry }: FitnessFacts): RunFlag | null {
  if (telemetry === null) return null;
  const brake = longest(telemetry, ['hwPowerBrake']);
  if (brake > 0) return slowdown('hardwareSlowdown', brake, 'power brake', telemetry, '');
  // The driver sets the general bit whenever it sets the thermal one.
  const isThermal = longest(telemetry, ['hwThermalSlowdown', 'swThermalSlowdown']) > 0;
  const share = isThermal ? 0 : longest(telemetry, ['hwSlowdown']);
  return share > 0 ? slowdown('hardwareSlowdown', share, 'hardware slowdown', telemetry, '') : null;
}

function slowdown(id: RunFlagId, share: number, name: string, telemetry: RunTelemetry, hot: string): RunFlag {
  const effect = share >= UNFIT_SHARE ? 'excluded' : 'explained';
  const slowed = `${name} ${percent(share)} of the time${hot}`;
  return { id, effect, value: share, evidence: listed(slowed, clockText(telemetry)) };
}

/** Without empty parts. */
function listed(...parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join(', ');
}

function longest({ clockReasons }: RunTelemetry, reasons: readonly ClockReason[]): number {
  return Math.max(...reasons.map((reason) => clockReasons[reason] ?? 0));
}

/** Whether the samples had slowdown reasons: `dmon` reports none. */
function knowsReasons({ clockReasons }: RunTelemetry): boolean {
  return Object.keys(clockReasons).length > 0;
}

/** The clock dropped during the run, or was well below this GPU's usual unlocked clock. */
function isSlowed({ machine }: FitnessFacts, telemetry: RunTelemetry): boolean {
  const { smClockMhz, smClockMinMhz } = telemetry;
  if (smClockMhz === null) return false;
  if (smClockMinMhz !== null && smClockMinMhz < CLOCK_STEP * smClockMhz) return true;
  const isLocked = (machine.clockPolicy ?? '').startsWith('locked');
  const fullMhz = machine.maxSmClockMhz ?? null;
  return fullMhz !== null && !isLocked && smClockMhz < CLOCK_STEP * fullMhz;
}

function clockText({ smClockMhz, smClockMinMhz }: RunTelemetry): string {
  if (smClockMhz === null) return '';
  const lowest = smClockMinMhz === null || smClockMinMhz >= smClockMhz ? '' : ` (lowest ${whole(smClockMinMhz)})`;
  return `SM clock ${whole(smClockMhz)} MHz${lowest}`;
}

function whole(value: number): string {
  return value.toFixed(0);
}

export function findHarnessFlags(facts: FitnessFacts, reading: HarnessReading | null): RunFlag[] {
  const outlier = reading === null ? null : singleOutlier(reading.latencyMs, reading.method.timedRuns);
  const ofMachine = [powerLimited(facts), hostLoaded(facts), pcieReduced(facts)];
  return [thermalSlowdown(facts), hardwareSlowdown(facts), outlier, ...ofMachine].filter((flag) => flag !== null);
}

/**
 * Everything that may be wrong with a run's numbers or that explains them, most important first. Empty without a
 * measurement.
 */
export function findFlags(facts: FitnessFacts): RunFlag[] {
  if (facts.log.measurement === null) return [];
  const compute = computeTimesOf(facts.times);
  const shared = contended(facts, compute);
  // Time slices and overlapping streams cause levels and drifts themselves.
  const alone = isAlone(facts) && (shared === null || shared.effect === 'explained');
  const own = alone ? compute : null;
  return [
    profiled(facts),
    captured(facts),
    debugTensors(facts),
    thermalSlowdown(facts),
    hardwareSlowdown(facts),
    shared,
    hostBound(facts, compute),
    own === null ? null : drifting(own),
    own === null ? null : bimodal(own),
    coarseTimer(facts, compute),
    singleOutlier(facts.log.measurement.latencyMs, facts.log.queries),
    powerLimited(facts),
    hostLoaded(facts),
    pcieReduced(facts),
    warmUpUnknown(facts),
  ].filter((flag) => flag !== null);
}

function warmUpUnknown({ log }: FitnessFacts): RunFlag | null {
  if (log.warmUpQueries !== null) return null;
  return { id: 'warmUpUnknown', effect: 'explained', value: null, evidence: 'the log counts no warm-up queries' };
}

/** The settings that NVIDIA's guide recommends under a profiler measure a cold GPU. */
function captured({ log: { options, queries } }: FitnessFacts): RunFlag | null {
  if (options.warmUpMs !== 0 || options.durationS !== 0) return null;
  const evidence = `${queries ?? 'some'} queries without a warm-up, as for a profiler`;
  return { id: 'capture', effect: 'barred', value: queries, evidence };
}

const FLAGS =
  /(?<=^|\s)--(?:markDebug|markUnfusedTensorsAsDebugTensors|saveDebugTensors|saveAllDebugTensors)(?=[=\s]|$)/g;

/** Marked tensors prevent fusion, and saved ones are copied out: the times are not those of a deployed engine. */
function debugTensors({ log }: FitnessFacts): RunFlag | null {
  const found = [...new Set((log.commandLine ?? '').match(FLAGS) ?? [])];
  if (found.length === 0) return null;
  const evidence = `${found.join(' ')}: layers around marked tensors are not fused, saved ones are copied out while it runs`;
  return { id: 'debugTensors', effect: 'excluded', value: null, evidence };
}

/** With more queries, several may exceed p99. */
const MOST_QUERIES = 150;
/** Least distance of the largest time from p99, as a share of p99, and in multiples of that from the median to p99. */
const LEAST_BEYOND = 0.03;
const LEAST_TAILS = 3;

export function singleOutlier(latencyMs: TimeStatistics | null, queries: number | null): RunFlag | null {
  const p99 = latencyMs?.percentiles['99'];
  if (latencyMs === null || p99 === undefined || queries === null) return null;
  const beyond = latencyMs.max - p99;
  const least = Math.max(LEAST_BEYOND * p99, LEAST_TAILS * (p99 - latencyMs.median));
  if (queries > MOST_QUERIES || !(p99 > 0) || beyond < least) return null;
  const evidence = `the largest of ${queries} times, ${latencyMs.max} ms, is ${percent(beyond / p99)} over p99, ${p99} ms`;
  return { id: 'loneOutlier', effect: 'explained', value: (beyond / p99) * 100, evidence };
}

/**
 * Least change of the median from the first quarter to the last. Power-limited cells, whose clock drops in the first
 * second, change by up to 3.5 %.
 */
const LEAST_CHANGE = 0.07;
/** The same change, in deviations of the queries within the quarters. */
const LEAST_DEVIATIONS = 3;

/** The first and the last quarter of the queries, each sorted, with the relative change of their medians. */
export function driftOf(inOrder: Float64Array) {
  const quarter = Math.max(1, inOrder.length >> 2);
  const first = inOrder.slice(0, quarter).toSorted();
  const last = inOrder.slice(-quarter).toSorted();
  const [before, after] = [at(first, 0.5), at(last, 0.5)];
  return { first, last, before, after, change: after / before - 1 };
}

function drifting({ inOrder }: ComputeTimes): RunFlag | null {
  const { first, last, before, after, change } = driftOf(inOrder);
  if (Math.abs(change) < LEAST_CHANGE) return null;
  const deviation = Math.max(deviationOf(first, before), deviationOf(last, after));
  if (Math.abs(after - before) < LEAST_DEVIATIONS * deviation) return null;
  const size = Math.abs(change * 100).toFixed(1);
  const evidence = `the last quarter of the queries is ${size} % ${change > 0 ? 'slower' : 'faster'} than the first`;
  return { id: 'drifting', effect: 'widened', value: Math.abs(change) * 100, evidence };
}

/** Spread as the median absolute deviation. */
function deviationOf(sorted: Float64Array, middle: number): number {
  return 1.4826 * (median(sorted.map((value) => Math.abs(value - middle))) ?? 0);
}

/** Load per CPU from which runnable processes must wait. */
const LOADED = 1;

function hostLoaded({ telemetry }: FitnessFacts): RunFlag | null {
  const load = telemetry?.hostLoad ?? null;
  if (load === null || load < LOADED) return null;
  const evidence = `load average of ${load.toFixed(1)} for each CPU`;
  return { id: 'hostLoaded', effect: 'explained', value: load, evidence };
}

function pcieReduced({ telemetry, machine }: FitnessFacts): RunFlag | null {
  const [, ...most] = /^(\d+) x(\d+)$/.exec(machine.pcieMax ?? '') ?? [];
  const [mostGeneration, mostWidth] = most.map(Number);
  const generation = telemetry?.pcieGeneration ?? null;
  const width = telemetry?.pcieWidth ?? null;
  if (mostGeneration === undefined || mostWidth === undefined || generation === null || width === null) return null;
  if (generation >= mostGeneration && width >= mostWidth) return null;
  const evidence = `PCIe ${generation} x${width} of ${mostGeneration} x${mostWidth}`;
  // Each PCIe generation doubles the rate.
  const value = (width / mostWidth) * 2 ** (generation - mostGeneration);
  return { id: 'pcieReduced', effect: 'explained', value, evidence };
}

const LONGEST_VALUE = 60;

interface MarkedRun {
  readonly env: Readonly<Record<string, string>>;
  readonly marks: readonly RunMark[];
}

/** Flags for a run that differs from the cell's normal use, found by environment variables and marks. */
export function marked({ env, marks }: MarkedRun): RunFlag[] {
  const found = knownVariablesOn(env).flatMap(({ variable, value }) =>
    variable.flags.map(({ id, because }) => ({
      id,
      evidence: `${variable.name}=${value.slice(0, LONGEST_VALUE)}: ${because}`,
    })),
  );
  const stated = marks.filter((mark) => !found.some(({ id }) => id === mark));
  const all = [...found, ...stated.map((id) => ({ id, evidence: 'its experiment says so' }))];
  return [...Map.groupBy(all, ({ id }) => id)].map(([id, own]) => ({
    id,
    effect: 'barred',
    value: null,
    evidence: own.map(({ evidence }) => evidence).join('; '),
  }));
}
