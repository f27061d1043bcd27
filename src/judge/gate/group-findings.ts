import type { KeyedCell } from '../../records/cell.ts';
import { optionWords } from '../../text/cell-label.ts';
import type { Finding } from '../../records/finding.ts';
import { flagWords } from '../../records/axis.ts';

export interface LocatedFinding {
  readonly finding: Finding;
  readonly cell: KeyedCell;
  /** Index of the first sweep at the new level. */
  readonly night: number;
}

/** Findings with one first sweep and direction: most likely one cause. */
export interface FindingGroup {
  readonly direction: Finding['direction'];
  readonly night: number;
  /** Clearest first. */
  readonly findings: readonly LocatedFinding[];
  /** What all of them share and not every cell has: `fp8`, `no-graph`. */
  readonly shared: readonly string[];
}

/** Changes that start within this many sweeps form a group. */
const SAME_CAUSE_NIGHTS = 1;

/** @param cells all cells judged: what they all share is no label of a group */
export function groupFindings(findings: readonly LocatedFinding[], cells: readonly KeyedCell[]): FindingGroup[] {
  const groups: LocatedFinding[][] = [];
  for (const entry of findings.toSorted((a, b) => a.night - b.night)) {
    const group = groups.find(
      ([first]) =>
        first !== undefined &&
        first.finding.direction === entry.finding.direction &&
        entry.night - first.night <= SAME_CAUSE_NIGHTS,
    );
    if (group === undefined) groups.push([entry]);
    else group.push(entry);
  }
  return groups.map((group) => asGroup(group, cells)).toSorted(byWeight);
}

function asGroup(group: readonly LocatedFinding[], cells: readonly KeyedCell[]): FindingGroup {
  const findings = group.toSorted((a, b) => b.finding.margin - a.finding.margin);
  return {
    direction: findings[0]?.finding.direction ?? 'slower',
    night: Math.min(...group.map(({ night }) => night)),
    findings,
    shared: sharedWords(
      group.map(({ cell }) => cell),
      cells,
    ),
  };
}

/** Slower before faster, many cells before few, then by evidence. */
function byWeight(a: FindingGroup, b: FindingGroup): number {
  if (a.direction !== b.direction) return a.direction === 'slower' ? -1 : 1;
  const size = b.findings.length - a.findings.length;
  if (size !== 0) return size;
  return (b.findings[0]?.finding.margin ?? 0) - (a.findings[0]?.finding.margin ?? 0);
}

function sharedWords(group: readonly KeyedCell[], cells: readonly KeyedCell[]): string[] {
  const [first, ...others] = group.map(wordsOf);
  if (first === undefined) return [];
  return [...first].filter(
    (word) => others.every((words) => words.has(word)) && cells.some((cell) => !wordsOf(cell).has(word)),
  );
}

function wordsOf(cell: KeyedCell): Set<string> {
  const shapes = Object.values(cell.shapes).map((shape) => shape.join('x'));
  return new Set([cell.model, cell.precision, ...shapes, ...optionWords(cell), ...flagWords(cell.axisFlags)]);
}
