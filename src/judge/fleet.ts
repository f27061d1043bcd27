import type { CellKey } from '../records/scalars.ts';
import { percentOfLog } from '../statistics/logarithms.ts';
import { median } from '../statistics/median.ts';
import { signTestP } from '../statistics/sign-test.ts';
import { twoSidedP } from '../statistics/student-t.ts';

/** A cell on one machine. A machine has GPUs of one model. */
export interface FleetValue {
  readonly machine: string;
  readonly gpuName: string;
  readonly cellKey: CellKey;
  /** What else twins have in common in this cell: TensorRT, clocks, model and build options. */
  readonly condition: string;
  /** Above 0; of a metric where more is better its inverse. */
  readonly cost: number;
}

export interface MachineStanding {
  readonly machine: string;
  /** Machines with which it has a cell in common. */
  readonly twins: number;
  /** Cells that at least three twins have. */
  readonly cells: number;
  readonly slowerCells: number;
  /** Median over the cells of its cost over the median of its twins; null without such a cell. */
  readonly changePercent: number | null;
  /** Whether it differs by more than its twins do from each other; null where too few twins say it. */
  readonly standing: 'slower' | 'faster' | 'like its twins' | null;
}

export const LEAST_TWINS = 3;

const FLEET = {
  /** Smaller differences of a machine are never named. */
  leastPercent: 1,
  /** Share of calm fleets in which a machine is named. */
  alpha: 0.01,
  /** Of the sign test over the cells of a machine. */
  signAlpha: 0.01,
  /** What machines of one model differ by: standard deviation, log scale, and the twins that this weighs as much as. */
  sigma: 0.005,
  degrees: 3,
} as const;

/**
 * How each machine compares with its twins. Its effect is one number, the median over cells of the log ratio to the twins'
 * median: cells of a machine are no independent evidence about it, as machines of one model differ a little in all of
 * them. So the effects of the machines are compared with each other, the most extreme ones tested against the rest
 * (generalized ESD: Rosner 1983, inwards, so that two slow machines do not hide each other), with a stated prior for
 * how machines differ. A sign test asks whether the cells of a machine agree.
 * @param hasFewCells too few for that test
 */
export function judgeFleet(values: readonly FleetValue[], hasFewCells = false): MachineStanding[] {
  const places = Map.groupBy(values, ({ cellKey, condition, gpuName }) =>
    JSON.stringify([cellKey, gpuName, condition]),
  );
  const compared = [...places.values()].flatMap((own) => own.map((value) => ratioOf(value, own)));
  const machines = [...Map.groupBy(compared, ({ machine }) => machine)].map(([machine, own]) => {
    const ratios = own.flatMap(({ logRatio }) => logRatio ?? []);
    const twins = new Set(own.flatMap((one) => one.twins));
    return { machine, gpuName: own[0]?.gpuName ?? '', twins, ratios, effect: median(ratios) };
  });
  const groups = Map.groupBy(machines, ({ gpuName }) => gpuName);
  return [...groups.values()].flatMap((group) => {
    const judged = group.flatMap(({ effect, machine }) => (effect === null ? [] : [{ machine, effect }]));
    const extreme = extremeAmong(judged);
    return group.map(({ effect, machine, ratios, twins }): MachineStanding => {
      const slower = ratios.filter((ratio) => ratio > 0).length;
      const isOutlier =
        effect !== null &&
        Math.abs(percentOfLog(effect)) >= FLEET.leastPercent &&
        (hasFewCells || signTestP(slower, ratios.filter((ratio) => ratio !== 0).length) < FLEET.signAlpha) &&
        extreme.has(machine);
      return {
        machine,
        twins: twins.size,
        cells: ratios.length,
        slowerCells: slower,
        changePercent: effect === null ? null : percentOfLog(effect),
        standing: effect === null ? null : !isOutlier ? 'like its twins' : effect > 0 ? 'slower' : 'faster',
      };
    });
  });
}

function ratioOf(value: FleetValue, all: readonly FleetValue[]) {
  const { gpuName, machine } = value;
  const twins = all.filter((other) => other.machine !== machine);
  const level = twins.length < LEAST_TWINS ? null : median(twins.map(({ cost }) => Math.log(cost)));
  const logRatio = level === null ? null : Math.log(value.cost) - level;
  return { machine, gpuName, twins: twins.map((twin) => twin.machine), logRatio };
}

interface Effect {
  readonly machine: string;
  readonly effect: number;
}

/** At most a third of the machines can be outliers of the rest. */
function extremeAmong(effects: readonly Effect[]): Set<string> {
  const middle = median(effects.map(({ effect }) => effect)) ?? 0;
  const sorted = effects.toSorted((a, b) => Math.abs(b.effect - middle) - Math.abs(a.effect - middle));
  const most = Math.max(1, Math.floor((effects.length - 1) / 3));
  for (let count = most; count > 0; count -= 1) {
    const [candidate, rest] = [sorted[count - 1], sorted.slice(count)];
    if (candidate === undefined || rest.length < LEAST_TWINS) continue;
    const others = rest.map(({ effect }) => effect);
    const p = differenceP(candidate.effect, others);
    if (p < FLEET.alpha / (rest.length + 1)) return new Set(sorted.slice(0, count).map(({ machine }) => machine));
  }
  return new Set();
}

/** Two-sided, of one more value from where the others come from. */
function differenceP(value: number, others: readonly number[]): number {
  const mean = others.reduce((sum, one) => sum + one, 0) / others.length;
  const squares = others.reduce((sum, one) => sum + (one - mean) ** 2, 0);
  const degrees = FLEET.degrees + others.length - 1;
  const variance = (FLEET.degrees * FLEET.sigma ** 2 + squares) / degrees;
  return twoSidedP((value - mean) / Math.sqrt(variance * (1 + 1 / others.length)), degrees);
}
