import type { Finding } from '../../records/finding.ts';
import { hashOf } from '../../text/canonical-json.ts';
import { cellChange, idOf } from './metric-changes.ts';
import type { CellEvidence, GateRules } from './evidence.ts';
import type { JudgedFacts } from './judged-facts.ts';
import { newFinding } from './reduce-findings.ts';

/** Values of metrics with a limit, in one of the sweeps, or in the newest sweep that has each. */
export function limitedValues(cells: readonly CellEvidence[], { limited }: GateRules, place: number | null = null) {
  return cells.flatMap(({ cell: { key: cellKey }, metrics }) =>
    limited.flatMap((metric) => {
      const { places = [], values } = metrics.find((one) => one.metric === metric)?.history ?? {};
      const value = values?.[place === null ? places.length - 1 : places.indexOf(place)];
      return value === undefined ? [] : [{ cellKey, metric, value }];
    }),
  );
}

type LimitedValue = ReturnType<typeof limitedValues>[number];

export function brokenLimits(rules: GateRules, values: readonly LimitedValue[]) {
  return values.flatMap(({ cellKey, metric, value: after }) => {
    const limit = rules.limitOf(cellKey, metric);
    if (limit === null) return [];
    const { value: before } = limit;
    if (limit.comparison === '<=' ? after <= before : after >= before) return [];
    const changePercent = before === 0 ? 0 : (after / before - 1) * 100;
    return [{ limit, cell: { cellKey, metric, changePercent, ciPercent: null, margin: 1, before, after } }];
  });
}

/** Limits for which no cell has a value, so that their owner learns of it: `p99 <= 2 ms (model=vit*)`. */
export function limitsWithoutValue({ limits }: GateRules, values: readonly LimitedValue[]): string[] {
  const without = limits.filter(({ metric, cells }) =>
    values.every((value) => value.metric !== metric || cells?.includes(value.cellKey) === false),
  );
  return without.map(({ filter, text }) => (filter === null ? text : `${text} (${filter})`));
}

/** Findings of limits: earlier ones in their new state, and a new one for each limit that other cells break. */
export function limitFindings(facts: JudgedFacts): Finding[] {
  const { acknowledged, cells, findings, rules } = facts.evidence;
  const { sweepId } = facts.sweep;
  const earlier = findings.filter(({ kind }) => kind === 'limit');
  if (rules.limited.length === 0 && earlier.length === 0) return [];
  const values = limitedValues(cells, rules, facts.judged);
  const broken = new Map(brokenLimits(rules, values).map((each) => [idOf(each.cell), each]));
  const known = earlier.filter(({ reportedSweepId, state }) => reportedSweepId !== sweepId && state === 'open');
  const continued = known.map((finding): Finding => {
    if (finding.cells.some((cell) => broken.has(idOf(cell)))) {
      const newest = finding.cells.map((cell) => broken.get(idOf(cell))?.cell ?? cell);
      const kept = acknowledged.has(finding.findingId) ? finding.cells : newest;
      return { ...finding, cells: kept, lastBadSweepId: sweepId };
    }
    const isLimited = finding.cells.some(({ cellKey, metric }) => rules.limitOf(cellKey, metric) !== null);
    const hasValue = finding.cells.some((cell) => values.some((value) => idOf(value) === idOf(cell)));
    return isLimited && !hasValue ? finding : { ...finding, state: 'recovered' };
  });
  const open = continued.filter(({ state }) => state === 'open').flatMap((finding) => finding.cells);
  for (const cell of open) broken.delete(idOf(cell));
  const byLimit = [...Map.groupBy(broken.values(), ({ limit }) => limit).values()];
  return [...continued, ...byLimit.map((own) => limitFinding(own, facts))];
}

/** @param broken values beyond one limit, of one metric */
function limitFinding(broken: ReturnType<typeof brokenLimits>, facts: JudgedFacts): Finding {
  const { cells, rules } = facts.evidence;
  const own = broken.map(({ cell }) => cell);
  const keys = new Set(own.map(({ cellKey }) => cellKey));
  const limited = own.slice(0, 1).map(({ metric }) => metric);
  const ofLimit = cells.filter(({ cell }) => keys.has(cell.key));
  const valuesAt = (at: number) => limitedValues(ofLimit, { ...rules, limited }, at);
  let place = facts.judged;
  while (brokenLimits(rules, valuesAt(place - 1)).length > 0) place -= 1;
  const lastGood = valuesAt(place - 1).length > 0 ? place - 1 : null;
  const changes = own.map((cell) => cellChange({ ...cell, direction: 'slower', place, lastGood, lasts: 'measured' }));
  const finding = newFinding(changes, facts);
  const { branch, matrix, provenance, firstBadSweepId } = finding;
  const about = { branch, matrix, provenance, firstBadSweepId, metric: own[0]?.metric };
  const findingId = hashOf({ kind: 'limit', ...about, cells: own.map(({ cellKey }) => cellKey).toSorted() });
  // A limit says nothing about a cause.
  const nothing = { group: [], cause: null, environmentChanges: [] };
  return { ...finding, findingId, kind: 'limit', ...nothing, lastBadSweepId: finding.reportedSweepId };
}
