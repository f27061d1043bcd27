import type { Finding } from '../../records/finding.ts';
import type { GateLimit, GatedMetricId } from '../../records/gated-metric.ts';
import type { CellKey } from '../../records/scalars.ts';
import { hashOf } from '../../text/canonical-json.ts';
import { idOf } from './metric-changes.ts';
import type { CellEvidence, GateRules, SweepEvidence } from './evidence.ts';

/** Values of the cells of a sweep by metric, in the unit of the metric. */
type NewestValues = ReadonlyMap<CellKey, ReadonlyMap<GatedMetricId, number>>;

export function brokenLimits(rules: GateRules, values: NewestValues) {
  return [...values].flatMap(([cellKey, ofCell]) =>
    rules.limited.flatMap((metric) => {
      const [limit, after] = [rules.limitOf(cellKey, metric), ofCell.get(metric)];
      if (limit === null || after === undefined) return [];
      const { value: before } = limit;
      if (limit.comparison === '<=' ? after <= before : after >= before) return [];
      const changePercent = before === 0 ? 0 : (after / before - 1) * 100;
      return [{ limit, cell: { cellKey, metric, changePercent, ciPercent: null, margin: 1, before, after } }];
    }),
  );
}

type BrokenLimit = ReturnType<typeof brokenLimits>[number];

/** Limits for which no cell has a value, so that their owner learns of it. */
export function limitsWithoutValue({ limits }: GateRules, values: NewestValues): GateLimit[] {
  return limits.filter(({ metric, cells }) =>
    (cells ?? [...values.keys()]).every((cell) => values.get(cell)?.has(metric) !== true),
  );
}

/** Returns `p99 <= 2 ms (model=vit*)`. */
export function limitText({ filter, text }: GateLimit): string {
  return filter === null ? text : `${text} (${filter})`;
}

/** Values of some metrics in one of the sweeps, or in the newest sweep that has each. */
export function valuesAt(
  cells: readonly CellEvidence[],
  metrics: readonly GatedMetricId[],
  place: number | null = null,
): NewestValues {
  const valuesOf = (measured: CellEvidence['metrics']) =>
    measured.flatMap(({ history: { places, values }, metric }): [GatedMetricId, number][] => {
      const value = values[place === null ? places.length - 1 : places.indexOf(place)];
      return value === undefined || !metrics.includes(metric) ? [] : [[metric, value]];
    });
  return new Map(cells.map(({ cell, metrics: measured }) => [cell.key, new Map(valuesOf(measured))]));
}

/** Findings of limits: earlier ones in their new state, and a new one for each limit that other cells break. */
export function limitFindings(evidence: SweepEvidence): Finding[] {
  const { acknowledged, cells, findings, rules, sweeps } = evidence;
  const judged = sweeps.at(-1);
  const earlier = findings.filter(({ kind }) => kind === 'limit');
  if (judged === undefined || (rules.limited.length === 0 && earlier.length === 0)) return [];
  const values = valuesAt(cells, rules.limited, sweeps.length - 1);
  const broken = new Map(brokenLimits(rules, values).map((each) => [idOf(each.cell), each]));
  const known = earlier.filter(({ reportedSweepId, state }) => reportedSweepId !== judged.sweepId && state === 'open');
  const continued = known.map((finding): Finding => {
    const newest = finding.cells.map((cell) => broken.get(idOf(cell))?.cell ?? cell);
    if (finding.cells.some((cell) => broken.has(idOf(cell)))) {
      const kept = acknowledged.has(finding.findingId) ? finding.cells : newest;
      return { ...finding, cells: kept, state: 'open', lastBadSweepId: judged.sweepId };
    }
    const isLimited = finding.cells.some(({ cellKey, metric }) => rules.limitOf(cellKey, metric) !== null);
    const hasValue = finding.cells.some(({ cellKey, metric }) => values.get(cellKey)?.has(metric) === true);
    return { ...finding, state: isLimited && !hasValue ? 'open' : 'recovered' };
  });
  const open = continued.filter(({ state }) => state === 'open').flatMap((finding) => finding.cells);
  for (const cell of open) broken.delete(idOf(cell));
  const byLimit = Map.groupBy(broken.values(), ({ limit }) => limit);
  return [...continued, ...[...byLimit].map(([limit, own]) => newFinding(limit, own, evidence, judged))];
}

function newFinding(
  { metric }: GateLimit,
  broken: readonly BrokenLimit[],
  evidence: SweepEvidence,
  { branch, matrix, provenance, sweepId }: SweepEvidence['sweeps'][number],
): Finding {
  const { rules, sweeps } = evidence;
  const keys = broken.map(({ cell }) => cell.cellKey);
  const own = evidence.cells.filter(({ cell }) => keys.includes(cell.key));
  const before = valuesAt(own, [metric], sweeps.length - 2);
  const isKept = [...before.values()].some(({ size }) => size > 0) && brokenLimits(rules, before).length === 0;
  const about = { branch, matrix, provenance, firstBadSweepId: sweepId };
  return {
    findingId: hashOf({ kind: 'limit', ...about, metric, cells: keys.toSorted() }),
    kind: 'limit',
    isWarning: keys.every((key) => rules.isWarning(key, metric)),
    ...about,
    direction: 'slower',
    state: 'open',
    group: [],
    lasts: 'measured',
    cause: null,
    environmentChanges: [],
    pairs: null,
    lastGoodSweepId: isKept ? (sweeps.at(-2)?.sweepId ?? null) : null,
    lastBadSweepId: sweepId,
    reportedSweepId: sweepId,
    owner: rules.ownerOf(keys),
    cells: broken.map(({ cell }) => cell),
  };
}
