import { flagWords } from '../../records/axis.ts';
import { harnessWords, optionWords } from '../../records/cell.ts';
import type { SweepEvidence } from './evidence.ts';

export const ALL_CELLS = 'all cells';
/** Fewer cells than this do not form a group, even if they are all cells. */
const LEAST_CELLS = 4;

/** Words of each cell by its key, and the words that some cells share and others lack. */
export function cellWords({ cells, environments }: SweepEvidence) {
  const gpus = cells.map(({ environmentIds }) => environments.get(environmentIds.at(-1) ?? '')?.gpuUuid ?? '');
  // With only one GPU, its name does not distinguish cells.
  const isOne = new Set(gpus.filter((gpu) => gpu !== '')).size < 2;
  /** Model, precision, shapes, options and flags; in the judged sweep also a new engine and the GPU. */
  const byKey = new Map<string, ReadonlySet<string>>(
    cells.map(({ cell, metrics: [main] }, place) => {
      const [before = null, now = null] = main?.history.builds?.slice(-2) ?? [];
      const words = [
        cell.model,
        cell.precision,
        ...Object.values(cell.shapes).map((shape) => shape.join('x')),
        ...optionWords(cell),
        ...flagWords(cell.axisFlags),
        harnessWords(cell),
        now !== null && before !== null && before !== now ? 'new engine' : '',
        isOne ? '' : (gpus[place] ?? ''),
      ];
      return [cell.key, new Set(words.filter((word) => word !== ''))];
    }),
  );
  const of = (key: string): ReadonlySet<string> => byKey.get(key) ?? new Set();
  return {
    of,
    hasAll: (key: string, group: readonly string[]): boolean =>
      group.length > 0 && group.every((word) => word === ALL_CELLS || of(key).has(word)),
    /** Words that the cells share and others lack; empty for a single cell, whose name is more specific. */
    sharedBy: (keys: ReadonlySet<string>): string[] => {
      if (keys.size < 2) return [];
      if (keys.size === byKey.size) return keys.size < LEAST_CELLS ? [] : [ALL_CELLS];
      const [first = ''] = keys;
      const isShared = (word: string): boolean => [...keys].every((key) => of(key).has(word));
      return [...of(first)].filter((word) => isShared(word) && [...byKey.values()].some((words) => !words.has(word)));
    },
  };
}
