import type { CellKey } from '../../records/scalars.ts';
import type { Finding } from '../../records/finding.ts';
import type { Sweep } from '../../records/sweep.ts';
import { median } from '../../statistics/median.ts';
import { CALMEST, type CellWords } from './cell-words.ts';
import type { CellEvidence, MetricHistory } from './evidence.ts';
import { rawPercent } from './metric-changes.ts';
import type { MetricState, MetricStates } from './metric-state.ts';
import { hasCell } from './placed-finding.ts';
import type { Candidate } from './verdict.ts';

/** Off the reference by this number of standard errors: less is worth no pairs. */
const LEAST_DEVIATIONS = 3;

/**
 * Cells off their reference for the worse, by the metric that shows it most clearly; its own one first.
 * @param findings after the judged sweep: an older one explains its cells, unless pairs are still to be measured
 * @returns groups before cells, the farthest off first
 */
export function candidatesOf(
  cells: readonly CellEvidence[],
  states: MetricStates,
  findings: readonly Finding[],
  words: CellWords,
  sweeps: readonly Sweep[],
): readonly Candidate[] {
  const judged = sweeps.at(-1)?.sweepId;
  const explained = findings.filter(
    ({ lasts, pairs, reportedSweepId, state }) =>
      state === 'open' && reportedSweepId !== judged && (lasts !== null || pairs !== null),
  );
  const singles = cells.flatMap((evidence): Candidate[] => {
    const own = states.get(evidence.cell.key);
    const off = evidence.metrics.flatMap((measured): Candidate[] => {
      const state = own?.get(measured.metric);
      const isExplained = explained.some((finding) => hasCell(finding, evidence.cell.key));
      return state === undefined || isExplained ? [] : candidateOf(evidence, measured, state, sweeps);
    });
    return off.toSorted((a, b) => b.deviations - a.deviations).slice(0, 1);
  });
  const { groups, others } = grouped(singles, words);
  return [groups, others].flatMap((part) => part.toSorted((a, b) => b.deviations - a.deviations));
}

function candidateOf(
  { cell }: CellEvidence,
  measured: MetricHistory,
  { error, isOnlyRunFarOff, levels, reported, verdict, worse }: MetricState,
  sweeps: readonly Sweep[],
): Candidate[] {
  const deviations = error > 0 ? worse / error : 0;
  const isReported = reported !== null && reported.worse > 0;
  const isNear = verdict !== 'slower' && deviations < LEAST_DEVIATIONS && !isOnlyRunFarOff;
  if (worse <= 0 || (isNear && !isReported)) return [];
  const { metric } = measured;
  const { nights } = measured.history;
  const index = reported === null ? -1 : nights.indexOf(reported.first);
  const lastGood = index > 0 ? nights[index - 1] : nights.at(-2);
  return [
    {
      group: [],
      cellKeys: [cell.key],
      metric,
      changePercent: rawPercent(metric, worse),
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
