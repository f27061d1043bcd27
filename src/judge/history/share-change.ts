import { at } from '../../statistics/at.ts';
import { medianIn } from '../../statistics/order-statistics.ts';
import type { ChangePoint } from './change-points.ts';
import type { Look } from './looks.ts';
import { HISTORY, SHARE } from './settings.ts';

/**
 * A cell that draws one of two states in every sweep draws the other one more often from some sweep on: no level changed,
 * but what is usual did. Two binomial shares by their likelihood; null unless the usual state is another one now.
 *
 * States that last for some sweeps say nothing so: on both sides the cell has to switch about as often as draws would.
 */
export function shareChange({ logs, levels, offset, sigma }: Look, nights: readonly number[]): ChangePoint | null {
  const level = levels.at(-1);
  if (level === undefined) return null;
  const from = Math.max(0, level.from - offset);
  const latest = medianIn(logs, Math.max(from, logs.length - SHARE.leastSweeps), logs.length);
  // Hardly ever so in a cell of one state.
  if (Math.abs(latest - level.median) < Math.max(HISTORY.leastChange, sigma * SHARE.leastDeviations)) return null;
  const states = statesOf(logs.slice(from));
  const split = states === null ? null : bestSplit(states);
  if (states === null || split === null) return null;
  const [before, after] = [medianIn(logs, from, from + split.place), medianIn(logs, from + split.place, logs.length)];
  const index = from + split.place + offset;
  const margin = split.gain / SHARE.leastGain;
  return { night: nights[index] ?? index, index, before, after, shift: after - before, margin };
}

/** 1 for each sweep in the upper of two states; null where there are no two. */
function statesOf(logs: Float64Array): readonly (0 | 1)[] | null {
  const sorted = logs.toSorted();
  const total = sorted.reduce((sum, log) => sum + log, 0);
  let low = 0;
  let most = 0;
  let below = 0;
  let sum = 0;
  for (let count = 1; count < sorted.length; count += 1) {
    sum += at(sorted, count - 1);
    const apart = sum / count - (total - sum) / (sorted.length - count);
    const between = count * (sorted.length - count) * apart * apart;
    if (between <= most) continue;
    most = between;
    low = count;
    below = sum;
  }
  if (low < SHARE.leastVisits || sorted.length - low < SHARE.leastVisits) return null;
  const apart = (total - below) / (sorted.length - low) - below / low;
  const scatter = Math.max(scatterIn(sorted, 0, low), scatterIn(sorted, low, sorted.length));
  if (apart < Math.max(SHARE.statesApart * scatter, HISTORY.leastChange)) return null;
  const border = at(sorted, low);
  return Array.from(logs, (log) => (log >= border ? 1 : 0));
}

function scatterIn(sorted: Float64Array, from: number, to: number): number {
  const middle = medianIn(sorted, from, to);
  const apart = sorted.slice(from, to).map((log) => Math.abs(log - middle));
  return 1.4826 * medianIn(apart, 0, apart.length);
}

/** Where the share of the upper state changed most clearly; null where it did not. */
function bestSplit(states: readonly (0 | 1)[]): { readonly place: number; readonly gain: number } | null {
  const upper = [0];
  const switches = [0];
  for (const [place, state] of states.entries()) {
    upper.push((upper.at(-1) ?? 0) + state);
    switches.push((switches.at(-1) ?? 0) + (place > 0 && states[place - 1] !== state ? 1 : 0));
  }
  const part = (from: number, to: number): Part => {
    const [count, high] = [to - from, (upper[to] ?? 0) - (upper[from] ?? 0)];
    return { count, high, switches: (switches[to] ?? 0) - (switches[from + 1] ?? 0) };
  };
  const all = likelihood(part(0, states.length));
  let best: { readonly place: number; readonly gain: number } | null = null;
  for (let place = SHARE.leastBefore; place <= states.length - SHARE.leastSweeps; place += 1) {
    const [before, after] = [part(0, place), part(place, states.length)];
    const gain = likelihood(before) + likelihood(after) - all;
    if (gain < Math.max(SHARE.leastGain, best?.gain ?? 0) || !isDrawn(before) || !isDrawn(after)) continue;
    const [was, is] = [before.high / before.count, after.high / after.count];
    if (was < 0.5 !== is < 0.5 && Math.abs(is - was) >= SHARE.leastApart) best = { place, gain };
  }
  return best;
}

interface Part {
  readonly count: number;
  /** Sweeps in the upper state. */
  readonly high: number;
  readonly switches: number;
}

/** Log of the likelihood of a share that is that of the sweeps. */
function likelihood({ count, high }: Part): number {
  const term = (number: number): number => (number === 0 ? 0 : number * Math.log(number / count));
  return term(high) + term(count - high);
}

/** Independent draws switch between their states 2 p (1 - p) times a sweep. */
function isDrawn({ count, high, switches }: Part): boolean {
  const expected = (2 * high * (count - high)) / count;
  return switches >= SHARE.leastSwitches && switches >= SHARE.switchShare * expected;
}
