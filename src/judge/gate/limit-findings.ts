import type { Finding } from '../../records/finding.ts';
import type { GateLimit } from '../../records/gate-settings.ts';
import type { SweepId } from '../../records/scalars.ts';
import type { Sweep } from '../../records/sweep.ts';
import { hashOf } from '../../text/canonical-json.ts';
import { brokenLimits, type BrokenLimit, type GateRules, type NewestValues } from './limits.ts';

export interface LimitEvidence {
  readonly rules: GateRules;
  /** Of one series, oldest first; the last one is judged. */
  readonly sweeps: readonly [SweepValues, ...SweepValues[]];
  /** Findings of limits of this series. */
  readonly known: readonly Finding[];
  /** By their ids: the values that were acknowledged stay, as they are what the next ones are held against. */
  readonly acknowledged: Pick<ReadonlySet<string>, 'has'>;
  readonly series: Pick<Sweep, 'branch' | 'matrix' | 'provenance'>;
}

export interface SweepValues {
  readonly sweepId: SweepId;
  readonly values: NewestValues;
}

/**
 * What the limits say of the last sweep: known findings with their state after it, and a new one for each limit that
 * other cells break. A cell without a value neither breaks a limit nor keeps it.
 */
export function limitFindings(evidence: LimitEvidence): Finding[] {
  const { rules, sweeps } = evidence;
  const last = sweeps.at(-1) ?? sweeps[0];
  const broken = new Map(brokenLimits(rules, last.values).map((each) => [placeOf(each.cell, each.limit.metric), each]));
  // What an earlier look at this sweep reported is found again.
  const lasting = evidence.known.filter(
    ({ reportedSweepId, state }) => reportedSweepId !== last.sweepId && state === 'open',
  );
  const known = lasting.map((finding) => {
    const next = continued(finding, broken, rules, last);
    return evidence.acknowledged.has(finding.findingId) ? { ...next, cells: finding.cells } : next;
  });
  const reported = new Set(
    known.flatMap(({ cells, state }) =>
      state === 'open' ? cells.map(({ cellKey, metric }) => placeOf(cellKey, metric)) : [],
    ),
  );
  const fresh = [...broken].flatMap(([place, each]) => (reported.has(place) ? [] : [each]));
  const byLimit = Map.groupBy(fresh, ({ limit }) => limit);
  return [...known, ...[...byLimit].map(([limit, cells]) => newFinding(limit, cells, evidence, last))];
}

function placeOf(cell: string, metric: string): string {
  return `${cell} ${metric}`;
}

/** Open while one of its cells breaks its limit, or has no value; its values are the newest. Over without a limit. */
function continued(
  finding: Finding,
  broken: ReadonlyMap<string, BrokenLimit>,
  rules: GateRules,
  { sweepId, values }: SweepValues,
): Finding {
  const cells = finding.cells.map((cell) => {
    const now = broken.get(placeOf(cell.cellKey, cell.metric));
    return now === undefined ? cell : cellOf(now);
  });
  const isBroken = finding.cells.some(({ cellKey, metric }) => broken.has(placeOf(cellKey, metric)));
  const hasValue = finding.cells.some(({ cellKey, metric }) => values.get(cellKey)?.has(metric) === true);
  if (isBroken) return { ...finding, cells, state: 'open', lastBadSweepId: sweepId };
  const isLimited = finding.cells.some(({ cellKey, metric }) => rules.limitOf(cellKey, metric) !== null);
  if (!isLimited) return { ...finding, state: 'recovered' };
  return { ...finding, state: hasValue ? 'recovered' : 'open' };
}

function newFinding(
  { metric }: GateLimit,
  broken: readonly BrokenLimit[],
  { rules, sweeps, series }: LimitEvidence,
  { sweepId }: SweepValues,
): Finding {
  const keys = broken.map(({ cell }) => cell);
  const { firstBadSweepId, lastGoodSweepId } = sinceWhen(rules, sweeps, new Set(keys), metric);
  const { branch, matrix, provenance } = series;
  const cells = broken.map(cellOf);
  return {
    findingId: hashOf({ kind: 'limit', branch, matrix, provenance, metric, cells: keys.toSorted(), firstBadSweepId }),
    kind: 'limit',
    isWarning: keys.every((key) => rules.isWarning(key, metric)),
    provenance,
    branch,
    matrix,
    direction: 'slower',
    state: 'open',
    group: [],
    lasts: 'measured',
    cause: null,
    environmentChanges: [],
    pairs: null,
    lastGoodSweepId,
    firstBadSweepId,
    lastBadSweepId: sweepId,
    reportedSweepId: sweepId,
    owner: rules.ownerOf(keys),
    cells,
  };
}

/** `before` is the limit, `after` the value that breaks it. */
function cellOf({ cell, limit, value, beyondPercent }: BrokenLimit): Finding['cells'][number] {
  const { metric, value: before } = limit;
  return { cellKey: cell, metric, changePercent: beyondPercent ?? 0, ciPercent: null, margin: 1, before, after: value };
}

/** The last sweep in which all of the cells kept their limits, and the first one after it: a limit may be newer than both. */
function sinceWhen(
  rules: GateRules,
  sweeps: LimitEvidence['sweeps'],
  cells: ReadonlySet<string>,
  metric: GateLimit['metric'],
): Pick<Finding, 'firstBadSweepId' | 'lastGoodSweepId'> {
  let firstBadSweepId = (sweeps.at(-1) ?? sweeps[0]).sweepId;
  for (const { sweepId, values } of sweeps.toReversed()) {
    const ofCells: NewestValues = new Map([...values].filter(([cell, its]) => cells.has(cell) && its.has(metric)));
    if (ofCells.size === 0) continue;
    if (!brokenLimits(rules, ofCells).some(({ limit }) => limit.metric === metric)) {
      return { firstBadSweepId, lastGoodSweepId: sweepId };
    }
    firstBadSweepId = sweepId;
  }
  return { firstBadSweepId, lastGoodSweepId: null };
}
