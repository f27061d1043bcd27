import { flagWords } from '../../records/axis.ts';
import type { KeyedCell } from '../../records/cell.ts';
import { harnessWords, optionWords } from '../../text/cell-label.ts';
import { mainOf } from './cell-change.ts';
import type { CellEvidence, SweepEvidence } from './evidence.ts';

/** What a finding of every cell is of. */
export const ALL_CELLS = 'all cells';
/** Fewer cells than this are no group by being all there are. */
const LEAST_CELLS = 4;
/** Number of cells of a group, those that vary least, are measured in pairs for all of it. */
export const CALMEST = 3;

/** What a cell may share with others: model, precision, shapes, options, flags, and of the judged sweep its engine. */
function wordsOf(evidence: CellEvidence): string[] {
  const builds = mainOf(evidence)?.history.builds ?? [];
  const [before = null, now = null] = builds.slice(-2);
  const isNew = builds.length >= 2 && now !== null && before !== null && before !== now;
  return [...axisWords(evidence.cell), ...(isNew ? ['new engine'] : [])];
}

/** The GPU of each cell in the judged sweep; none where all were measured on one. */
function gpusOf({ cells, environments }: SweepEvidence): ReadonlyMap<string, string> {
  const gpus = new Map(
    cells.flatMap(({ cell, environmentIds }) => {
      const gpu = environments.get(environmentIds.at(-1) ?? '')?.gpuUuid ?? null;
      return gpu === null ? [] : [[cell.key, gpu] as const];
    }),
  );
  return new Set(gpus.values()).size > 1 ? gpus : new Map();
}

function axisWords(cell: KeyedCell): string[] {
  const shapes = Object.values(cell.shapes).map((shape) => shape.join('x'));
  const all = [
    cell.model,
    cell.precision,
    ...shapes,
    ...optionWords(cell),
    ...flagWords(cell.axisFlags),
    harnessWords(cell),
  ];
  return all.filter((word) => word !== '');
}

/** Words by the key of the cell, and what some of the cells share and others lack. */
export class CellWords {
  private readonly words: ReadonlyMap<string, ReadonlySet<string>>;

  constructor(evidence: SweepEvidence) {
    const gpus = gpusOf(evidence);
    this.words = new Map(
      evidence.cells.map((cell) => {
        const gpu = gpus.get(cell.cell.key);
        return [cell.cell.key, new Set([...wordsOf(cell), ...(gpu === undefined ? [] : [gpu])])];
      }),
    );
  }

  /** Of one cell nothing: its name says more. */
  sharedBy(keys: ReadonlySet<string>): string[] {
    if (keys.size < 2) return [];
    if (keys.size === this.words.size) return keys.size < LEAST_CELLS ? [] : [ALL_CELLS];
    const [first = new Set<string>(), ...others] = [...keys].map((key) => this.of(key));
    const all = [...this.words.values()];
    return [...first].filter(
      (word) => others.every((words) => words.has(word)) && all.some((words) => !words.has(word)),
    );
  }

  /**
   * Groups of which at least half of the cells are among these, the largest first; no cell is in two of them, and cells
   * that share nothing are no group.
   * @returns the cells among these, with all that they share
   */
  groupsAmong(keys: ReadonlySet<string>): { readonly group: readonly string[]; readonly keys: ReadonlySet<string> }[] {
    const cellsOf = this.byWord();
    const found: { group: readonly string[]; keys: ReadonlySet<string> }[] = [];
    let open = keys;
    while (open.size >= LEAST_CELLS) {
      const left = open;
      const largest = [...cellsOf.values()]
        .map((all) => ({ all, keys: new Set([...left].filter((key) => all.has(key))) }))
        .filter(({ all, keys: own }) => own.size >= LEAST_CELLS && 2 * own.size >= all.size)
        .toSorted((a, b) => b.keys.size - a.keys.size)
        .map(({ keys: own }) => ({ group: this.sharedBy(own), keys: own }))
        .find(({ group }) => group.length > 0);
      if (largest === undefined) break;
      found.push(largest);
      open = new Set([...left].filter((key) => !largest.keys.has(key)));
    }
    return found;
  }

  /** Each word with the places of its cells among these, in other groups of cells than those of the words before it. */
  groupsOf(keys: readonly string[]): ReadonlyMap<string, readonly number[]> {
    const groups = new Map<string, readonly number[]>();
    const known = new Set<string>();
    for (const [word, cells] of this.byWord()) {
      const places = keys.flatMap((key, place) => (cells.has(key) ? [place] : []));
      const name = places.join(' ');
      if (places.length >= LEAST_CELLS && !known.has(name)) groups.set(word, places);
      known.add(name);
    }
    return groups;
  }

  private byWord(): ReadonlyMap<string, ReadonlySet<string>> {
    const cellsOf = new Map<string, Set<string>>([[ALL_CELLS, new Set(this.words.keys())]]);
    for (const [key, words] of this.words) {
      for (const word of words) cellsOf.set(word, (cellsOf.get(word) ?? new Set()).add(key));
    }
    return cellsOf;
  }

  /** By which it may move together with others. */
  groupWordsOf(key: string): readonly string[] {
    return [...this.of(key)];
  }

  /** True for a cell that belongs to a group by its words; none belongs to a group without words. */
  hasAll(key: string, group: readonly string[]): boolean {
    const words = this.of(key);
    return group.length > 0 && group.every((word) => word === ALL_CELLS || words.has(word));
  }

  private of(key: string): ReadonlySet<string> {
    return this.words.get(key) ?? new Set();
  }
}
