import { NO_KERNELS } from '../../layers/diff-layers.ts';
import { EXPLAINED_METRICS, explainedMetricOf } from '../../records/cause.ts';
import type { Cause, ExplainedMetric, FirstCause, ValueChange } from '../../records/cause.ts';
import type { KeyedCell } from '../../records/cell.ts';
import type { MetricId } from '../../records/metric.ts';
import type { SweepId } from '../../records/scalars.ts';
import { changedConditions, layerCauses, otherChangedLayers, sameEngine } from './engine-causes.ts';
import { LAYER_DIFF, type CauseDetector, contextOf, diffCommand, newest } from './context.ts';
import { type WhySides, whySides } from './why-sides.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { OF_MACHINE } from './machine-causes.ts';
import { isCalled } from '../../records/verdict.ts';
import { compareCells } from '../../judge/compare/compare-cells.ts';
import { meanLog, percentOfLog } from '../../statistics/special-functions.ts';
import { median } from '../../statistics/order-statistics.ts';

/** To add a cause, add its detector here or to the machine, its rank in `context.ts`, its kind in `records/cause.ts`. */
const DETECTORS: readonly CauseDetector[] = [...OF_MACHINE, layerCauses, changedConditions];

/** A cause with a lower rank is not named. */
const LEAST_RANK = 12;

/**
 * The likeliest causes in order: those that explain most of the change, then changed conditions. Says when the change
 * may be chance, or when no known cause explains it.
 * @param isKnownReal true if the caller judged the change with more cells or sweeps
 * @param metric null for the first that changed: GPU compute time before throughput and latency
 */
export function explainChange(sides: WhySides, metric: ExplainedMetric | null, isKnownReal = false) {
  const changes = valueChanges(sides, metric ?? 'gpuComputeMs');
  const metricChanges = metric === null ? changes : changes.filter((change) => change.metric === metric);
  const [first] = metricChanges;
  if (first === undefined) return null;
  const real = metricChanges.filter((change) => change.isReal || isKnownReal);
  const subject = subjectOf(metric === null ? real : real.slice(0, 1));
  const doubtful = subject ?? subjectOf(metricChanges.filter(({ isUnclear }) => isUnclear));
  const context = contextOf(sides, doubtful ?? first);
  const ranked = mechanismFirst(DETECTORS.flatMap((detect) => detect(context) ?? []))
    .filter(({ kind, rank }) => LAYER_KINDS.has(kind) || rank >= LEAST_RANK)
    .toSorted((a, b) => b.rank - a.rank);
  const found = doubtful === null ? changedConditions(context) : ranked;
  const diff = diffCommand(sides.names);
  const causes = found.map((cause) => ({ ...cause, confirm: cause.confirm.replace(LAYER_DIFF, () => diff) }));
  const explained = causes.length > 0 ? 'explained' : 'notExplained';
  const single = doubtful !== null && Math.min(...doubtful.runs) < 2 ? [doubtful.basis] : [];
  return {
    outcome: doubtful === null ? 'noDifference' : subject === null ? 'unclear' : explained,
    metric: doubtful?.metric ?? null,
    changes,
    causes,
    layers: otherChangedLayers(context, doubtful !== null),
    unknown: unknownThings(sides),
    notes: [...sides.notes, ...single],
  } as const;
}

/** Another value is explained instead of GPU time only if it changed by this factor more. */
const FAR_MORE = 2;
const FAR_MORE_LOG = 0.03;

/** GPU time, unless another value changed by far more. Host time alone is never explained. */
function subjectOf(changes: readonly ValueChange[]): ValueChange | null {
  const [first, ...others] = changes.length === 1 ? changes : changes.filter(({ metric }) => metric !== 'enqueueMs');
  if (first === undefined) return null;
  return others.find((other) => sizeOf(other) > FAR_MORE * sizeOf(first) + FAR_MORE_LOG) ?? first;
}

function sizeOf({ changePercent }: ValueChange): number {
  return Math.abs(Math.log1p(changePercent / 100));
}

const LAYER_KINDS = new Set(['tactics', 'fusion', 'precision']);
/** Causes of a different engine, whose effect layers show. */
const ENGINE_KINDS = new Set(['model', 'options', 'engineBuild']);

/**
 * If layers explain most of a change, the causes of a different engine (options or model) rank directly below them,
 * because they are behind the layers. A rebuild is not listed.
 */
function mechanismFirst(causes: readonly Cause[]): Cause[] {
  const ofLayers = causes.filter(({ kind }) => LAYER_KINDS.has(kind));
  const shown = ofLayers.reduce((sum, { explainsPercent }) => sum + (explainsPercent ?? 0), 0);
  if (shown < MOST_PERCENT) return [...causes];
  const lowest = Math.min(...ofLayers.map(({ rank }) => rank));
  return causes
    .filter(({ kind }) => kind !== 'engineBuild')
    .map((cause) =>
      ENGINE_KINDS.has(cause.kind) ? { ...cause, rank: Math.max(LEAST_RANK, Math.min(cause.rank, lowest - 1)) } : cause,
    );
}

const MOST_PERCENT = 50;

/** Facts that would help to explain the change. Layers of the same engine matter little. */
function unknownThings({ base, head, layers }: WhySides): string[] {
  const [was, is] = [newest(base), newest(head)];
  const isSame = was === null || is === null ? null : sameEngine(was.engine, is.engine);
  const isProfiled = layers !== null && layers.isTimed && layers.otherCell === null;
  const facts: readonly (readonly [isUnknown: boolean, what: string])[] = [
    [[...base, ...head].some(({ telemetry }) => telemetry === null), 'clocks and power during the runs'],
    [!isProfiled && isSame !== true, 'layer times of both sides (bench run --profile)'],
    [isSame === null, 'whether the engines are the same'],
    [(layers?.rows.unknown ?? null) !== null, `which kernels ran (${NO_KERNELS})`],
  ];
  return facts.flatMap(([isUnknown, what]) => (isUnknown ? [what] : []));
}

/**
 * Sweep-to-sweep difference of single runs without a cause, in percent. Source: the worst of 42 cells over three
 * recorded sweeps, 0.7 % with a CUDA graph and 3.8 % without.
 */
const ONE_RUN_PERCENT = { graph: 1, noGraph: 4 } as const;
/** Means are not robust, and host time depends on the host. */
const WILD_ONE_RUN_PERCENT: PercentOf = { gpuComputeMeanMs: 10, enqueueMs: 50 };
const WILD_PERCENT: PercentOf = { enqueueMs: 20 };
type PercentOf = Partial<Record<ExplainedMetric, number>>;
/** Smaller changes are never reported. */
const LEAST_PERCENT = 0.5;
/** An unclear change of this size is worth a note. */
const UNCLEAR_PERCENT = 2;

/** Changes with their significance. Omits values that a side lacks. */
function valueChanges({ base, head, cudaGraph }: WhySides, asked: ExplainedMetric): ValueChange[] {
  return [...new Set([...EXPLAINED_METRICS, asked])].flatMap((metric) => {
    const [a, b] = [base, head].map((runs) => runs.flatMap((run) => run[metric] ?? []).filter((value) => value > 0));
    return a?.length && b?.length ? [changeOf(metric, a, b, cudaGraph)] : [];
  });
}

function changeOf(metric: ExplainedMetric, base: readonly number[], head: readonly number[], cudaGraph: boolean) {
  const [was, is] = [median(base) ?? 0, median(head) ?? 0];
  const { betterIs } = explainedMetricOf(metric);
  const [compared] = compareCells([{ cellKey: metric, base, head, betterIs }]).cells;
  // The change that the interval is about, as in `bench compare`.
  const changePercent = compared?.changePercent ?? percentOfLog(meanLog(head) - meanLog(base));
  const size = Math.abs(changePercent);
  const common = { metric, base: was, head: is, changePercent, runs: [base.length, head.length] as const };
  if (Math.min(base.length, head.length) < 2) {
    const usual = cudaGraph ? ONE_RUN_PERCENT.graph : ONE_RUN_PERCENT.noGraph;
    const leastPercent = Math.max(usual, WILD_ONE_RUN_PERCENT[metric] ?? 0);
    const basis = `one run ${base.length === head.length ? 'per' : 'on one'} side: single runs ${cudaGraph ? 'with' : 'without'} a CUDA graph differ by up to ${leastPercent} % by chance`;
    return { ...common, isReal: size > leastPercent, ciPercent: null, isUnclear: false, leastPercent, basis };
  }
  const floor = Math.max(LEAST_PERCENT, WILD_PERCENT[metric] ?? 0);
  const isReal = compared !== undefined && isCalled(compared) && size >= floor;
  return {
    ...common,
    isReal,
    ciPercent: compared?.ciPercent ?? null,
    isUnclear: !isReal && compared?.verdict === 'unclear' && size >= Math.max(UNCLEAR_PERCENT, floor),
    leastPercent: Math.max(floor, compared?.mdePercent ?? 0),
    basis: `${base.length} + ${head.length} runs`,
  };
}

type SweepsOfSides = readonly [base: readonly SweepId[], head: readonly SweepId[]];

/** The likeliest cause of a judged change; null when nothing explains it. */
export function firstCauseOf(db: StoreDatabase, cell: KeyedCell, metric: MetricId, [base, head]: SweepsOfSides) {
  const point = { cell, runId: null, name: '' };
  const sides = whySides(db, { ...point, sweepIds: base }, { ...point, sweepIds: head });
  const explanation = explainChange(sides, metric, true);
  const [cause] = explanation === null || explanation.outcome === 'noDifference' ? [] : explanation.causes;
  if (cause === undefined) return null;
  const { kind, certainty, title, explainsPercent, gainedPercent } = cause;
  return { kind, certainty, title, explainsPercent, gainedPercent } satisfies FirstCause;
}
