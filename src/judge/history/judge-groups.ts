import { at } from '../../statistics/at.ts';
import { percentOfLog } from '../../statistics/logarithms.ts';
import { middleOf } from '../../statistics/order-statistics.ts';
import { contrastOf, type ContrastShift, contrastShift, deviationRows, type GroupCell } from './group-contrast.ts';
import { GROUPS } from './settings.ts';

/** Cells that moved together, and the others did not. */
export interface GroupShift {
  /** As in the memberships. */
  readonly group: string;
  /** Indices of its cells. */
  readonly cells: readonly number[];
  /** First sweep of the shift, an index of `values`, and how many sweeps it lasts. */
  readonly sweep: number;
  readonly sweeps: number;
  /** Of the values, against the other cells; positive for larger ones. */
  readonly changePercent: number;
  /** The least distance of these sweeps from the past, in robust standard deviations. */
  readonly deviations: number;
}

export interface GroupJudgement {
  /** To be reported in this sweep: the fewest groups that explain what is seen, clearest first. */
  readonly news: readonly GroupShift[];
  /** Not clear enough yet: worth pairs. */
  readonly suspected: readonly GroupShift[];
}

export interface GroupMemory {
  /** What is known already: its cells, and its first sweep as an index of `values`. */
  readonly reported: readonly { readonly cells: readonly number[]; readonly sweep: number }[];
  /**
   * The machine changed (driver, TensorRT, clocks) in the newest sweep: then all cells at once are believed in their first
   * sweep, else in their second, because a slow machine looks the same.
   */
  readonly machineChanged: boolean;
}

/**
 * Groups of cells whose newest values moved together, although no single cell may show it yet. One metric.
 * @param groups names with indices of cells; a group of all cells has no others to be compared with
 * @param sweep the newest one: an index of `values`
 */
export function judgeGroups(
  cells: readonly GroupCell[],
  groups: ReadonlyMap<string, readonly number[]>,
  sweep: number,
  { reported, machineChanged }: GroupMemory,
): GroupJudgement {
  const rows = deviationRows(cells, sweep);
  const measured = rows.flatMap((row, index) => (Number.isNaN(row.at(-1) ?? Number.NaN) ? [] : [index]));
  // Older ones are levels of their cells.
  const known = reported.filter((entry) => sweep - entry.sweep < GROUPS.youngSweeps);
  for (const { cells: members } of known) explain(rows, members);
  const candidates = [...groups].flatMap(([group, members]): Candidate[] => {
    const own = members.filter((index) => measured.includes(index));
    const others = measured.length - own.length;
    return own.length >= GROUPS.leastCells && (others === 0 || others >= GROUPS.leastCells)
      ? [{ group, members: own }]
      : [];
  });
  const news: GroupShift[] = [];
  const suspected: GroupShift[] = [];
  for (;;) {
    const shifts = candidates.flatMap((candidate) => shiftOf(rows, candidate, measured, machineChanged) ?? []);
    const clear = shifts.filter(({ shift }) => shift.isClear);
    const best = clear.length > 0 ? clear : shifts;
    const [first] = best.toSorted((a, b) => b.explained - a.explained);
    if (first === undefined) return { news, suspected };
    const { candidate, shift } = first;
    (shift.isClear ? news : suspected).push({
      group: candidate.group,
      cells: candidate.members,
      sweep: sweep - shift.sweeps + 1,
      sweeps: shift.sweeps,
      changePercent: percentOfLog(shift.shift),
      deviations: shift.deviations,
    });
    explain(rows, candidate.members);
    candidates.splice(candidates.indexOf(candidate), 1);
  }
}

interface Candidate {
  readonly group: string;
  readonly members: readonly number[];
}

function shiftOf(
  rows: readonly Float64Array[],
  candidate: Candidate,
  measured: readonly number[],
  machineChanged: boolean,
) {
  const { members } = candidate;
  const newest = (rows[0]?.length ?? 0) - 1;
  const isAll = members.length === measured.length;
  const others = isAll ? [] : measured.filter((index) => !members.includes(index));
  const [own, rest] = [members, others].map((part) => middleOf(valuesAt(rows, part, newest)));
  const stay = isAll ? 0 : (rest ?? 0);
  const apart = (own ?? 0) - stay;
  // The others may have moved instead: then theirs is the group, with the other sign.
  if (Math.abs(apart) < GROUPS.leastChange || (own ?? 0) * Math.sign(apart) < Math.abs(apart) / 2) return null;
  const compared = isAll ? rows.filter((_, index) => measured.includes(index)) : rows;
  const shift = contrastShift(
    contrastOf(compared, isAll ? compared.map((_, index) => index) : members),
    isAll ? (machineChanged ? 'cause' : 'stay') : 'contrast',
  );
  if (shift === null || Math.sign(shift.shift) !== Math.sign(apart)) return null;
  // Where half of the cells moved, the median of all says that of none.
  const moved = valuesAt(rows, members, newest).filter(
    (value) => (value - stay) * Math.sign(apart) > Math.abs(apart) / 2,
  );
  if (moved.length < GROUPS.movedShare * members.length) return null;
  return { candidate, shift, explained: explainedBy(rows, members, newest, shift) };
}

/** By how much the deviations of the cells shrink when those of the group are taken for the shift. */
function explainedBy(
  rows: readonly Float64Array[],
  members: readonly number[],
  place: number,
  { shift }: ContrastShift,
): number {
  return valuesAt(rows, members, place).reduce((sum, value) => sum + Math.abs(value) - Math.abs(value - shift), 0);
}

function valuesAt(rows: readonly Float64Array[], members: readonly number[], place: number): Float64Array {
  return Float64Array.from(members.flatMap((index) => rows[index]?.[place] ?? [])).filter(Number.isFinite);
}

/** Takes the newest sweeps of a group's cells for explained: off their median. */
function explain(rows: readonly Float64Array[], members: readonly number[]): void {
  const length = rows[0]?.length ?? 0;
  for (let place = Math.max(0, length - GROUPS.mostSweeps); place < length; place += 1) {
    const median = middleOf(valuesAt(rows, members, place));
    for (const index of members) {
      const row = rows[index];
      if (row !== undefined) row[place] = at(row, place) - median;
    }
  }
}
