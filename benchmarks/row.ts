/** What a figure should be; `atMost` for times and memory, `atLeast` for speeds. */
export type Target = { readonly atMost: number } | { readonly atLeast: number };

/** One line of the table: a figure, or why there is none. */
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
  readonly unit: string;
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

/** A figure with a unit of its own. */
export function absolute(
  what: string,
  ratio: number,
  unit: string,
  target: Target | null,
  { against = '', ours = `${Number(ratio.toPrecision(3))}${unit}`, theirs = '' } = {},
): Row {
  return { kind: 'measured', what, against, ratio, unit, target, ours, theirs };
}

/** Two times in milliseconds. @param isSpeed how many times as fast ours is, instead of how many times as long it takes */
export function versus(
  what: string,
  against: string,
  [oursMs, theirsMs]: readonly [number, number],
  target: Target | null,
  isSpeed: boolean = isOfSpeeds(target),
): Row {
  const ratio = isSpeed ? theirsMs / oursMs : oursMs / theirsMs;
  return { kind: 'measured', what, against, ratio, unit: '×', target, ours: shown(oursMs), theirs: shown(theirsMs) };
}

function isOfSpeeds(target: Target | null): boolean {
  return target !== null && 'atLeast' in target;
}

function shown(timeMs: number): string {
  if (timeMs >= 1000) return `${(timeMs / 1000).toFixed(2)} s`;
  return timeMs < 10 ? `${timeMs.toFixed(2)} ms` : `${Math.round(timeMs)} ms`;
}

/** `not measured: needs jq (apt-get install jq)` for the first tool that is not there. */
export function needing(
  tools: readonly { readonly name: string; readonly apt: string; readonly path: string | null }[],
  what: string,
  against: string,
): Row | null {
  const missing = tools.find(({ path }) => path === null);
  if (missing === undefined) return null;
  const reason = `needs ${missing.name} (apt-get install ${missing.apt})`;
  return { kind: 'not measured', what, against, reason };
}

export function verdictOf(row: Row): 'ok' | 'missed' | 'no target' | 'not measured' {
  if (row.kind === 'not measured') return 'not measured';
  if (row.target === null) return 'no target';
  const isMet = 'atMost' in row.target ? row.ratio <= row.target.atMost : row.ratio >= row.target.atLeast;
  return isMet ? 'ok' : 'missed';
}

const HEADERS = ['benchmark', 'what', 'against', 'ours', 'theirs', 'ratio', 'target', ''];

/** One line a result under a line of headers. A benchmark is named once. */
export function tableLines(results: readonly { readonly benchmark: string; readonly row: Row }[]): string[] {
  const lines = results.map(({ benchmark, row }, index) => [
    results[index - 1]?.benchmark === benchmark ? '' : benchmark,
    row.what,
    row.against,
    ...figuresOf(row),
  ]);
  const all = [HEADERS, ...lines];
  const widths = HEADERS.map((_, column) =>
    Math.max(...all.filter((line) => column < line.length - 1).map((line) => line[column]?.length ?? 0)),
  );
  return all.map((line) => {
    const cells = line.map((text, column) => text.padEnd(widths[column] ?? 0));
    return cells.join('  ').trimEnd();
  });
}

function figuresOf(row: Row): string[] {
  if (row.kind === 'not measured') return [`not measured: ${row.reason}`];
  const { ours, ratio, target, theirs, unit } = row;
  const limit = target === null ? '' : 'atMost' in target ? `≤ ${target.atMost}` : `≥ ${target.atLeast}`;
  return [ours, theirs, `${Number(ratio.toPrecision(3))}${unit}`, `${limit}${limit && unit}`, verdictOf(row)];
}
