import type { Finding } from '../../records/finding.ts';
import type { GateLimit } from '../../records/gate-settings.ts';
import type { GatedMetricId } from '../../records/gated-metric.ts';
import type { CellKey, SweepId } from '../../records/scalars.ts';
import { hashOf } from '../../text/canonical-json.ts';
import type { CellEvidence, SweepEvidence } from './evidence.ts';
import { brokenLimits, type BrokenLimit, type GateRules, type NewestValues } from './limits.ts';

/** Values of some metrics in one of the sweeps, or each in the newest that has one. */
export function valuesAt(
  cells: readonly CellEvidence[],
  metrics: readonly GatedMetricId[],
  place: number | null = null,
): NewestValues {
  const valuesOf = (measured: CellEvidence['metrics']) =>
    measured.flatMap(({ history: { nights, values }, metric }): [GatedMetricId, number][] => {
      const value = metrics.includes(metric)
        ? values[place === null ? nights.length - 1 : nights.indexOf(place)]
        : undefined;
      return value === undefined ? [] : [[metric, value]];
    });
  return new Map(cells.map(({ cell, metrics: measured }) => [cell.key, new Map(valuesOf(measured))]));
}

interface SweepValues {
  readonly sweepId: SweepId;
  readonly values: NewestValues;
}

/**
 * What the limits that people set say of the last sweep, which may be the first one: known findings with their state
 * after it, and a new one for each limit that other cells break. A cell without a value neither breaks a limit nor keeps it.
 */
export function limitFindings(evidence: SweepEvidence): Finding[] {
  const { acknowledged, cells, findings, rules } = evidence;
  const limits = findings.filter(({ kind }) => kind === 'limit');
  if (rules.limited.length === 0 && limits.length === 0) return [];
  const sweeps = evidence.sweeps.map(({ sweepId }, place) => ({
    sweepId,
    values: valuesAt(cells, rules.limited, place),
  }));
  const last = sweeps.at(-1);
  if (last === undefined) return [];
  const broken = new Map(brokenLimits(rules, last.values).map((each) => [placeOf(each.cell, each.limit.metric), each]));
  // What an earlier look at this sweep reported is found again.
  const lasting = limits.filter(({ reportedSweepId, state }) => reportedSweepId !== last.sweepId && state === 'open');
  const known = lasting.map((finding) => {
    const next = continued(finding, broken, rules, last);
    // The values that were acknowledged stay, as they are what the next ones are held against.
    return acknowledged.has(finding.findingId) ? { ...next, cells: finding.cells } : next;
  });
  const open = known.filter(({ state }) => state === 'open').flatMap((finding) => finding.cells);
  const reported = new Set(open.map(({ cellKey, metric }) => placeOf(cellKey, metric)));
  const fresh = [...broken].flatMap(([place, each]) => (reported.has(place) ? [] : [each]));
  const byLimit = Map.groupBy(fresh, ({ limit }) => limit);
  return [...known, ...[...byLimit].map(([limit, own]) => newFinding(limit, own, evidence, sweeps))];
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
  { rules, sweeps: all }: SweepEvidence,
  sweeps: readonly SweepValues[],
): Finding {
  const keys = broken.map(({ cell }) => cell);
  const judged = all.at(-1);
  if (judged === undefined) throw new Error('a limit without a sweep');
  const { branch, matrix, provenance, sweepId } = judged;
  const { firstBadSweepId, lastGoodSweepId } = sinceWhen(rules, sweeps, new Set(keys), metric, sweepId);
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
  sweeps: readonly SweepValues[],
  cells: ReadonlySet<CellKey>,
  metric: GatedMetricId,
  judged: SweepId,
): Pick<Finding, 'firstBadSweepId' | 'lastGoodSweepId'> {
  let firstBadSweepId = judged;
  for (const { sweepId, values } of sweeps.toReversed()) {
    const ofCells: NewestValues = new Map([...values].filter(([cell, its]) => cells.has(cell) && its.has(metric)));
    if (ofCells.size === 0) continue;
    const isKept = !brokenLimits(rules, ofCells).some(({ limit }) => limit.metric === metric);
    if (isKept) return { firstBadSweepId, lastGoodSweepId: sweepId };
    firstBadSweepId = sweepId;
  }
  return { firstBadSweepId, lastGoodSweepId: null };
}
