import { at } from '../../statistics/at.ts';
import { medianIn, middleOf } from '../../statistics/order-statistics.ts';
import { GROUPS } from './settings.ts';

/** A cell's values, as far as groups need them. */
export interface GroupCell {
  /** One entry per sweep, oldest first, in any unit; null where it was not measured. */
  readonly values: readonly (number | null)[];
  /** First sweeps of its levels, except the first: changes that are known for longer than `GROUPS.youngSweeps`. */
  readonly levels: readonly number[];
}

/**
 * How far cells lie off their own levels: one row per cell, one entry per sweep of the window that ends with `sweep`. In
 * logarithms; NaN where a cell was not measured.
 */
export function deviationRows(cells: readonly GroupCell[], sweep: number): Float64Array[] {
  const first = Math.max(0, sweep - GROUPS.windowSweeps - GROUPS.mostSweeps);
  return cells.map(({ values, levels }) => {
    const row = Float64Array.from({ length: sweep - first + 1 }, (_, place) => Math.log(values[first + place] ?? 0));
    const edges = levels
      .filter((edge) => edge > first && edge <= sweep - GROUPS.youngSweeps)
      .map((edge) => edge - first);
    let from = 0;
    for (const to of [...edges, row.length]) {
      centre(row, from, to);
      from = to;
    }
    return row;
  });
}

/** Takes the median of `[from, to)` off, in which the newest sweeps of the row do not count. */
function centre(row: Float64Array, from: number, to: number): void {
  const known = row.slice(from, Math.min(to, row.length - GROUPS.mostSweeps)).filter(Number.isFinite);
  const median = known.length === 0 ? Number.NaN : middleOf(known);
  for (let place = from; place < to; place += 1) {
    const log = at(row, place);
    row[place] = Number.isFinite(log) ? log - median : Number.NaN;
  }
}

/**
 * Median deviation of some cells less that of all others, sweep by sweep: what all cells share, such as a slow machine,
 * is not in it. NaN where too few of either were measured.
 * @param members indices of rows; of all rows: their median alone
 * @param from first place that is needed
 */
export function contrastOf(rows: readonly Float64Array[], members: readonly number[], from = 0): Float64Array {
  const length = rows[0]?.length ?? 0;
  const inside = new Set(members);
  const [own, others] = [members.flatMap((row) => rows[row] ?? []), rows.filter((_, row) => !inside.has(row))];
  return Float64Array.from({ length: length - from }, (_, place) => {
    const median = medianAt(own, from + place);
    return others.length === 0 ? median : median - medianAt(others, from + place);
  });
}

function medianAt(rows: readonly Float64Array[], place: number): number {
  const known = new Float64Array(rows.length);
  let count = 0;
  for (const row of rows) {
    const value = at(row, place);
    if (Number.isNaN(value)) continue;
    known[count] = value;
    count += 1;
  }
  return count < GROUPS.leastCells ? Number.NaN : medianIn(known, 0, count);
}

/** The newest sweeps of a contrast against its own past. In logarithms. */
export interface ContrastShift {
  /** How many of the newest sweeps, at most `GROUPS.mostSweeps`. */
  readonly sweeps: number;
  readonly shift: number;
  /** The least distance of these sweeps, in robust standard deviations of the past ones. */
  readonly deviations: number;
  /** Clear enough to be reported. */
  readonly isClear: boolean;
}

/**
 * `contrast`: what the machine does is not in it. Without others to compare with: `stay`, a single sweep proves nothing;
 * `cause`, the machine changed in the newest sweep, and single slow sweeps before it do not matter.
 */
export type ContrastTrust = 'contrast' | 'stay' | 'cause';

/**
 * A contrast is one more history. In its first sweep a shift is clear when it is far outside of all that was there
 * before; in later sweeps less far, as all of them must agree.
 * @returns null within 3 deviations
 */
export function contrastShift(contrast: Float64Array, trust: ContrastTrust): ContrastShift | null {
  const known = contrast.filter(Number.isFinite);
  if (Number.isNaN(contrast.at(-1) ?? Number.NaN)) return null;
  let found: ContrastShift | null = null;
  for (const rule of GROUPS.rules) {
    const past = known.slice(0, known.length - rule.sweeps);
    if (past.length < GROUPS.leastPast) continue;
    const level = medianIn(past, 0, past.length);
    const apart = past.map((value) => Math.abs(value - level));
    const sigma = Math.max(1.4826 * medianIn(apart, 0, apart.length), GROUPS.leastSigma);
    const shifts = known.slice(known.length - rule.sweeps).map((value) => value - level);
    const sign = Math.sign(at(shifts, 0));
    const least = Math.min(...shifts.map((shift) => shift * sign));
    if (least < Math.max(GROUPS.suspectDeviations * sigma, GROUPS.leastChange)) continue;
    const isFarthest = trust === 'cause' || least > rule.timesFarthest * farthestStay(apart, rule.sweeps);
    const isClear = least >= rule.deviations * sigma && isFarthest && (rule.sweeps > 1 || trust !== 'stay');
    const middle = middleOf(shifts);
    const sweeps = Math.max(rule.sweeps, sweepsBeyond(known, level + middle / 2, sign));
    const shift = { sweeps, shift: middle, deviations: least / sigma, isClear };
    if (isClear) return shift;
    found = shift;
  }
  return found;
}

/** How many of the newest sweeps lie on that side of a limit: where the sweeps of a shift were not judged one by one, it is older than its rule. */
function sweepsBeyond(values: Float64Array, limit: number, sign: number): number {
  const newest = values.subarray(-GROUPS.mostSweeps);
  return newest.length - 1 - newest.findLastIndex((value) => (value - limit) * sign <= 0);
}

/** The farthest that successive past sweeps lay off together. @param apart distances from the level */
function farthestStay(apart: Float64Array, sweeps: number): number {
  let farthest = 0;
  for (let place = sweeps; place <= apart.length; place += 1) {
    farthest = Math.max(farthest, Math.min(...apart.subarray(place - sweeps, place)));
  }
  return farthest;
}
