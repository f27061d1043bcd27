import type { Finding } from '../../records/finding.ts';
import { type GatedMetricId, gatedMetricOf } from '../../records/gated-metric.ts';
import type { CellKey, SweepId } from '../../records/scalars.ts';
import { median } from '../../statistics/order-statistics.ts';
import { geometricMean } from '../geometric-mean.ts';
import type { CellJudgement } from '../sweep/judged-cell.ts';
import { type Control, matrixJudge } from '../sweep/matrix-judge.ts';
import { cellWords } from './cell-words.ts';
import type { CellEvidence, JudgedCell, MetricHistory, SweepEvidence } from './evidence.ts';
import { cellIn, changePercentOf, idOf, isMostlyLeft, isSteady, rawChange, type About } from './metric-changes.ts';

export interface Measured extends MetricHistory {
  readonly cellKey: CellKey;
  readonly of: CellEvidence;
  /** True for the cell's own metric, which is shown. */
  readonly isOwn: boolean;
  /** Index of the baseline in the history; -1 without one. */
  readonly baseline: number;
  /** Its value in the judged sweep; null without one. */
  readonly value: number | null;
  /** As of its newest sweep, and of the judged one if it has a value there; null for a metric that hardly varies. */
  newest: MetricState | null;
  state: MetricState | null;
}

/** For a metric with higher values better, logs are of 1 / value, so that above 0 is worse. */
export interface MetricState extends CellJudgement {
  /** In the unit of the metric; `now` is the level of the newest sweeps that agree with the judged one. */
  readonly before: number;
  readonly now: number;
  readonly place: number;
}

/** Standard deviation of a sweep on the log scale: a p99 is 10 % higher in one of 44 short runs. */
const TYPICAL_SD: Readonly<Partial<Record<GatedMetricId, number>>> = { p99Ms: 0.01 };

export type JudgedFacts = ReturnType<typeof judgedFacts>;

/** Facts for judging a sweep: judges every metric that varies from run to run, over all sweeps in order. */
export function judgedFacts(evidence: SweepEvidence) {
  const { acknowledged, baselinePlace, cells, findings, sweeps } = evidence;
  const sweep = sweeps.at(-1);
  if (sweep === undefined) throw new Error('no sweep to judge');
  const judged = sweeps.length - 1;
  const places = new Map(sweeps.map(({ sweepId }, place) => [sweepId, place]));
  const placeOf = (sweepId: SweepId | null): number => places.get(sweepId ?? '') ?? -1;
  const all = cells.flatMap((of) =>
    of.metrics.map((one, index): Measured => {
      const { history } = one;
      const value = history.places.at(-1) === judged ? (history.values.at(-1) ?? null) : null;
      const baseline = history.places.indexOf(baselinePlace ?? -1);
      return { ...one, cellKey: of.cell.key, of, isOwn: index === 0, baseline, value, newest: null, state: null };
    }),
  );
  const byId = new Map(all.map((one) => [idOf(one), one]));
  const measured = (about: About): Measured | undefined => byId.get(idOf(about));
  const facts = {
    evidence,
    /** The judged sweep, and its index. */
    sweep,
    judged,
    // This judgment reports the findings of an earlier judgment of the same sweep again, by their IDs.
    /** Changes that earlier sweeps reported. Excludes broken limits, which do not show where a level began. */
    known: findings.filter(({ kind, reportedSweepId: id }) => kind !== 'limit' && id !== sweep.sweepId),
    accepted: new Set([...acknowledged].flatMap(([id, { isOver }]) => (isOver ? [] : [id]))),
    words: cellWords(evidence),
    /** Every metric of every cell. */
    all,
    measured,
    placeOf,
    /** Whether the history of a metric began after a finding, with another TensorRT or clock lock: it says nothing of it. */
    isOfOtherMachine: ({ firstBadSweepId }: Finding, about: About): boolean => {
      const place = placeOf(firstBadSweepId);
      return place !== -1 && place < (measured(about)?.history.places[0] ?? 0);
    },
  };
  const noisy = all.filter((one) => isJudged(one) && one.history.values.every((value) => value > 0));
  for (const [metric, own] of Map.groupBy(noisy, (one) => one.metric)) judgeMetric(metric, own, noisy.length, facts);
  return facts;
}

function judgeMetric(metric: GatedMetricId, cells: readonly Measured[], judgedTogether: number, facts: JudgedFacts) {
  const { betterIs } = gatedMetricOf(metric);
  const timesOf = (values: readonly number[]): readonly number[] =>
    betterIs === 'lower' ? values : values.map((value) => 1 / value);
  const valueOf = (log: number): number => Math.exp(betterIs === 'lower' ? log : -log);
  const words = cells.map(({ cellKey }) => facts.words.of(cellKey));
  const judge = matrixJudge(words, judgedTogether, TYPICAL_SD[metric]);
  const controls = cells.map((one) => controlsOf(one, timesOf, facts));
  const isNewest = new Set(cells.map(({ history }) => history.places.at(-1)));
  const bySweep = facts.evidence.sweeps.map(() => cells.map((): readonly number[] | null => null));
  for (const [index, { history, runsAt }] of cells.entries())
    for (const [at, place] of history.places.entries()) bySweep[place]?.splice(index, 1, timesOf(runsAt(at)));
  for (const [place, runs] of bySweep.entries()) {
    const said = controls.map((own) => own.get(place));
    for (const [index, judgement] of judge(runs, said, isNewest.has(place)).entries()) {
      const one = cells[index];
      if (judgement === null || one === undefined) continue;
      const { change, reference } = judgement;
      const levels = { before: valueOf(reference.log), now: valueOf(reference.log + change.log) };
      one.newest = { ...judgement, ...levels, place };
      if (place === facts.judged) one.state = one.newest;
    }
  }
}

function controlsOf(
  { baseline, cellKey, history: { places }, metric, runsAt }: Measured,
  timesOf: (values: readonly number[]) => readonly number[],
  { accepted, evidence: { isPullRequest }, judged, known, placeOf }: JudgedFacts,
): Map<number, Control> {
  const own = known.filter(({ cells }) => cells.some((cell) => cell.cellKey === cellKey));
  const controls = new Map<number, Control>();
  for (const finding of own) {
    // A sweep on a slow machine, or one that pairs cleared, belongs to no level.
    if (finding.cause !== 'machine' && finding.pairs?.outcome !== 'cleared') continue;
    const first = placeOf(finding.firstBadSweepId);
    const last = Math.max(first, placeOf(finding.lastBadSweepId));
    for (let place = Math.max(0, first); place <= Math.min(last, judged - 1); place += 1)
      controls.set(place, { exclude: true });
  }
  const reports = own.filter((finding) => cellIn(finding, { cellKey, metric }) !== undefined);
  const waiting = reports.filter((one) => one.state === 'open' && !accepted.has(one.findingId));
  for (const { direction, findingId, reportedSweepId } of reports) {
    const place = placeOf(reportedSweepId);
    // The reference is the level before the first finding that is not acknowledged.
    const isWaiting = waiting.some((one) => one.direction === direction && placeOf(one.reportedSweepId) < place);
    if (accepted.has(findingId) && !isWaiting) controls.set(place + 1, { accept: true });
  }
  const newest = places.at(-1) ?? -1;
  // A named baseline is the reference of the judged sweep, regardless of later acknowledgements.
  if (baseline !== -1) controls.set(newest, { ...controls.get(newest), reference: timesOf(runsAt(baseline)) });
  // A pull request is compared with the level at its merge base.
  else if (isPullRequest) controls.set(judged, { accept: true });
  return controls;
}

/** With several streams, times overlap and say little. */
function isJudged({ isOwn, metric, of }: Measured): boolean {
  return !isSteady(metric) && (isOwn || of.cell.streams === 1 || gatedMetricOf(metric).unit !== 'ms');
}

const LEVEL_SWEEPS = 7;

export function judgedCell(asked: About, facts: JudgedFacts, findings: readonly Finding[]): JudgedCell | null {
  const measured = facts.measured(asked);
  if (measured === undefined || !(isSteady(measured.metric) || isJudged(measured))) return null;
  const { baseline, cellKey, history, metric, newest: state, of, runsAt } = measured;
  const values = [...history.values];
  const isMeasured = measured.value !== null || (of.isLeftOut === true && values.length > 0);
  const runs = isMeasured ? runsAt(values.length - 1).length : 0;
  const unknown = { before: null, now: null, changePercent: null, ciPercent: null, mdePercent: null, levels: null };
  const about = { reason: null, ...unknown, referenceSweeps: 0, notes: [], cellKey, metric, runs };
  const own = findings.filter((one) => cellIn(one, about) !== undefined && !facts.isOfOtherMachine(one, about));
  const open = own
    .filter((finding) => finding.state === 'open')
    .toSorted((a, b) => facts.placeOf(b.reportedSweepId) - facts.placeOf(a.reportedSweepId));
  const marks = open.filter(({ findingId }) => !facts.accepted.has(findingId));
  const mark = marks.find(({ direction }) => direction === 'slower') ?? marks[0];
  const marked = mark === undefined ? undefined : cellIn(mark, about);
  const accepted = mark === undefined && open[0] !== undefined ? cellIn(open[0], about) : undefined;
  if (!isMeasured) {
    if (of.isLeftOut === true) return null;
    const before = accepted?.after ?? state?.before ?? median(values.slice(-LEVEL_SWEEPS));
    return { ...about, verdict: 'noResult', reason: of.isPlanned ? 'failed' : 'missing', before, notes: of.failures };
  }
  const value = values.at(-1) ?? null;
  if (value === null || values.length === 1) return { ...about, verdict: 'unclear', reason: 'new', now: value };
  const small = facts.evidence.rules.minChangeOf(cellKey, metric);
  // A change below the smallest relevant change counts as the same level.
  const verdictOf = (verdict: JudgedCell['verdict'], changePercent: number): JudgedCell['verdict'] =>
    Math.abs(changePercent) < small && (verdict === 'slower' || verdict === 'faster') ? 'same' : verdict;
  if (state === null) {
    // The verdict on a metric that hardly varies follows from its findings.
    const before = history.values[baseline] ?? marked?.before ?? median(values.slice(-1 - LEVEL_SWEEPS, -1)) ?? value;
    const changePercent = changePercentOf(metric, { before, after: value });
    const verdict = verdictOf(mark?.direction ?? 'same', changePercent);
    return { ...about, verdict, before, now: value, changePercent };
  }
  const { change, detectable, farRuns, levels, now, reference, verdict } = state;
  // If pairs cleared a finding, the verdict of the sweep's runs does not hold.
  const isCleared = own.some(({ direction, pairs }) => pairs?.outcome === 'cleared' && direction === verdict);
  const before = accepted?.after ?? state.before;
  const sign = gatedMetricOf(metric).betterIs === 'lower' ? 1 : -1;
  const raw = rawChange(metric, accepted === undefined ? change.log : sign * Math.log(now / before), change.reach);
  // A cell of an open finding may be back before the others.
  const found = marked !== undefined && isMostlyLeft(marked, now) ? mark?.direction : undefined;
  const said = accepted === undefined ? (found ?? (isCleared ? 'same' : verdict)) : 'same';
  const mdePercent = 100 * Math.expm1(detectable);
  const both = levels === null ? null : ([Math.exp(sign * levels[0]), Math.exp(sign * levels[1])] as const);
  const isAtOther = both !== null && said === 'same' && Math.abs(change.log) > change.reach;
  const [one, other, at] = [...(both ?? []), now].map((level) => Number(level.toPrecision(4)));
  return {
    ...about,
    ...raw,
    verdict: verdictOf(said, raw.changePercent),
    before,
    now,
    mdePercent,
    levels: both,
    referenceSweeps: reference.sweeps,
    notes: [
      said === 'unclear' && farRuns === 0 && `detectable from ${Number(mdePercent.toPrecision(2))} %`,
      farRuns > 0 && `${farRuns} of ${runs} runs far outside the expected range`,
      isAtOther && `two levels, ${one} and ${other} ${gatedMetricOf(metric).unit}; now at ${at}`,
    ].filter((note) => note !== false),
  };
}

/** Geometric mean of the judged sweep over the reference levels that `check` compares with. */
export function meanChange(cells: readonly JudgedCell[], commonSdOf: (cell: JudgedCell) => number) {
  const byMetric = Map.groupBy(cells, ({ metric }) => metric);
  const [most = []] = [...byMetric.values()].toSorted((a, b) => b.length - a.length);
  const ratios = cells.map((cell) => {
    const { before, ciPercent, now } = cell;
    if (!most.includes(cell) || !before || !now) return { logRatio: null, noise: null };
    const [low, high] = ciPercent ?? [Number.NaN, Number.NaN];
    // A 95 % interval of the normal distribution reaches 1.96 sd to each side.
    const sd = Math.log((100 + high) / (100 + low)) / 2 / 1.96;
    const noise = ciPercent === null ? null : { variance: sd ** 2, degrees: Infinity };
    return { logRatio: Math.log(now / before), noise };
  });
  const sweeps = Math.max(1, median(most.map(({ referenceSweeps }) => referenceSweeps)) ?? 1);
  const variance = Math.max(...most.map(commonSdOf)) ** 2 * (1 + 1 / sweeps);
  return geometricMean(ratios, { variance, degrees: Infinity });
}
