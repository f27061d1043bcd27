import type { JudgedCell } from '../../judge/gate/evidence.ts';
import type { CellRun } from '../../records/run.ts';
import type { KeyedCell } from '../../records/cell.ts';
import { cellLabel } from '../../records/cell-label.ts';
import type { Environment } from '../../records/environment.ts';
import { median } from '../../statistics/order-statistics.ts';
import { type CustomMetricId, isCustomMetric, type MetricId } from '../../records/metric.ts';
import { ineligibleFlags, FLAG_LABELS, isIneligible } from '../../records/run-flag.ts';
import { gatedMetricOf } from '../../records/gated-metric.ts';
import type { Sweep } from '../../records/sweep.ts';
import { failureSentences } from '../../records/outcome.ts';
import { formatNumber, formatPercent } from '../../terminal/numbers.ts';
import { type CheckedFinding, verdictText } from '../check/index.ts';
import type { ComparedCell } from '../compare/index.ts';
import type { CommonShift, GeometricMean, Verdict } from '../../records/verdict.ts';

/** What is said of a cell besides its values: against another side, by the gate, or nothing. */
export type CellJudgement =
  | { readonly kind: 'values' }
  | ({ readonly kind: 'compared' } & Pick<
      ComparedCell,
      'verdict' | 'base' | 'head' | 'changePercent' | 'ciPercent' | 'mdePercent' | 'reasons' | 'cause'
    >)
  | ({
      readonly kind: 'judged';
      /** Reference level, and value of the sweep. */
      readonly base: number | null;
      readonly head: number | null;
      readonly reasons: readonly string[];
      /** Those that are there, in its metric. */
      readonly findings: readonly Pick<CheckedFinding, 'id' | 'state' | 'isWarning'>[];
    } & Pick<JudgedCell, 'verdict' | 'reason' | 'metric' | 'changePercent' | 'ciPercent' | 'mdePercent'>);

export interface ReportedCell {
  readonly cell: KeyedCell;
  /** Label of the cell; with the start of its key where labels collide. Not safe to print. */
  readonly name: string;
  readonly metric: MetricId;
  /** Who looks after it, as the matrix says; null for nobody. */
  readonly owner: string | null;
  /** In order. */
  readonly runs: readonly CellRun[];
  readonly judgement: CellJudgement;
  /** Of the last sweeps, oldest first, including this one. */
  readonly recent: readonly number[];
}

export interface ReportedGate {
  readonly headline: string;
  /** Those that make an exit code, new ones first, one line each. Not safe to print. */
  readonly findings: readonly (Pick<CheckedFinding, 'id' | 'state'> & { readonly text: string })[];
}

/** The data of every report file. */
export interface ReportedSweep {
  /** Newest first. */
  readonly sweeps: readonly [Sweep, ...Sweep[]];
  readonly ref: string;
  /** Null where no two sides are compared. */
  readonly baseRef: string | null;
  readonly baseSweep: Sweep | null;
  readonly shift: CommonShift | null;
  /** Over all cells; null where nothing is compared, or by several metrics. */
  readonly geometricMean: GeometricMean | null;
  readonly notes: readonly string[];
  /** What the gate says of the sweep; null where two sides were named. */
  readonly gate: ReportedGate | null;
  readonly cells: readonly ReportedCell[];
  readonly environments: ReadonlyMap<string, Environment>;
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

export function measuredRuns({ runs }: ReportedCell): CellRun[] {
  return runs.filter(({ outcome }) => outcome.kind === 'measured');
}

/** Why its values are excluded from baselines and from the best: `upper bound, invalid output`; mostly empty. */
export function marksOf({ runs }: Pick<ReportedCell, 'runs'>): string {
  const ids = runs.flatMap(({ flags }) => ineligibleFlags(flags).map(({ id }) => FLAG_LABELS[id]));
  return [...new Set(ids)].join(', ');
}

/** For tools with histories of their own: without excluded cells. */
export function withoutIneligible(report: ReportedSweep): ReportedSweep {
  const cells = report.cells.map((cell) => ({ ...cell, runs: cell.runs.filter(({ flags }) => !isIneligible(flags)) }));
  return { ...report, cells };
}

/** Metrics of other harnesses in any of the runs; names carry unit and direction. */
export function harnessMetrics(cells: readonly ReportedCell[]): CustomMetricId[] {
  const names = cells.flatMap(({ runs }) => runs.flatMap(({ values }) => Object.keys(values)));
  return [...new Set(names.filter(isCustomMetric))];
}

/** Median over measured runs; null when none has it. */
export function valueOf(cell: ReportedCell, metric: MetricId): number | null {
  return median(measuredRuns(cell).flatMap(({ values }) => values[metric] ?? []));
}

/** Of its newest measured run, else of any. */
export function environmentOf(cell: ReportedCell, environments: ReadonlyMap<string, Environment>): Environment | null {
  const run = measuredRuns(cell).at(-1) ?? cell.runs.at(-1);
  return run === undefined ? null : (environments.get(run.environmentId) ?? null);
}

/** In the words of its judgment; `failed` also when nothing ran, as without an engine. */
export function statusOf(cell: ReportedCell): Verdict | 'new' | 'measured' {
  const { judgement } = cell;
  if (judgement.kind === 'values') return measuredRuns(cell).length > 0 ? 'measured' : 'failed';
  if (judgement.kind === 'compared') return judgement.verdict;
  return judgement.reason ?? (judgement.verdict === 'noResult' ? 'failed' : judgement.verdict);
}

const NO_NUMBERS = { base: null, head: null, changePercent: null, ciPercent: null, mdePercent: null, reasons: [] };

/** What each format says of a cell. */
export function judgementOf(cell: ReportedCell) {
  const { judgement, metric } = cell;
  const status = statusOf(cell);
  const isJudged = judgement.kind === 'judged';
  const findings = isJudged ? judgement.findings : [];
  const fails = judgement.kind === 'compared' || findings.some(({ isWarning }) => !isWarning);
  return {
    ...NO_NUMBERS,
    ...judgement,
    status,
    word: isJudged ? verdictText(judgement) : judgement.kind === 'compared' ? judgement.verdict : '',
    metric: gatedMetricOf(isJudged ? judgement.metric : metric),
    findings,
    cause: judgement.kind === 'compared' ? judgement.cause : null,
    /** It is slower, and that makes an exit code. */
    isRegression: judgement.kind !== 'values' && judgement.verdict === 'slower' && fails,
  };
}

/** `slower: GPU compute time +5.0 % (2.000 → 2.100 ms)` */
export function messageOf(cell: ReportedCell): string {
  const { base, changePercent, head, kind, metric, word } = judgementOf(cell);
  const { label, unit } = metric;
  if (kind !== 'values' && base !== null && head !== null) {
    return `${word}: ${label} ${formatPercent(changePercent)} (${formatNumber(base)} → ${formatNumber(head)} ${unit})`;
  }
  const value = valueOf(cell, cell.metric);
  const reasons = reasonsOf(cell);
  if (value === null) return `no result${reasons === '' ? '' : `: ${reasons}`}`;
  const text = `${label} ${formatNumber(value)} ${unit}`;
  return word === '' || word === 'new' ? text : `${word}: ${text}${reasons === '' ? '' : ` (${reasons})`}`;
}

export function reasonsOf(cell: ReportedCell): string {
  const judged = judgementOf(cell).reasons;
  const own = failureSentences(cell.runs.map(({ outcome }) => outcome));
  const all = [...new Set([...judged, ...own.filter((text) => !judged.some((other) => other.endsWith(text)))])];
  return all.length === 0 && cell.runs.length === 0 ? 'no run' : all.join('; ');
}
