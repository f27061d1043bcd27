import type { KeyedCell } from '../../records/cell.ts';
import { cellLabel } from '../../text/cell-label.ts';
import type { Metric } from '../../records/metric.ts';
import type { Provenance } from '../../records/provenance.ts';
import type { CellComparison } from '../../records/verdict.ts';

export interface BisectedEnd {
  /** As it was asked for. */
  readonly ref: string | null;
  readonly commit: string | null;
  readonly subject: string | null;
  readonly sweepId: string;
}

export interface BisectedStep {
  /** The commit, or the factors at their bad value. */
  readonly candidate: readonly string[];
  readonly subject: string | null;
  readonly verdict: 'good' | 'bad' | 'unclear' | 'broken';
  readonly reason: string | null;
  /** Against the good end. */
  readonly comparison: CellComparison | null;
  readonly sweepId: string;
}

export interface BisectedCause {
  readonly name: string;
  readonly subject: string | null;
  readonly comparison: CellComparison | null;
}

export interface BisectReport {
  readonly kind: 'commits' | 'factors';
  readonly status: 'found' | 'range' | 'together' | 'notSlower' | 'unclear' | 'failed';
  readonly bisectId: string;
  readonly cell: KeyedCell | null;
  readonly metric: Metric;
  readonly provenance: Provenance | null;
  readonly good: BisectedEnd;
  readonly bad: BisectedEnd;
  /** The bad end against the good one. */
  readonly change: CellComparison | null;
  /** One when it was found. */
  readonly causes: readonly BisectedCause[];
  readonly steps: readonly BisectedStep[];
  /** All runs, those of the ends too. */
  readonly runs: number;
  readonly notes: readonly string[];
}

export function bisectJson(report: BisectReport) {
  const { cell, metric, change, causes, steps, ...rest } = report;
  return {
    schemaVersion: 1,
    ...rest,
    key: cell?.key ?? null,
    label: cell === null ? null : cellLabel(cell),
    metric: metric.id,
    unit: metric.unit,
    betterIs: metric.betterIs,
    change: evidenceJson(change),
    causes: causes.map(({ comparison, ...cause }) => ({ ...cause, evidence: evidenceJson(comparison) })),
    steps: steps.map(({ comparison, ...step }) => ({ ...step, evidence: evidenceJson(comparison) })),
  };
}

function evidenceJson(comparison: CellComparison | null) {
  if (comparison === null) return null;
  const { base, head, changePercent, ciPercent, mdePercent, runs } = comparison;
  return { base, head, changePercent, ciPercent, mdePercent, runs };
}
