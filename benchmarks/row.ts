/** What a ratio should be; `atMost` where ours stands above the line (times, memory), `atLeast` for speeds. */
export type Target = { readonly atMost: number } | { readonly atLeast: number };

/** One line of the table: a ratio that was measured side by side, or why there is none. */
export type Row = Measured | NotMeasured;

interface Named {
  /** What was done, by us. */
  readonly what: string;
  /** What it is compared with. */
  readonly against: string;
}

interface Measured extends Named {
  readonly kind: 'measured';
  /** As `unit` says: a ratio of two times or speeds, or an absolute figure where a limit is absolute. */
  readonly ratio: number;
  readonly unit: '×' | ' MB' | ' kB' | ' s' | ' %' | ' in 5,000' | '';
  /** Null for a figure that is only told. */
  readonly target: Target | null;
  /** The two sides, such as `42 ms` and `28 ms`; of a share its count. */
  readonly ours: string;
  readonly theirs: string;
}

interface NotMeasured extends Named {
  readonly kind: 'not measured';
  readonly reason: string;
}

/** One of the benchmarks that `all.ts` runs. */
export interface Benchmark {
  readonly name: string;
  run(): Promise<Row[]>;
}

export type Verdict = 'ok' | 'missed' | 'no target' | 'not measured';

export function verdictOf(row: Row): Verdict {
  if (row.kind === 'not measured') return 'not measured';
  if (row.target === null) return 'no target';
  const isMet = 'atMost' in row.target ? row.ratio <= row.target.atMost : row.ratio >= row.target.atLeast;
  return isMet ? 'ok' : 'missed';
}

/** `not measured: needs jq (apt-get install jq)` for the first tool that is not there. */
export function needing(
  tools: readonly { readonly name: string; readonly apt: string; readonly path: string | null }[],
  what: string,
  against: string,
): NotMeasured | null {
  const missing = tools.find(({ path }) => path === null);
  if (missing === undefined) return null;
  const reason = `needs ${missing.name} (apt-get install ${missing.apt})`;
  return { kind: 'not measured', what, against, reason };
}
