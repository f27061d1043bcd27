import type { JudgedCell } from '../../judge/gate/evidence.ts';
import { isColdStart } from '../../records/harness.ts';
import type { CellRun } from '../../records/run.ts';
import { type KeyedCell, cellLabel } from '../../records/cell.ts';
import type { Environment } from '../../records/environment.ts';
import { median } from '../../statistics/order-statistics.ts';
import { type CustomMetricId, isCustomMetric, type MetricId } from '../../records/metric.ts';
import { gatedMetricOf } from '../../records/gated-metric.ts';
import type { Sweep } from '../../records/sweep.ts';
import { failureSentences, ineligibleFlags, FLAG_LABELS, isIneligible } from '../../records/outcome.ts';
import { formatNumber, formatPercent } from '../../terminal/numbers.ts';
import { type CheckedFinding, verdictText } from '../check/index.ts';
import type { ComparedCell } from '../compare/index.ts';
import type { CommonShift, GeometricMean, Verdict } from '../../records/verdict.ts';

/** The verdict on a cell: `compared` with another side, `judged` by the gate, or neither. */
export type CellJudgement = JudgementFacts &
  (
    | { readonly kind: 'values'; readonly verdict: null }
    | { readonly kind: 'compared' | 'judged'; readonly verdict: Verdict | JudgedCell['verdict'] }
  );

interface JudgementFacts extends Pick<JudgedCell, 'reason' | 'changePercent' | 'ciPercent' | 'mdePercent'> {
  /** Null for the metric of the cell. */
  readonly metric: JudgedCell['metric'] | null;
  /** Value of the base, or the reference level. */
  readonly base: number | null;
  readonly head: number | null;
  readonly reasons: readonly string[];
  readonly cause: ComparedCell['cause'];
  /** Present findings of the gate in its metric. */
  readonly findings: readonly Pick<CheckedFinding, 'id' | 'state' | 'isWarning'>[];
}

export const NOT_JUDGED = {
  kind: 'values',
  verdict: null,
  reason: null,
  metric: null,
  base: null,
  head: null,
  changePercent: null,
  ciPercent: null,
  mdePercent: null,
  reasons: [],
  cause: null,
  findings: [],
} as const satisfies CellJudgement;

export interface ReportedCell {
  readonly cell: KeyedCell;
  /** Label of the cell, with the start of its key if labels collide. Not safe to print. */
  readonly name: string;
  readonly metric: MetricId;
  /** The owner of the cell according to the matrix; null if there is none. */
  readonly owner: string | null;
  /** In order of measurement. */
  readonly runs: readonly CellRun[];
  readonly judgement: CellJudgement;
  /** Values of the last sweeps, oldest first, including this one. */
  readonly recent: readonly number[];
}

export interface ReportedGate {
  readonly headline: string;
  /** Findings that affect the exit code, one line each, new ones first. Not safe to print. */
  readonly findings: readonly (Pick<CheckedFinding, 'id' | 'state'> & { readonly text: string })[];
}

/** The data of every report file. */
export interface ReportedSweep {
  /** Newest first. */
  readonly sweeps: readonly [Sweep, ...Sweep[]];
  readonly ref: string;
  /** Null without a comparison of two sides. */
  readonly baseRef: string | null;
  readonly baseSweep: Sweep | null;
  readonly shift: CommonShift | null;
  /** Over all cells; null without a comparison, or with several metrics. */
  readonly geometricMean: GeometricMean | null;
  readonly notes: readonly string[];
  /** The answer of the gate for the sweep; null if two sides were named. */
  readonly gate: ReportedGate | null;
  readonly cells: readonly ReportedCell[];
  readonly environments: ReadonlyMap<string, Environment>;
}

/** What is in the times of trtexec; null with a cell of another harness, whose times may contain anything. */
export function insideTimes(cells: readonly Pick<ReportedCell, 'cell'>[]): string | null {
  const isOther = ({ cell }: Pick<ReportedCell, 'cell'>): boolean => cell.harness !== undefined && !isColdStart(cell);
  return cells.length === 0 || cells.some(isOther) ? null : 'inference only: no pre- or post-processing';
}

export function uniqueNames(cells: readonly KeyedCell[]): Map<string, string> {
  const byLabel = Map.groupBy(cells, cellLabel);
  return new Map(
    cells.map((cell) => {
      const label = cellLabel(cell);
      const isAlone = byLabel.get(label)?.length === 1;
      return [cell.key, isAlone ? label : `${label} ${cell.key.slice(0, 8)}`];
    }),
  );
}

type WithRuns = Pick<ReportedCell, 'runs'>;

export function measuredRuns({ runs }: WithRuns): CellRun[] {
  return runs.filter(({ outcome }) => outcome.kind === 'measured');
}

/** Why the values are excluded from baselines and from the best: `upper bound, invalid output`. Mostly empty. */
export function marksOf({ runs }: WithRuns): string {
  const ids = runs.flatMap(({ flags }) => ineligibleFlags(flags).map(({ id }) => FLAG_LABELS[id]));
  return [...new Set(ids)].join(', ');
}

/** The report without excluded runs, for tools that keep their own histories. */
export function withoutIneligible(report: ReportedSweep): ReportedSweep {
  const cells = report.cells.map((cell) => ({ ...cell, runs: cell.runs.filter(({ flags }) => !isIneligible(flags)) }));
  return { ...report, cells };
}

/** Metrics of other harnesses in any of the runs. Their names carry unit and direction. */
export function harnessMetrics(cells: readonly WithRuns[]): CustomMetricId[] {
  const names = cells.flatMap(({ runs }) => runs.flatMap(({ values }) => Object.keys(values)));
  return [...new Set(names.filter(isCustomMetric))];
}

/** Median over the measured runs; null if none has the metric. */
export function valueOf(cell: WithRuns, metric: MetricId): number | null {
  return median(measuredRuns(cell).flatMap(({ values }) => values[metric] ?? []));
}

export type ReportRow = ReturnType<typeof rowsOf>[number];

/** What every format says of each cell. */
export function rowsOf({ cells, environments }: ReportedSweep) {
  const rows = cells.map((cell) => judgedRow(cell, environments));
  return rows.map((row) => ({ ...row, message: messageOf(row) }));
}

function judgedRow(cell: ReportedCell, environments: ReportedSweep['environments']) {
  // The GPU of its newest measured run, else of its newest run.
  const run = measuredRuns(cell).at(-1) ?? cell.runs.at(-1);
  const { findings, kind, metric, verdict } = cell.judgement;
  const fails = kind === 'compared' || findings.some(({ isWarning }) => !isWarning);
  return {
    // The judgement may have fields of the same names, such as `runs`.
    ...cell.judgement,
    ...cell,
    status: statusOf(cell),
    word: verdictText(cell.judgement),
    metric: gatedMetricOf(metric ?? cell.metric),
    /** The cell is slower, and that affects the exit code. */
    isRegression: verdict === 'slower' && fails,
    reasonsText: reasonsOf(cell),
    value: valueOf(cell, cell.metric),
    gpu: environments.get(run?.environmentId ?? '')?.gpuName ?? null,
  };
}

/** The status in the words of its judgment. `failed` also when nothing ran, such as without an engine. */
export function statusOf(cell: ReportedCell) {
  const { reason, verdict } = cell.judgement;
  if (verdict === null) return measuredRuns(cell).length > 0 ? 'measured' : 'failed';
  return reason ?? (verdict === 'noResult' ? 'failed' : verdict);
}

/** `slower: GPU compute time +5.0 % (2.000 → 2.100 ms)` */
function messageOf(row: ReturnType<typeof judgedRow>): string {
  const { base, changePercent, head, kind, metric, reasonsText: reasons, value, word } = row;
  const { label, unit } = metric;
  if (kind !== 'values' && base !== null && head !== null) {
    return `${word}: ${label} ${formatPercent(changePercent)} (${formatNumber(base)} → ${formatNumber(head)} ${unit})`;
  }
  if (value === null) return `no result${reasons === '' ? '' : `: ${reasons}`}`;
  const text = `${label} ${formatNumber(value)} ${unit}`;
  return word === '' || word === 'new' ? text : `${word}: ${text}${reasons === '' ? '' : ` (${reasons})`}`;
}

function reasonsOf(cell: ReportedCell): string {
  const judged = cell.judgement.reasons;
  const own = failureSentences(cell.runs.map(({ outcome }) => outcome));
  const all = [...new Set([...judged, ...own.filter((text) => !judged.some((other) => other.endsWith(text)))])];
  return all.length === 0 && cell.runs.length === 0 ? 'no run' : all.join('; ');
}
