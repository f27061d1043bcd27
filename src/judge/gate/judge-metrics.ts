import { type GatedMetricId, gatedMetricOf } from '../../records/gated-metric.ts';
import type { CellKey } from '../../records/scalars.ts';
import type { CellJudgement, Control } from '../sweep/judgement.ts';
import { MatrixJudge } from '../sweep/matrix-judge.ts';
import type { CellEvidence, MetricHistory } from './evidence.ts';
import {
  cellIn,
  type FindingCell,
  type JudgedFacts,
  type MetricState,
  type MetricStates,
  type PlacedFinding,
} from './metric-changes.ts';
import { isSteady } from './steady-metrics.ts';

/** Standard deviation of a sweep where nothing is known yet, log scale: a p99 is 10 % higher in one of 44 short runs. */
const TYPICAL_SD: Readonly<Partial<Record<GatedMetricId, { readonly typicalSd: number }>>> = {
  p99Ms: { typicalSd: 0.01 },
};

type MeasuredCell = Pick<CellEvidence, 'cell'> & { readonly measured: MetricHistory };

type Around = Omit<JudgedFacts, 'states'>;

/**
 * Every metric that varies from run to run, of every cell, in the newest sweep that has a value of it: all sweeps in
 * their order, each judged with only the past.
 */
export function judgeMetrics(around: Around): MetricStates {
  const cells = around.evidence.cells.flatMap(({ cell, metrics }) =>
    metrics
      .filter(({ history, metric }) => !isSteady(metric) && history.values.every((value) => value > 0))
      .map((measured): MeasuredCell => ({ cell, measured })),
  );
  const states = new Map<CellKey, Map<GatedMetricId, MetricState>>();
  for (const [metric, own] of Map.groupBy(cells, ({ measured }) => measured.metric)) {
    for (const [index, judgement] of judgeMetric(metric, own, around, cells.length).entries()) {
      const { cell, measured } = own[index] ?? {};
      if (judgement === null || cell === undefined) continue;
      const ofCell = states.get(cell.key) ?? new Map<GatedMetricId, MetricState>();
      const place = measured?.history.nights.at(-1) ?? 0;
      states.set(cell.key, ofCell.set(metric, stateOf(metric, judgement, place)));
    }
  }
  return states;
}

function judgeMetric(
  metric: GatedMetricId,
  cells: readonly MeasuredCell[],
  { accepted, evidence: { baselinePlace, baseSweeps, sweeps }, known, words }: Around,
  judgedTogether: number,
) {
  const isLower = gatedMetricOf(metric).betterIs === 'lower';
  const judge = new MatrixJudge(
    cells.map(({ cell }) => words.of(cell.key)),
    { ...TYPICAL_SD[metric], judgedTogether },
  );
  const judged = sweeps.length - 1;
  const timesOf = (values: readonly number[]): readonly number[] =>
    isLower ? values : values.map((value) => 1 / value);
  const controls = cells.map(({ cell, measured: { history, runs: all } }) => {
    const own = known.filter(({ finding }) => finding.cells.some(({ cellKey }) => cellKey === cell.key));
    const byPlace = controlsOf(own, accepted, { cellKey: cell.key, metric }, judged);
    const baseline = all[history.nights.indexOf(baselinePlace ?? -1)];
    const newest = history.nights.at(-1) ?? -1;
    // A named baseline is the reference of what is judged, whatever was accepted since.
    if (baseline !== undefined && newest !== baselinePlace)
      byPlace.set(newest, { ...byPlace.get(newest), reference: timesOf(baseline) });
    // The level at the merge base is what a pull request is compared with.
    else if (baseSweeps !== null) byPlace.set(baseSweeps, { accept: true });
    return byPlace;
  });
  const runs = cells.map(({ measured: { history, runs: all } }) => {
    let next = 0;
    return (place: number): readonly number[] | null => {
      if (history.nights[next] !== place) return null;
      return timesOf(all[next++] ?? []);
    };
  });
  const isNewest = new Set(cells.map(({ measured }) => measured.history.nights.at(-1)));
  let judgements: readonly (CellJudgement | null)[] = cells.map(() => null);
  for (let place = 0; place <= judged; place += 1) {
    const sweep = [runs.map((valuesAt) => valuesAt(place)), controls.map((own) => own.get(place))] as const;
    const before = judgements;
    if (isNewest.has(place)) judgements = judge.step(...sweep).map((one, index) => one ?? before[index] ?? null);
    else judge.learn(...sweep);
  }
  return judgements;
}

/**
 * By place. What is acknowledged is the reference from the next sweep on; of the judged sweep nothing is known yet.
 * @param own findings of the cell
 */
function controlsOf(
  own: readonly PlacedFinding[],
  accepted: ReadonlySet<string>,
  cell: Pick<FindingCell, 'cellKey' | 'metric'>,
  judged: number,
): Map<number, Control> {
  const controls = new Map<number, Control>();
  for (const { finding, lastPlace, place } of own) {
    // The machine was slow, or pairs took back what was chance: no part of a level.
    if (finding.cause !== 'machine' && finding.pairs?.outcome !== 'cleared') continue;
    for (let at = Math.max(0, place); at <= Math.min(lastPlace, judged - 1); at += 1)
      controls.set(at, { exclude: true });
  }
  for (const { finding, reportedPlace } of own) {
    const isAccepted = accepted.has(finding.findingId) && cellIn(finding, cell) !== undefined;
    if (isAccepted) controls.set(reportedPlace + 1, { accept: true });
  }
  return controls;
}

function stateOf(metric: GatedMetricId, judgement: CellJudgement, place: number): MetricState {
  const valueOf = (log: number): number => Math.exp(gatedMetricOf(metric).betterIs === 'lower' ? log : -log);
  const { change, reference } = judgement;
  return { ...judgement, before: valueOf(reference.log), now: valueOf(reference.log + change.log), place };
}
