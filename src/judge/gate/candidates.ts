import type { CellKey } from '../../records/scalars.ts';
import type { Finding } from '../../records/finding.ts';
import { median } from '../../statistics/median.ts';
import { CALMEST, type CellWords } from './cell-words.ts';
import type { CellEvidence, MetricHistory } from './evidence.ts';
import { type JudgedFacts, rawPercent, stateIn } from './metric-changes.ts';
import type { Candidate } from './verdict.ts';

/** Off the reference by this number of standard errors: less is worth no pairs. */
const LEAST_DEVIATIONS = 3;

/**
 * Cells off their reference for the worse, by the metric that shows it most clearly; its own one first.
 * @param findings after the judged sweep: an older one explains its cells, unless pairs are still to be measured
 * @returns groups before cells, the farthest off first
 */
export function candidatesOf(facts: JudgedFacts, findings: readonly Finding[]): readonly Candidate[] {
  const { cells, sweeps } = facts.evidence;
  const judged = sweeps.at(-1)?.sweepId;
  const explaining = findings.filter(
    ({ lasts, pairs, reportedSweepId, state }) =>
      state === 'open' && reportedSweepId !== judged && (lasts !== null || pairs !== null),
  );
  const explained = new Set(explaining.flatMap((finding) => finding.cells.map(({ cellKey }) => cellKey)));
  const singles = cells
    .filter(({ cell }) => !explained.has(cell.key))
    .flatMap((evidence) =>
      evidence.metrics
        .flatMap((measured) => candidateOf(evidence, measured, facts))
        .toSorted((a, b) => b.deviations - a.deviations)
        .slice(0, 1),
    );
  const { groups, others } = grouped(singles, facts.words);
  return [groups, others].flatMap((part) => part.toSorted((a, b) => b.deviations - a.deviations));
}

function candidateOf(
  { cell: { key: cellKey } }: CellEvidence,
  measured: MetricHistory,
  { evidence: { sweeps }, states }: JudgedFacts,
): Candidate[] {
  const { history, metric } = measured;
  const state = stateIn(states, { cellKey, metric });
  if (state === null) return [];
  const { change, isOnlyRunFarOff, levels, reported, verdict } = state;
  const deviations = change.error > 0 ? change.log / change.error : 0;
  const isOff = verdict === 'slower' || deviations >= LEAST_DEVIATIONS || isOnlyRunFarOff;
  if (change.log <= 0 || !(isOff || reported?.direction === 'slower')) return [];
  const index = reported === null ? -1 : history.nights.indexOf(reported.first);
  const lastGood = index > 0 ? history.nights[index - 1] : history.nights.at(-2);
  return [
    {
      group: [],
      cellKeys: [cellKey],
      metric,
      changePercent: rawPercent(metric, change.log),
      deviations: Math.max(LEAST_DEVIATIONS, deviations),
      lastGoodSweepId: sweeps[lastGood ?? -1]?.sweepId ?? null,
      isUnsteady: levels !== null || hasUnlikeBuilds(measured),
    },
  ];
}

/** The three calmest cells of each group speak for it. */
function grouped(singles: readonly Candidate[], words: CellWords) {
  const ofCell = new Map(singles.flatMap((one) => one.cellKeys.map((key) => [key, one] as const)));
  const found = words.groupsAmong(new Set(ofCell.keys()));
  const inGroups = new Set<CellKey>(found.flatMap(({ keys }) => [...keys]));
  const groups = found.flatMap(({ group, keys }): Candidate[] => {
    const own = [...keys].flatMap((key) => ofCell.get(key) ?? []);
    const calmest = own.toSorted((a, b) => noiseOf(a) - noiseOf(b)).slice(0, CALMEST);
    const [first] = calmest;
    if (first === undefined) return [];
    const middle = (of: (one: Candidate) => number): number => median(own.map(of)) ?? 0;
    return [
      {
        ...first,
        group,
        cellKeys: calmest.flatMap(({ cellKeys }) => cellKeys),
        changePercent: middle(({ changePercent }) => changePercent),
        deviations: middle(({ deviations }) => deviations),
        isUnsteady: calmest.some(({ isUnsteady }) => isUnsteady),
      },
    ];
  });
  return { groups, others: singles.filter(({ cellKeys }) => !cellKeys.some((key) => inGroups.has(key))) };
}

/** In percent. */
function noiseOf({ changePercent, deviations }: Candidate): number {
  return Math.abs(changePercent) / deviations;
}

/** Builds of the same sources differed before: their tactics may differ again. */
function hasUnlikeBuilds({ history: { builds = [], sources = [] } }: MetricHistory): boolean {
  const last = sources.at(-1) ?? null;
  if (last === null) return false;
  return new Set(builds.slice(0, -1).filter((_, place) => sources[place] === last)).size > 1;
}
