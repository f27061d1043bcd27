import { type GatedMetricId, gatedMetricOf } from '../../records/gated-metric.ts';
import type { CellKey } from '../../records/scalars.ts';
import type { CellJudgement, Control } from '../sweep/judgement.ts';
import { MatrixJudge } from '../sweep/matrix-judge.ts';
import type { CellWords } from './cell-words.ts';
import type { CellEvidence, MetricHistory, SweepEvidence } from './evidence.ts';
import type { MetricState, MetricStates } from './metric-state.ts';
import { excludedPlaces, hasCell, type PlacedFinding } from './placed-finding.ts';
import { isSteady } from './steady-metrics.ts';

/** Standard deviation of a sweep where nothing is known yet, log scale: a p99 is 10 % higher in one of 44 short runs. */
const TYPICAL_SD: Readonly<Partial<Record<GatedMetricId, { readonly typicalSd: number }>>> = {
  p99Ms: { typicalSd: 0.01 },
};

interface MeasuredCell {
  readonly evidence: CellEvidence;
  readonly measured: MetricHistory;
}

/**
 * Every metric that varies from run to run, of every cell, in the newest sweep that has a value of it: all sweeps in
 * their order, each judged with only the past.
 * @param accepted ids of acknowledged findings: their levels are the reference from the next sweep on
 */
export function judgeMetrics(
  evidence: SweepEvidence,
  known: readonly PlacedFinding[],
  accepted: ReadonlySet<string>,
  words: CellWords,
): MetricStates {
  const cells = evidence.cells.flatMap((cell): MeasuredCell[] =>
    cell.metrics
      .filter(({ history, metric }) => !isSteady(metric) && history.values.every((value) => value > 0))
      .map((measured) => ({ evidence: cell, measured })),
  );
  const byMetric = Map.groupBy(cells, ({ measured }) => measured.metric);
  const states = new Map<CellKey, Map<GatedMetricId, MetricState>>();
  for (const [metric, own] of byMetric) {
    const judgements = judgeMetric(metric, own, evidence, { known, accepted, words, judgedTogether: cells.length });
    for (const [index, { evidence: cell, measured }] of own.entries()) {
      const judgement = judgements[index] ?? null;
      if (judgement === null) continue;
      const ofCell = states.get(cell.cell.key) ?? new Map<GatedMetricId, MetricState>();
      const place = measured.history.nights.at(-1) ?? 0;
      states.set(cell.cell.key, ofCell.set(metric, stateOf(metric, judgement, place)));
    }
  }
  return states;
}

interface Around {
  readonly known: readonly PlacedFinding[];
  readonly accepted: ReadonlySet<string>;
  readonly words: CellWords;
  readonly judgedTogether: number;
}

function judgeMetric(
  metric: GatedMetricId,
  cells: readonly MeasuredCell[],
  { baselinePlace = null, baseSweeps, sweeps }: SweepEvidence,
  { accepted, judgedTogether, known, words }: Around,
) {
  const isLower = gatedMetricOf(metric).betterIs === 'lower';
  const judge = new MatrixJudge(
    cells.map(({ evidence }) => ({ id: evidence.cell.key, groups: words.groupWordsOf(evidence.cell.key) })),
    { ...TYPICAL_SD[metric], judgedTogether },
  );
  const judged = sweeps.length - 1;
  const controls = cells.map(({ evidence }) => controlsOf(evidence.cell.key, metric, known, accepted, judged));
  const runs = cells.map(({ measured: { history, runs: all } }) => {
    let next = 0;
    return (place: number): readonly number[] | null => {
      if (history.nights[next] !== place) return null;
      const values = all[next++] ?? [];
      return isLower ? values : values.map((value) => 1 / value);
    };
  });
  // A named baseline is the reference of what is judged, whatever was accepted since.
  const baselines = cells.map(({ measured: { history, runs: all } }, index): Control => {
    const own = all[baselinePlace === null ? -1 : history.nights.indexOf(baselinePlace)] ?? [];
    const reference = { runs: isLower ? own : own.map((value) => 1 / value) };
    return own.length === 0 ? {} : { ...controls[index]?.get(history.nights.at(-1) ?? 0), reference };
  });
  const isBaselined = (index: number, place: number): boolean =>
    baselines[index]?.reference !== undefined &&
    place !== baselinePlace &&
    place === cells[index]?.measured.history.nights.at(-1);
  const sweepAt = (place: number) => {
    // The level at the merge base is what a pull request is compared with.
    const isFirstOfBranch = baseSweeps !== null && place === baseSweeps;
    return [
      runs.map((valuesAt) => valuesAt(place)),
      controls.map((own, index) =>
        isBaselined(index, place) ? baselines[index] : isFirstOfBranch ? { accept: true } : own.get(place),
      ),
    ] as const;
  };
  const newest = new Set(cells.map(({ measured }) => measured.history.nights.at(-1)));
  let judgements: readonly (CellJudgement | null)[] = [];
  for (let place = 0; place <= judged; place += 1) {
    if (newest.has(place)) {
      const before = judgements;
      judgements = judge.step(...sweepAt(place)).map((one, index) => one ?? before[index] ?? null);
    } else judge.learn(...sweepAt(place));
  }
  return judgements;
}

function controlsOf(
  cellKey: CellKey,
  metric: GatedMetricId,
  known: readonly PlacedFinding[],
  accepted: ReadonlySet<string>,
  judged: number,
): ReadonlyMap<number, Control> {
  const own = known.filter(({ finding }) => hasCell(finding, cellKey));
  if (own.length === 0) return new Map();
  const excluded = [...excludedPlaces(own, cellKey, judged)].map((place) => [place, { exclude: true }] as const);
  const accepting = own
    .filter(({ finding }) => accepted.has(finding.findingId) && hasCell(finding, cellKey, metric))
    .map(({ reportedPlace }) => [reportedPlace + 1, { accept: true }] as const);
  return new Map<number, Control>([...excluded, ...accepting]);
}

function stateOf(metric: GatedMetricId, judgement: CellJudgement, place: number): MetricState {
  const valueOf = (log: number): number => Math.exp(gatedMetricOf(metric).betterIs === 'lower' ? log : -log);
  const { change, detectable, isOnlyRunFarOff, levels, reference, reported, since, verdict } = judgement;
  return {
    verdict,
    reference: valueOf(reference.log),
    referenceSweeps: reference.sweeps,
    level: valueOf(reference.log + change.log),
    worse: change.log,
    error: change.error,
    detectable,
    levels: levels === null ? null : [valueOf(levels.lower), valueOf(levels.upper)],
    reported: reported === null ? null : { first: reported.first, worse: reported.change, error: reported.error },
    isOnlyRunFarOff,
    place,
    since,
  };
}
