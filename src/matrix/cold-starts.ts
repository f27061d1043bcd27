import { keyedCell } from '../records/cell.ts';
import { COLD_START, isColdStart } from '../records/harness.ts';
import type { MatrixCell } from './matrix.ts';

/** The first query is the first inference, and the summary needs some more. */
const QUERIES = 10;

/** States what the numbers include, which a run cannot know. */
const NOTE =
  'cold start of a process: its engine file is in the memory of the host (caches are not dropped), the driver and its kernel cache are warm';

/**
 * Separate cells for the events that happen once in a process, so that they are never among the steady times. They have
 * no CUDA graph, whose capture follows an inference, and only one stream. Cells that differ only in these share one.
 */
export function coldStarts(cells: readonly MatrixCell[], repeats: number | null): MatrixCell[] {
  if (repeats === null) return [];
  const cold = cells.flatMap((entry): MatrixCell[] => {
    if (entry.harness !== null) return [];
    const { key: _key, ...cell } = entry.cell;
    return [
      {
        ...entry,
        cell: keyedCell({ ...cell, cudaGraph: false, streams: 1, harness: COLD_START }),
        method: {
          ...entry.method,
          warmUpMs: 0,
          durationS: 0,
          iterations: QUERIES,
          exportTimes: true,
          minQueries: 1,
          minWarmUpQueries: 0,
        },
        repeats,
        notes: [...entry.notes, NOTE],
      },
    ];
  });
  return [...new Map(cold.map((entry) => [entry.cell.key, entry])).values()];
}

/** Recordings have no cold starts. */
export function withoutColdStarts<Entry extends Pick<MatrixCell, 'cell'>>(cells: readonly Entry[]): Entry[] {
  return cells.filter(({ cell }) => !isColdStart(cell));
}
