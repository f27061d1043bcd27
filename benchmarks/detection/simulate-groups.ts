import { Random } from './random.ts';

/** A matrix of cells, half of them FP8, with what their nights have in common. Values in any unit; half of the words say nothing. */
export interface GroupMatrix {
  /** One entry per sweep. */
  readonly cells: readonly { readonly values: readonly number[] }[];
  readonly groups: ReadonlyMap<string, readonly number[]>;
}

export interface GroupScenario {
  readonly cells: number;
  readonly sweeps: number;
  /** From sweep `at` on these cells are slower by the share `rel`. */
  readonly changed: 'none' | 'fp8' | 'all';
  readonly at: number;
  readonly rel: number;
}

export const ALL_CELLS = 'all cells';

/** Standard deviations of a sweep, in logarithms: of one cell (median of 5 runs among them), the machine, a precision. */
const NOISE = { cell: 0.003, run: 0.003, machine: 0.002, precision: 0.0008, burstShare: 0.01 } as const;

/** Noise differs between cells; on one sweep in a hundred the whole machine is slow by 2 to 15 %. */
export function simulateGroups(scenario: GroupScenario, seed: number): GroupMatrix {
  const random = new Random(seed);
  const { cells, sweeps, at, rel, changed } = scenario;
  const sweepNumbers = Array.from({ length: sweeps }, (_, sweep) => sweep);
  const machine = sweepNumbers.map(
    () => NOISE.machine * random.normal() + (random.chance(NOISE.burstShare) ? random.between(0.02, 0.15) : 0),
  );
  const precisions = [0, 1].map(() => sweepNumbers.map(() => NOISE.precision * random.normal()));
  const isFp8 = (cell: number): boolean => cell < cells / 2;
  const made = Array.from({ length: cells }, (_, cell) => {
    const level = random.normal();
    const [ofCell, ofRuns] = [NOISE.cell, NOISE.run].map((sigma) => sigma * Math.exp(0.5 * random.normal()));
    const isChanged = changed === 'all' || (changed === 'fp8' && isFp8(cell));
    const values = sweepNumbers.map((sweep) => {
      const runs = Array.from({ length: 5 }, () => random.normal()).toSorted((a, b) => a - b);
      const noise = (ofCell ?? 0) * random.normal() + (ofRuns ?? 0) * (runs[2] ?? 0);
      const shared = (machine[sweep] ?? 0) + (precisions[isFp8(cell) ? 1 : 0]?.[sweep] ?? 0);
      return Math.exp(level + noise + shared + (isChanged && sweep >= at ? Math.log1p(rel) : 0));
    });
    return { values };
  });
  return { cells: made, groups: groupsOf(cells, isFp8) };
}

/** Two precisions, ten models, eight batches, all cells; four of the models are mostly FP8. */
function groupsOf(cells: number, isFp8: (cell: number) => boolean): Map<string, number[]> {
  const groups = new Map<string, number[]>([[ALL_CELLS, []]]);
  const add = (group: string, cell: number): void => {
    const members = groups.get(group) ?? [];
    members.push(cell);
    groups.set(group, members);
  };
  for (let cell = 0; cell < cells; cell += 1) {
    add(ALL_CELLS, cell);
    add(isFp8(cell) ? 'fp8' : 'fp16', cell);
    // A model of every fifth FP8 cell lends its name to few others.
    const model = isFp8(cell) && cell % 5 < 2 ? `model${cell % 5}` : `model${2 + (cell % 8)}`;
    add(model, cell);
    add(`batch${Math.floor(cell / 10) % 8}`, cell);
  }
  return groups;
}
