import type { MetricId } from '../records/metric.ts';
import type { RunFlag } from '../records/run-flag.ts';
import { median } from '../statistics/median.ts';
import type { CellRun } from '../records/run.ts';

/** Metrics that hold the time of the host: a host without CPUs moves them, and not the GPU's time. */
const HOST_METRICS: readonly MetricId[] = ['throughputQps', 'enqueueMs', 'p99Ms'];

/** Sizes and times of building and loading say nothing of the hour of the run. */
const OF_ENGINE: readonly MetricId[] = ['buildS', 'engineMib', 'contextMib', 'loadS', 'refitMs'];

/** The flag for which a run is left out where this metric is asked for; null when the run counts. */
export function leftOutFor<Flag extends Pick<RunFlag, 'id' | 'effect'>>(
  flags: readonly Flag[],
  metric: MetricId,
): Flag | null {
  if (OF_ENGINE.includes(metric)) return null;
  const isStarved = (flag: Flag): boolean => flag.id === 'hostBound' && flag.effect === 'widened';
  return (
    flags.find(
      (flag) =>
        flag.effect === 'excluded' || flag.effect === 'barred' || (isStarved(flag) && HOST_METRICS.includes(metric)),
    ) ?? null
  );
}

/** Flags whose value is the width, in percent, of the band in which the true value may lie. */
const WIDTHS: readonly RunFlag['id'][] = ['coarseTimer', 'drifting', 'bimodal', 'contended'];

/**
 * How far the value of a run may be off for what is flagged, as a standard deviation in logarithms: anywhere within
 * the widest band with the same chance. More runs do not make it smaller, as the next one may be off the same way.
 */
export function systematicErrorOf(flags: readonly RunFlag[], metric: MetricId): number {
  if (OF_ENGINE.includes(metric)) return 0;
  const widths = flags.map(({ id, effect, value }) => (effect === 'widened' && WIDTHS.includes(id) ? (value ?? 0) : 0));
  return Math.log1p(Math.max(0, ...widths) / 100) / Math.sqrt(12);
}

export const CLOCK_LEVEL = {
  /** Fewer known clocks are no level. */
  leastKnown: 3,
  /** A clock this far off is another state of the GPU: clocks wander by one or two steps of 15 MHz. */
  off: 0.04,
  /** Nights on either side that say what the level of a night is: a clock that came to stay becomes the level. */
  neighborNights: 5,
} as const;

/** The SM clock at which a cell runs, in MHz; null when too few of its runs know it. */
export function clockLevelMhz(clocks: readonly (number | null)[]): number | null {
  const known = clocks.filter((clock) => clock !== null);
  return known.length < CLOCK_LEVEL.leastKnown ? null : median(known);
}

/** A run at another clock than its cell has. Under the power cap a clock wanders, and the cap is what explains it. */
export function clockOffLevel(
  run: Pick<CellRun, 'smClockMhz'> & { readonly flags: readonly Pick<RunFlag, 'id'>[] },
  levelMhz: number | null,
): RunFlag | null {
  const { smClockMhz, flags } = run;
  if (smClockMhz === null || levelMhz === null) return null;
  const off = smClockMhz / levelMhz - 1;
  if (Math.abs(off) <= CLOCK_LEVEL.off || flags.some(({ id }) => id === 'powerLimited')) {
    return null;
  }
  return {
    id: 'clockOffLevel',
    effect: 'excluded',
    value: off * 100,
    evidence: `SM clock ${smClockMhz.toFixed(0)} MHz, this cell's level is ${levelMhz.toFixed(0)} MHz`,
  };
}

type RepeatedRun = Pick<CellRun, 'cellKey' | 'role' | 'repeat' | 'outcome'>;

/** What another run may be spared: the machine was to blame, and may be better by now. */
const DISTURBANCES: readonly string[] = ['throttled', 'contended'];

/**
 * The cells of one sweep with runs that something disturbed.
 * @param repeats of each cell, as planned: runs with a higher number stand in for others
 */
export function disturbedCells(runs: readonly RepeatedRun[], repeats: number) {
  const timed = runs.filter(({ role }) => role === 'timed');
  return [...Map.groupBy(timed, ({ cellKey }) => cellKey)].flatMap(([cellKey, own]) => {
    const disturbed = own.filter((run) => run.repeat <= repeats && isDisturbed(run)).length;
    if (disturbed === 0) return [];
    const beyond = own.filter(({ repeat }) => repeat > repeats);
    const measured = beyond.filter(({ outcome }) => outcome.kind === 'measured').length;
    return [
      {
        cellKey,
        /** Planned runs that the machine spoilt, and that no run beyond the plan replaces yet. */
        missing: Math.max(0, disturbed - beyond.length),
        /** Such runs in whose place another one was measured. */
        replaced: Math.min(disturbed, measured),
        highestRepeat: Math.max(...own.map(({ repeat }) => repeat)),
      },
    ];
  });
}

function isDisturbed({ outcome }: RepeatedRun): boolean {
  return outcome.kind === 'unfit' && DISTURBANCES.includes(outcome.reason);
}
