import type { TraceAverages } from './parsed-log.ts';
import { finiteOrNull, NUMBER, parseStreamNumber } from './printed-values.ts';

/** trtexec before 9.1 prints every group; more than this are counted but not kept. */
const MAX_GROUPS = 100_000;

interface TraceDraft {
  warmUpQueries: number | null;
  queries: number | null;
  walltimeS: number | null;
  readonly averages: { -readonly [Key in keyof TraceAverages]: TraceAverages[Key] extends number ? number : number[] };
}

export function emptyTrace(): TraceDraft {
  const averages = { groupSize: 0, gpuMs: [], hostMs: [], enqueueMs: [], omittedQueries: 0 };
  return { warmUpQueries: null, queries: null, walltimeS: null, averages };
}

const AVERAGE = new RegExp(
  `^Average on (\\d+) runs - GPU latency: (${NUMBER}) ms - Host latency: (${NUMBER}) ms(?: \\((?:end to end ${NUMBER} ms(?:, )?)?(?:enqueue (${NUMBER}) ms)?\\))?`,
);
const WARM_UP = new RegExp(`^Warmup completed (\\d+) queries over (${NUMBER}) ms`);
const QUERIES = new RegExp(`^Timing trace has (\\d+) queries over (${NUMBER}) s`);
const OMITTED = /^\.\.\. Omitting (\d+) lines/;

/** Takes one line between `Starting inference` and the summary; false if it is not part of the trace. */
export function readTraceLine(draft: TraceDraft, text: string): boolean {
  if (text.startsWith('Average on ')) {
    readAverage(draft.averages, text);
    return true;
  }
  const warmUp = WARM_UP.exec(text);
  if (warmUp !== null) {
    draft.warmUpQueries = finiteOrNull(warmUp[1]);
    return true;
  }
  const queries = QUERIES.exec(text);
  if (queries !== null) {
    draft.queries = finiteOrNull(queries[1]);
    draft.walltimeS = finiteOrNull(queries[2]);
    return true;
  }
  const omitted = OMITTED.exec(text);
  if (omitted === null) return false;
  draft.averages.omittedQueries = Number(omitted[1]);
  return true;
}

function readAverage(draft: TraceDraft['averages'], text: string): void {
  const match = AVERAGE.exec(text);
  if (match === null || draft.gpuMs.length >= MAX_GROUPS) return;
  draft.groupSize = Number(match[1]);
  draft.gpuMs.push(parseStreamNumber(match[2] ?? ''));
  draft.hostMs.push(parseStreamNumber(match[3] ?? ''));
  if (match[4] !== undefined) draft.enqueueMs.push(parseStreamNumber(match[4]));
}

export function finishTrace({ averages }: TraceDraft): TraceAverages | null {
  return averages.gpuMs.length === 0 ? null : averages;
}
