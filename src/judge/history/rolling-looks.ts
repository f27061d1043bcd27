import { mannWhitneyP } from '../../statistics/mann-whitney.ts';
import { clearLevels } from './change-points.ts';
import type { LevelMeasures } from './levels.ts';
import { asLook, type Look, lookAt } from './looks.ts';
import type { NightlyValues } from './noise.ts';
import { RollingCuts } from './rolling-cuts.ts';
import { RollingNoise } from './rolling-noise.ts';
import { ALERTING, HISTORY } from './settings.ts';

/** `lookAt` of one sweep after the other: the same values, from what was found for the sweeps before. */
export class RollingLooks {
  private readonly history: NightlyValues;
  private readonly noise: RollingNoise;
  private readonly cuts: RollingCuts;
  /** Rank tests by where the later sweeps begin. */
  private readonly ranked = new Map<number, { readonly from: number; readonly to: number; readonly p: number }>();

  constructor(history: NightlyValues) {
    this.history = history;
    this.noise = new RollingNoise(history);
    this.cuts = new RollingCuts(this.noise.clipped);
  }

  /** @param sweeps measured ones, more than the time before; at least `HISTORY.leastNights` */
  at(sweeps: number): Look {
    const { history, noise } = this;
    const from = Math.max(0, sweeps - ALERTING.windowNights);
    const scales = noise.moveTo(sweeps);
    if (!isSteady(history.clock, from, sweeps)) return lookAt(history, sweeps);
    const [logs, clipped] = [noise.logs, noise.clipped].map((values) => values.subarray(from, sweeps));
    if (logs === undefined || clipped === undefined) return lookAt(history, sweeps);
    const series = { logs, clipped, ...scales, measures: this.measuresFrom(from) };
    const { levels, cuts } = clearLevels(series, this.cuts.startsIn(series, from, sweeps));
    const changes = cuts.map((cut) => ({ ...cut, night: history.nights[from + cut.index] ?? cut.index }));
    return asLook({ logs, sigma: scales.sigma, levels, changes }, sweeps);
  }

  /** @param offset first sweep of the window */
  private measuresFrom(offset: number): LevelMeasures {
    const { noise, ranked } = this;
    return {
      spreadOf(from, to) {
        const sorted = noise.sorted(offset + from, offset + to);
        const median = sorted.median();
        return { median, apart: sorted.medianApart(median) };
      },
      rankP(start, middle, end) {
        const [from, place, to] = [offset + start, offset + middle, offset + end];
        const known = ranked.get(place);
        if (known?.from === from && known.to === to) return known.p;
        const p = mannWhitneyP(noise.logs.subarray(from, place), noise.logs.subarray(place, to));
        ranked.set(place, { from, to, p });
        return p;
      },
    };
  }
}

/** Its sweeps do not count as cycles: a clock is not known of all, or did not move. */
function isSteady(clock: NightlyValues['clock'], from: number, to: number): boolean {
  if (clock === undefined) return true;
  let least = Number.POSITIVE_INFINITY;
  let most = Number.NEGATIVE_INFINITY;
  for (let sweep = from; sweep < to; sweep += 1) {
    const mhz = clock[sweep] ?? null;
    if (mhz === null || Number.isNaN(mhz)) return true;
    if (mhz < least) least = mhz;
    if (mhz > most) most = mhz;
  }
  return (most - least) / least <= HISTORY.clockMoves;
}
