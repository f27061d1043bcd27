/** What may have made a number another. */
export const CAUSE_KINDS = [
  'tactics',
  'fusion',
  'precision',
  'engineBuild',
  'clocks',
  'powerLimit',
  'thermal',
  'enqueueBound',
  'hostBound',
  'transfers',
  'graphNotCaptured',
  'contention',
  'environment',
  'model',
  'options',
  'inputs',
] as const;

export type CauseKind = (typeof CAUSE_KINDS)[number];

/** `shown`: the evidence itself shows it; `likely`: it fits in size; `possible`: it changed, and could do it. */
export type Certainty = 'shown' | 'likely' | 'possible';

export interface Cause {
  readonly kind: CauseKind;
  readonly certainty: Certainty;
  /** A few words, for a column of a table. */
  readonly title: string;
  readonly evidence: readonly string[];
  /** Share of the change that the evidence accounts for, in percent; null where it cannot be counted. */
  readonly explainsPercent: number | null;
  /** What would confirm it, or the command that does. */
  readonly confirm: string;
  /** How strongly it is suspected, beside the others: 100 for what is shown and accounts for everything. */
  readonly rank: number;
}

/** What is asked about: the value that changed. */
export const EXPLAINED_METRICS = [
  'gpuComputeMs',
  'throughputQps',
  'latencyMs',
  'gpuComputeMeanMs',
  'enqueueMs',
] as const;

export type ExplainedMetric = (typeof EXPLAINED_METRICS)[number];

export interface ValueChange {
  readonly metric: ExplainedMetric;
  readonly base: number;
  readonly head: number;
  readonly changePercent: number;
  readonly ciPercent: readonly [number, number] | null;
  readonly runs: readonly [number, number];
  /** Larger than chance makes it. */
  readonly isReal: boolean;
  /** The runs scatter so much that it may be real, or nothing. */
  readonly isUnclear: boolean;
  /** The smallest change that would count with these runs, in percent, and what says so. */
  readonly leastPercent: number;
  readonly basis: string;
}

export type Explanation =
  | {
      /** `unclear`: the change may be chance; the causes are what would explain it. */
      readonly kind: 'explained' | 'notExplained' | 'unclear';
      readonly change: ValueChange;
      readonly changes: readonly ValueChange[];
      /** The likeliest first; none when nothing explains it. */
      readonly causes: readonly Cause[];
      readonly same: readonly string[];
      readonly unknown: readonly string[];
      readonly notes: readonly string[];
    }
  | {
      readonly kind: 'noDifference';
      readonly changes: readonly ValueChange[];
      /** What did change, without any effect that is seen. */
      readonly causes: readonly Cause[];
      readonly same: readonly string[];
      readonly unknown: readonly string[];
      readonly notes: readonly string[];
    };

/** The likeliest cause in short, as lists of many cells show it. */
export type FirstCause = Pick<Cause, 'kind' | 'certainty' | 'title' | 'explainsPercent'>;

/** Null when there is nothing to explain, or nothing that explains it. */
export function firstCause(explanation: Explanation | null): FirstCause | null {
  if (explanation === null || explanation.kind === 'noDifference') return null;
  const [cause] = explanation.causes;
  if (cause === undefined) return null;
  const { kind, certainty, title, explainsPercent } = cause;
  return { kind, certainty, title, explainsPercent };
}
