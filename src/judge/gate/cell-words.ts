import { flagWords } from '../../records/axis.ts';
import type { KeyedCell } from '../../records/cell.ts';
import { harnessWords, optionWords } from '../../text/cell-label.ts';
import { mainOf } from './cell-change.ts';
import type { CellEvidence, SweepEvidence } from './evidence.ts';

/** What a finding of every cell is of. */
export const ALL_CELLS = 'all cells';
/** Fewer cells than this are no group by being all there are. */
const LEAST_CELLS = 4;

/** What a cell may share with others: model, precision, shapes, options, flags, and of the judged sweep its GPU and engine. */
function wordsOf(evidence: CellEvidence, { environments }: SweepEvidence): ReadonlySet<string> {
  const environmentId = evidence.environmentIds.at(-1) ?? null;
  const gpu = environmentId === null ? null : (environments.get(environmentId)?.gpuUuid ?? null);
  const builds = mainOf(evidence)?.history.builds ?? [];
  const [before = null, now = null] = builds.slice(-2);
  const isNew = builds.length >= 2 && now !== null && before !== null && before !== now;
  return new Set([...axisWords(evidence.cell), ...(gpu === null ? [] : [gpu]), ...(isNew ? ['new engine'] : [])]);
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
    this.words = new Map(evidence.cells.map((cell) => [cell.cell.key, wordsOf(cell, evidence)]));
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

  /** True for a cell that belongs to a group by its words; none belongs to a group without words. */
  hasAll(key: string, group: readonly string[]): boolean {
    const words = this.of(key);
    return group.length > 0 && group.every((word) => word === ALL_CELLS || words.has(word));
  }

  private of(key: string): ReadonlySet<string> {
    return this.words.get(key) ?? new Set();
  }
}
