import type { ExplainedRun } from '../../layers/explained-run.ts';
import { median } from '../../statistics/median.ts';
import type { RunFlagId } from '../../records/run-flag.ts';
import { type ClockReason } from '../../records/telemetry.ts';
import { outcomeReason } from '../../records/outcome.ts';
import type { LayersDiff } from '../../layers/diff-layers.ts';
import type { ChangeRows } from '../../layers/change-rows.ts';

export interface WhyLayers {
  readonly diff: LayersDiff;
  readonly rows: ChangeRows;
  /** The cells that the profiles are of, where those asked about have none: their times are those of other queries. */
  readonly otherCell: string | null;
  /** Share of the base's time in regions that show nothing of themselves. */
  readonly opaqueShare: number;
}

/** Two sides of one cell, with what is known of their runs and layers. */
export interface WhySides {
  readonly base: readonly ExplainedRun[];
  readonly head: readonly ExplainedRun[];
  readonly cudaGraph: boolean;
  /** Two different cells are built from different things by intent. */
  readonly isSameCell: boolean;
  /** What the two cells differ in, in words: `no-graph → graph`; empty for the same cell. */
  readonly cellDifference: string;
  /** Null where not both sides have a profile, or the engines are the same. */
  readonly layers: WhyLayers | null;
  /** Which side lacks a layer profile of its own, and why; none where both have one. */
  readonly missingProfiles: readonly { readonly text: string; readonly hasFailed: boolean }[];
  /** What makes the evidence less than it seems: a profile of another cell, runs that were disturbed. */
  readonly notes: readonly string[];
  /** What to write after `bench layers` to see more: the cell (empty for files) and the two sides. */
  readonly names: { readonly cell: string; readonly base: string; readonly head: string };
}

/** Median over the runs that know the value. */
export function medianOf(runs: readonly ExplainedRun[], value: (run: ExplainedRun) => number | null): number | null {
  return median(runs.flatMap((run) => value(run) ?? []));
}

/** Share of the runs, from 0 to 1. */
export function shareOf(runs: readonly ExplainedRun[], holds: (run: ExplainedRun) => boolean): number {
  return runs.length === 0 ? 0 : runs.filter(holds).length / runs.length;
}

export function hasFlag(run: ExplainedRun, flag: RunFlagId): boolean {
  return run.flags.some(({ id }) => id === flag);
}

export function isUnfitFor(run: ExplainedRun, reason: string): boolean {
  return run.outcome.kind === 'unfit' && outcomeReason(run.outcome) === reason;
}

/** Median share of the samples in which a reason held the clock down; null where nobody looked. */
export function reasonShare(runs: readonly ExplainedRun[], reasons: readonly ClockReason[]): number | null {
  return medianOf(runs, ({ telemetry }) =>
    telemetry === null || telemetry.samples === 0
      ? null
      : Math.max(...reasons.map((reason) => telemetry.clockReasons[reason] ?? 0)),
  );
}

/** The evidence lines of a flag, each once. */
export function evidenceOf(runs: readonly ExplainedRun[], flag: RunFlagId): string[] {
  return [
    ...new Set(runs.flatMap(({ flags }) => flags.filter(({ id }) => id === flag).map((one) => one.evidence))),
  ].slice(0, 2);
}

/** The newest run of a side stands for what does not differ between its runs. */
export function newest(runs: readonly ExplainedRun[]): ExplainedRun | null {
  return runs.at(-1) ?? null;
}
