import { keyedCell } from '../records/cell.ts';
import { COLD_START, isColdStart } from '../records/harness.ts';
import type { MatrixCell } from './matrix.ts';

/** The first of them is the first inference; the summary needs some more. */
const QUERIES = 10;

/** What the numbers are about, as a run cannot see it. */
const NOTE =
  'cold start of a process: its engine file is in the memory of the host (caches are not dropped), the driver and its kernel cache are warm';

/**
 * Cells of their own for what happens once in a process, so that it is never among the steady times. Without a CUDA
 * graph, whose capture comes after an inference, and with one stream: cells that differ only in these have one.
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

/** Nobody recorded any. */
export function withoutColdStarts<Entry extends Pick<MatrixCell, 'cell'>>(cells: readonly Entry[]): Entry[] {
  return cells.filter(({ cell }) => !isColdStart(cell));
}
