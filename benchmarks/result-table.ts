import { type Row, verdictOf } from './row.ts';

interface Result {
  readonly benchmark: string;
  readonly row: Row;
}

const HEADERS = ['benchmark', 'what', 'against', 'ours', 'theirs', 'ratio', 'target', ''];

/** One line a result under a line of headers. A benchmark is named once. */
export function tableLines(results: readonly Result[]): string[] {
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
  return all.map((line) =>
    line
      .map((text, column) => text.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

function figuresOf(row: Row): string[] {
  if (row.kind === 'not measured') return [`not measured: ${row.reason}`];
  const ratio = `${Number(row.ratio.toPrecision(3))}${row.unit}`;
  return [row.ours, row.theirs, ratio, targetText(row), verdictOf(row)];
}

function targetText({ target, unit }: Extract<Row, { kind: 'measured' }>): string {
  if (target === null) return '';
  return 'atMost' in target ? `≤ ${target.atMost}${unit}` : `≥ ${target.atLeast}${unit}`;
}
