import type { RunMark } from '../records/run-flag.ts';

/** What two sides of every cell are measured for: A as it is, B with variables of the environment set. */
export interface AbExperiment {
  readonly name: string;
  /** Set in B. */
  readonly variables: Readonly<Record<string, string>>;
  /** What each of them is in A: null where it is not set. */
  readonly before: Readonly<Record<string, readonly (string | null)[]>>;
  /** B has to be better by more than this for a bottleneck. */
  readonly significantPercent: number;
  /** As it was named, which only the store understands; null: what each cell is judged by. */
  readonly metric: string | null;
  /** Of the runs of B. */
  readonly marks: readonly RunMark[];
  /** Keys of the cells. */
  readonly pairs: readonly { readonly a: string; readonly b: string }[];
  /** What a person should know when reading it. */
  readonly notes: readonly string[];
}
