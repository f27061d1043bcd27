import { median } from '../../statistics/median.ts';
import type { MetricId } from '../../records/metric.ts';
import type { NightRun } from '../value-rule.ts';
import { ineligibleFlags, FLAG_LABELS } from '../../records/run-flag.ts';
import type { Sweep } from '../../records/sweep.ts';
import { CLOCK_LEVEL, clockLevelMhz, clockOffLevel, leftOutFor } from '../run-trust.ts';
import type { SweepId } from '../../records/scalars.ts';

/** What says whether a run counts. */
export type FitRun = Pick<NightRun, 'flags' | 'smClockMhz' | 'sweepId'>;

export interface LeftOutRun {
  readonly sweepId: SweepId;
  readonly reason: string;
}

/**
 * The runs of each night that count: what is flagged as excluded, or ran at another clock, does not. One entry for each
 * sweep.
 *
 * @param runs in the order of the sweeps
 */
export function fitRuns<Run extends FitRun>(sweeps: readonly Sweep[], runs: readonly Run[], metric: MetricId) {
  const leftOut: LeftOutRun[] = [];
  const isFit = ({ sweepId, flags }: Run): boolean => {
    const flag = leftOutFor(flags, metric);
    if (flag !== null) {
      const why = flag.effect === 'barred' ? ineligibleFlags(flags) : [flag];
      leftOut.push({ sweepId, reason: why.map(({ id }) => FLAG_LABELS[id]).join(', ') });
    }
    return flag === null;
  };
  const fit = runs.filter(isFit);
  let from = 0;
  const nights = sweeps.map(({ sweepId }) => {
    const first = from;
    while (fit[from]?.sweepId === sweepId) from += 1;
    return fit.slice(first, from);
  });
  return { byNight: atTheirClock(nights, leftOut).map((latest) => trustedRuns(latest)), leftOut };
}

function atTheirClock<Run extends FitRun>(
  nights: readonly (readonly Run[])[],
  leftOut: LeftOutRun[],
): readonly (readonly Run[])[] {
  let least = Number.POSITIVE_INFINITY;
  let most = 0;
  for (const latest of nights) {
    for (const { smClockMhz } of latest) {
      least = Math.min(least, smClockMhz ?? least);
      most = Math.max(most, smClockMhz ?? most);
    }
  }
  // The usual case: no run is off any level.
  if (most - least <= CLOCK_LEVEL.off * least) return nights;
  const clocks = nights.map(clockOf);
  const { neighborNights: near } = CLOCK_LEVEL;
  return nights.map((latest, night) => {
    const neighbors = [...clocks.slice(Math.max(0, night - near), night), ...clocks.slice(night + 1, night + 1 + near)];
    const level = clockLevelMhz(neighbors);
    return latest.filter((run) => {
      const off = clockOffLevel(run, level);
      if (off !== null) leftOut.push({ sweepId: run.sweepId, reason: off.evidence });
      return off === null;
    });
  });
}

/** Null unless every run of the sweep knows it. */
export function clockOf(latest: readonly FitRun[]): number | null {
  if (latest.some(({ smClockMhz }) => smClockMhz === null)) return null;
  return median(latest.flatMap(({ smClockMhz }) => smClockMhz ?? []));
}

/** Suspect runs count only where a sweep has no others. */
function trustedRuns<Run extends FitRun>(latest: readonly Run[]): readonly Run[] {
  if (latest.every(isTrusted)) return latest;
  const trusted = latest.filter(isTrusted);
  return trusted.length === 0 ? latest : trusted;
}

function isTrusted({ flags }: FitRun): boolean {
  return flags.every(({ effect }) => effect !== 'widened');
}
