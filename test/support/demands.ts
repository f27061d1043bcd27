import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A row of `test/demands/rows.tsv`: what is asked for, the test that shows it, and the line that brings it. */
export interface Demand {
  /** S1 to S152, AT-1 to AT-30, F1 to F105. */
  readonly id: string;
  readonly asks: string;
  readonly state: 'works' | 'partly' | 'left out' | 'to do';
  /** What is missing, or why it is left out; empty otherwise. */
  readonly reason: string;
  /** The test file and the title as its source says it. */
  readonly file: string;
  readonly title: string;
  /** The source file, a text that it has once, and what to put in its place so that the test fails. */
  readonly source: string;
  readonly main: string;
  readonly instead: string;
}

const STATES: readonly Demand['state'][] = ['works', 'partly', 'left out', 'to do'];

export const DEMAND_IDS = [
  ...Array.from({ length: 152 }, (_, index) => `S${index + 1}`),
  ...Array.from({ length: 30 }, (_, index) => `AT-${index + 1}`),
  ...Array.from({ length: 105 }, (_, index) => `F${index + 1}`),
];

/** @param root of the repository */
export function readDemands(root: string): Demand[] {
  const [, ...lines] = readFileSync(join(root, 'test', 'demands', 'rows.tsv'), 'utf8')
    .trimEnd()
    .split('\n');
  return lines.map((line) => {
    const [id = '', asks = '', stated = '', reason = '', file = '', title = '', source = '', main = '', instead = ''] =
      line.split('\t');
    const state = STATES.find((known) => known === stated);
    if (state === undefined) throw new Error(`rows.tsv: ${id}: a state is one of ${STATES.join(', ')}`);
    return { id, asks, state, reason, file, title, source, main, instead };
  });
}

/** Where a title stands in the source of a test file, in its quotes. */
export function statesTitle(text: string, title: string): boolean {
  const escaped = title.replaceAll('\\', '\\\\');
  return [`'${escaped.replaceAll("'", String.raw`\'`)}'`, `"${escaped}"`, `\`${title}\``].some((quoted) =>
    text.includes(quoted),
  );
}
