import { median } from '../../src/statistics/order-statistics.ts';
import type { Change, LabelledCell, LabelledHistory } from './labelled.ts';

/** A detector's word that the level of a history changed. Positions count the nights that were not measured. */
export interface Alarm {
  /** First night at the new level. */
  readonly index: number;
  /** 1 for larger values, -1 for smaller ones, 0 when the detector does not say. */
  readonly sign: -1 | 0 | 1;
}

export interface NightAlarm extends Alarm {
  /** The night on which it was told. */
  readonly night: number;
}

/** Hits may be off by so many nights. */
const TOLERANCE = 3;
const FIRST_NIGHT = 20;

/** Answers on whole histories, by id. */
export function scoreHistories(truths: readonly LabelledHistory[], answers: ReadonlyMap<string, readonly Alarm[]>) {
  return score(
    truths.map((truth) => ({
      truth,
      alarms: (answers.get(truth.id) ?? []).map((alarm) => ({ ...alarm, night: null })),
    })),
  );
}

/** What was told night by night, by id. Right only on or after the true night. */
export function scoreNights(truths: readonly LabelledHistory[], answers: ReadonlyMap<string, readonly NightAlarm[]>) {
  return score(
    truths.map((truth) => {
      const from = firstQuestion(truth);
      const reported = (answers.get(truth.id) ?? []).filter(({ night }) => night >= from);
      return { truth, alarms: reported.toSorted((a, b) => a.night - b.night) };
    }),
  );
}

/** Questions with only the past begin with the 20th measured night. */
function firstQuestion({ values }: LabelledHistory): number {
  const measured = values.flatMap((value, night) => (value === null ? [] : [night]));
  return measured[FIRST_NIGHT - 1] ?? values.length;
}

interface Told extends Alarm {
  readonly night: number | null;
}

interface Answered {
  readonly truth: LabelledHistory;
  readonly alarms: readonly Told[];
}

function score(answered: readonly Answered[]) {
  const matched = answered.map(({ truth, alarms }) => matchAlarms(truth.changes, alarms));
  const pairs = matched.flatMap((match) => match.pairs);
  const changes = answered.flatMap(({ truth }) => truth.changes);
  const wrong = matched.reduce((sum, match) => sum + match.wrong, 0);
  const nights = answered.reduce((sum, { truth }) => sum + measuredSweeps(truth), 0);
  const steady = answered.filter(({ truth }) => truth.changes.length === 0);
  const delays = pairs.flatMap(({ change, alarm }) =>
    change.kind === 'ramp' || alarm.night === null ? [] : [alarm.night - change.index],
  );
  return {
    ...ratesOf(pairs.length, wrong, changes.length - pairs.length),
    /** False alarms for each 1000 measured nights. */
    falsePer1000: nights === 0 ? 0 : round((1000 * wrong) / nights, 2),
    /** Histories without a change that were flagged, and all of them. */
    nullFlagged: [steady.filter(({ alarms }) => alarms.length > 0).length, steady.length],
    wrongDirection: pairs.filter(({ change, alarm }) => change.rel * alarm.sign < 0).length,
    /** Median nights from a step to its telling; null when the whole history was seen at once, or nothing was found. */
    delayMedian: median(delays),
  };
}

function measuredSweeps({ values }: LabelledHistory): number {
  return values.filter((value) => value !== null).length;
}

/** One to one: the earliest telling first, then the nearest. More hits inside a ramp are neither right nor wrong. */
function matchAlarms(changes: readonly Change[], alarms: readonly Told[]) {
  const possible = changes
    .flatMap((change) => alarms.map((alarm) => ({ change, alarm, order: orderOf(change, alarm) })))
    .filter(({ change, alarm }) => isInside(change, alarm))
    // Stable: among equals the earlier change, and then the earlier alarm, is served first.
    .toSorted((a, b) => a.order[0] - b.order[0] || a.order[1] - b.order[1]);
  const found = new Set<Change>();
  const used = new Set<Told>();
  const pairs = possible.filter(({ change, alarm }) => {
    if (found.has(change) || used.has(alarm)) return false;
    found.add(change);
    used.add(alarm);
    return true;
  });
  const wrong = alarms.filter(
    (alarm) => !used.has(alarm) && !changes.some((change) => change.kind === 'ramp' && isInside(change, alarm)),
  );
  return { pairs, wrong: wrong.length };
}

function isInside(change: Change, { index, night }: Told): boolean {
  if (night !== null && night < change.index) return false;
  return index >= change.index - TOLERANCE && index <= change.end + TOLERANCE;
}

function orderOf(change: Change, { index, night }: Told): [number, number] {
  const distance = index < change.index ? change.index - index : Math.max(0, index - change.end);
  return [night ?? 0, distance];
}

/** Counts of right and wrong answers, and what follows, with three decimals. Nothing told, or nothing to tell, counts as right. */
function ratesOf(hit: number, wrong: number, missed: number) {
  const precision = hit + wrong === 0 ? 1 : hit / (hit + wrong);
  const recall = hit + missed === 0 ? 1 : hit / (hit + missed);
  const sum = precision + recall;
  return {
    hit,
    wrong,
    missed,
    precision: round(precision, 3),
    recall: round(recall, 3),
    f1: sum === 0 ? 0 : round((2 * precision * recall) / sum, 3),
  };
}

function round(value: number, decimals: number): number {
  return Number(value.toFixed(decimals));
}

/** What a decider says of a cell: larger values, smaller ones, or no change that it would call. */
const SIGNS = { larger: 1, smaller: -1, same: 0, unclear: 0 } as const;

export type CellVerdict = keyof typeof SIGNS;

/** Verdicts by the name of the cell. Only the right direction is right; unclear and same both miss a true change. */
export function scoreCells(truths: readonly LabelledCell[], verdicts: ReadonlyMap<string, CellVerdict>) {
  const judged = truths.map((truth) => {
    const verdict = verdicts.get(truth.cell) ?? 'same';
    return { truth, verdict, sign: SIGNS[verdict] };
  });
  const changed = judged.filter(({ truth }) => truth.rel !== 0);
  const unchanged = judged.filter(({ truth }) => truth.rel === 0);
  const hit = changed.filter(({ truth, sign }) => sign === Math.sign(truth.rel)).length;
  const wrongDirection = changed.filter(({ truth, sign }) => sign === -Math.sign(truth.rel)).length;
  const called = unchanged.filter(({ sign }) => sign !== 0).length;
  const moved = new Set(changed.map(({ truth }) => truth.matrix));
  const quiet = Map.groupBy(
    unchanged.filter(({ truth }) => !moved.has(truth.matrix)),
    ({ truth }) => truth.matrix,
  );
  const alarmed = [...quiet.values()].filter((cells) => cells.some(({ sign }) => sign !== 0));
  return {
    ...ratesOf(hit, called + wrongDirection, changed.length - hit),
    /** False calls for each 1000 cells that did not change. */
    falsePer1000: unchanged.length === 0 ? 0 : round((1000 * called) / unchanged.length, 2),
    /** Matrices in which nothing changed and something was called, and all of them. */
    quietAlarmed: [alarmed.length, quiet.size],
    wrongDirection,
    unclear: judged.filter(({ verdict }) => verdict === 'unclear').length,
  };
}
