/** The tools from the coarse to the fine: each is worth its time when the one before has said where to look. */
export const PROFILERS = ['trtexec', 'nsys', 'ncu'] as const;

export type Profiler = (typeof PROFILERS)[number];

/** What one tool would say of a run, and how to ask it. */
export interface Rung {
  readonly tool: Profiler;
  readonly state: 'done' | 'next' | 'later';
  /** What it answers, or what it has answered. */
  readonly says: string;
  /** Of bench; null where it has none. */
  readonly bench: readonly string[] | null;
  /** The tool's own command lines, in their order; none where nothing says how the run was called. */
  readonly commands: readonly (readonly string[])[];
}

export interface ExplainedStored {
  readonly runId: string;
  readonly label: string | null;
  readonly provenance: string;
  /** What the run says, in words. */
  readonly findings: readonly string[];
  /** None when the run measured nothing. */
  readonly ladder: readonly Rung[];
}
