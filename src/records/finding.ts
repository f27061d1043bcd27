import type { MetricId } from './metric.ts';
import type { Provenance } from './provenance.ts';

/**
 * What becomes of a change that was told: `new` on the night of telling, `open` while later nights confirm it,
 * `withdrawn` when they do not, `recovered` when the old level is back, `accepted` while somebody says that it may stay.
 */
export const FINDING_STATES = ['new', 'open', 'withdrawn', 'recovered', 'accepted'] as const;

export type FindingState = (typeof FINDING_STATES)[number];

/** A lasting change of one cell, as it was told. */
export interface Finding {
  /** A hash of what it is about: the same finding has the same id in every store. */
  readonly findingId: string;
  readonly cellKey: string;
  readonly metric: MetricId;
  readonly provenance: Provenance;
  readonly branch: string | null;
  readonly matrix: string | null;
  readonly direction: 'slower' | 'faster';
  /** Raw change of the value, in percent. */
  readonly changePercent: number;
  /** How clear it was when it was told: 1 is the least. */
  readonly margin: number;
  /** The levels, in the unit of the metric. */
  readonly before: number;
  readonly after: number;
  /** The last sweep at the old level, and the first at the new one. */
  readonly lastGoodSweepId: string | null;
  readonly firstBadSweepId: string;
  /** The sweep after which it was told. */
  readonly toldSweepId: string;
  readonly state: FindingState;
}

/** Somebody says that a finding may stay, for a time. */
export interface Acknowledgement {
  readonly findingId: string;
  readonly reason: string;
  /** A date (2026-12-31) or a full commit id; null: for good. */
  readonly until: string | null;
  /** The level when it was accepted, in the unit of the metric: much worse is another matter. */
  readonly level: number;
  readonly createdAt: string;
}
