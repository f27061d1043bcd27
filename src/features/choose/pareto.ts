import { type Io, printResult } from '../../cli/io.ts';
import { withStore } from '../../cli/with-store.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import { type Deployment, precisionTwinKey, workloadsOf } from '../../judge/deployment.ts';
import type { KeyedCell } from '../../records/cell.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { cellLabel } from '../../records/cell-label.ts';
import type { ChooseOptions } from './command.ts';
import { aboutSweeps, chosenDeployments, type DeploymentOptions, deploymentOutput } from './deployments.ts';
import type { ParetoOutput } from './output.ts';
import { paretoText } from './pareto-text.ts';
import { scalingOf } from './scaling.ts';
import { compareCells } from '../../judge/compare/compare-cells.ts';

export function pareto(options: ChooseOptions, io: Io): Promise<ExitCode> {
  return withStore(options, io, async ({ db }) => {
    const { output, details } = await paretoReport(db, options, io);
    const shown = { ...details, chart: options.chart !== false, showsScaling: options.scaling === true };
    printResult(io, options, output, (_, look) => paretoText(output, shown, look));
    return EXIT_CODES.fine;
  });
}

export async function paretoReport(db: StoreDatabase, options: DeploymentOptions, io: Io) {
  const chosen = await chosenDeployments(db, options, io);
  const { measured, sweeps, unmeasured } = chosen;
  const speedUps = speedUpsOf(measured);
  const output: ParetoOutput = {
    schemaVersion: 1,
    ...aboutSweeps(chosen),
    workloads: workloadsOf(measured).map((workload) => workloadOutput(workload, speedUps)),
    precisions: tallyPrecisions(measured, speedUps),
    scaling: scalingOf(measured),
    unmeasured: unmeasured.map((cell) => ({ key: cell.key, label: cellLabel(cell) })),
  };
  return { output, details: { sweeps, cells: new Map(measured.map(({ cell }) => [cell.key, cell])) } };
}

function workloadOutput(
  workload: readonly Deployment[],
  speedUps: ReadonlyMap<string, SpeedUp>,
): ParetoOutput['workloads'][number] {
  const dominators = dominatorsOf(workload);
  return workload.map((one) => ({
    ...deploymentOutput(one),
    dominatedBy: dominators.get(one)?.cell.key ?? null,
    speedUp: speedUpOutput(speedUps.get(one.cell.key)),
  }));
}

function speedUpOutput(speedUp: SpeedUp | undefined) {
  if (speedUp === undefined) return null;
  const { reference, ...numbers } = speedUp;
  return { referenceKey: reference.cell.key, ...numbers };
}

/** Smallest relative gain that counts; less is noise between runs. */
const LEAST_GAIN = 0.01;

/** Rank of the accuracy loss of each precision. Precisions of equal rank lose accuracy in different ways. */
const LOSS: Readonly<Record<string, number>> = { fp32: 0, tf32: 1, fp16: 2, bf16: 2, int8: 3, fp8: 3, int4: 4 };

/**
 * Maps each dominated deployment to the one that dominates it: better in something and worse in nothing. Of several, it
 * takes the one with the most throughput. The Pareto front is the rest.
 */
export function dominatorsOf(workload: readonly Deployment[]): Map<Deployment, Deployment> {
  const fastest = workload.toSorted((a, b) => speedOf(b) - speedOf(a));
  return new Map(
    workload.flatMap((one) => {
      const better = fastest.find((other) => dominates(other, one));
      return better === undefined ? [] : [[one, better] as const];
    }),
  );
}

/** Items/s; queries/s if the batch is unknown. */
export function speedOf({ itemsPerS, throughputQps }: Pick<Deployment, 'itemsPerS' | 'throughputQps'>): number {
  return itemsPerS ?? throughputQps;
}

function dominates(a: Deployment, b: Deployment): boolean {
  if (a === b || (a.itemsPerS === null) !== (b.itemsPerS === null)) return false;
  const accuracy = accuracyOrder(a, b);
  if (accuracy === 'less' || accuracy === 'unknown') return false;
  const gains = [
    gain(speedOf(a), speedOf(b)),
    gain(b.latencyMs, a.latencyMs),
    gain(b.p99Ms, a.p99Ms),
    gain(b.engineMib, a.engineMib),
    gain(b.contextMib, a.contextMib),
  ];
  if (gains.some((value) => value === 'unknown' || value < 0)) return false;
  return gains.some((value) => typeof value === 'number' && value > LEAST_GAIN);
}

/** Relative gain. A number missing on one side proves nothing; missing on both sides, it counts as equal. */
function gain(better: number | null, worse: number | null): number | 'unknown' {
  if (better === null && worse === null) return 0;
  if (better === null || worse === null) return 'unknown';
  return worse === 0 ? (better === 0 ? 0 : Infinity) : better / worse - 1;
}

type AccuracyOrder = 'more' | 'same' | 'less' | 'unknown';

/**
 * Orders by measured accuracy. Without it, a wider precision counts as no less accurate, and others are incomparable.
 */
function accuracyOrder(a: Deployment, b: Deployment): AccuracyOrder {
  if (samePrecision(a.cell, b.cell)) return 'same';
  if (a.accuracy !== null && b.accuracy !== null) {
    const [x, y] = [a.accuracy.sqnrDb ?? Infinity, b.accuracy.sqnrDb ?? Infinity];
    return x === y ? 'same' : x > y ? 'more' : 'less';
  }
  const [x, y] = [LOSS[a.cell.precision], LOSS[b.cell.precision]];
  if (x === undefined || y === undefined || x === y) return 'unknown';
  return x < y ? 'more' : 'less';
}

function samePrecision(a: KeyedCell, b: KeyedCell): boolean {
  return a.precision === b.precision && a.precisionVia === b.precisionVia;
}

/** The first available one is the reference. */
const REFERENCE_PRECISIONS = ['fp16', 'fp32', 'tf32'] as const;

/** Throughput relative to that of the same deployment in the reference precision. */
export type SpeedUp = Omit<NonNullable<ParetoOutput['workloads'][number][number]['speedUp']>, 'referenceKey'> & {
  readonly reference: Deployment;
};

/** Speed-ups by cell key; the reference has none. */
export function speedUpsOf(deployments: readonly Deployment[]): Map<string, SpeedUp> {
  const pairs = pairsOf(deployments);
  const { cells } = compareCells(
    pairs.map(({ one, reference }) => ({
      cellKey: one.cell.key,
      base: reference.runsQps,
      head: one.runsQps,
      betterIs: 'higher',
    })),
    { sameSweep: true },
  );
  const judged = new Map(cells.map((comparison) => [comparison.cellKey, comparison]));
  return new Map(
    pairs.map(({ one, reference }): [string, SpeedUp] => {
      const comparison = judged.get(one.cell.key);
      const interval = comparison?.ciPercent ?? null;
      return [
        one.cell.key,
        {
          reference,
          ratio: one.throughputQps / reference.throughputQps,
          interval: interval === null ? null : [1 + interval[0] / 100, 1 + interval[1] / 100],
          latencyRatio:
            one.latencyMs === null || reference.latencyMs === null || one.latencyMs === 0
              ? null
              : reference.latencyMs / one.latencyMs,
          verdict: comparison?.verdict ?? 'unclear',
          reasons: comparison?.reasons ?? [],
        },
      ];
    }),
  );
}

function pairsOf(deployments: readonly Deployment[]) {
  const twins = Map.groupBy(deployments, ({ cell }) => precisionTwinKey(cell));
  return [...twins.values()].flatMap((group) => {
    const reference = REFERENCE_PRECISIONS.map((precision) =>
      group.find(({ cell }) => cell.precision === precision),
    ).find((found) => found !== undefined);
    if (reference === undefined) return [];
    return group.filter((one) => one !== reference).map((one) => ({ one, reference }));
  });
}

function directionOf({ ratio, verdict }: SpeedUp): 'slower' | 'faster' | null {
  if (verdict === 'slower' || verdict === 'faster') return verdict;
  if (verdict === 'same' || ratio === 1) return null;
  return ratio < 1 ? 'slower' : 'faster';
}

/** Compares one precision with another over all pairs of cells that differ in nothing else. */
export function tallyPrecisions(
  deployments: readonly Deployment[],
  speedUps: ReadonlyMap<string, SpeedUp>,
): ParetoOutput['precisions'][number][] {
  const found = deployments.flatMap(({ cell }) => {
    const speedUp = speedUps.get(cell.key);
    return speedUp === undefined
      ? []
      : [{ precision: cell.precision, reference: speedUp.reference.cell.precision, speedUp }];
  });
  const groups = Map.groupBy(found, ({ precision, reference }) => `${precision} ${reference}`);
  return [...groups.values()].flatMap((group): ParetoOutput['precisions'][number][] => {
    const [first] = group;
    if (first === undefined) return [];
    const ratios = group.map(({ speedUp }) => speedUp.ratio);
    const times = (isOne: (speedUp: SpeedUp) => boolean): number =>
      group.filter(({ speedUp }) => isOne(speedUp)).length;
    return [
      {
        precision: first.precision,
        reference: first.reference,
        pairs: group.length,
        slower: times((speedUp) => directionOf(speedUp) === 'slower'),
        faster: times((speedUp) => directionOf(speedUp) === 'faster'),
        unclear: times(({ verdict }) => verdict === 'unclear'),
        leastRatio: Math.min(...ratios),
        mostRatio: Math.max(...ratios),
      },
    ];
  });
}
