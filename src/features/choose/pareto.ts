import { type Io, printResult } from '../../cli/io.ts';
import { withStore } from '../../cli/with-store.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import { compareCells } from '../../judge/compare/compare-cells.ts';
import { type Deployment, workloadsOf } from '../../judge/deployment.ts';
import { batchOf, type KeyedCell } from '../../records/cell.ts';
import type { CellComparison } from '../../records/verdict.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { canonicalJson } from '../../text/canonical-json.ts';
import { cellLabel } from '../../text/cell-label.ts';
import type { ChooseOptions } from './command.ts';
import { aboutSweeps, chosenDeployments, type DeploymentOptions, deploymentOutput } from './deployments.ts';
import type { ParetoOutput } from './output.ts';
import { paretoText } from './pareto-text.ts';
import { type SpeedUp, speedUpsOf, tallyPrecisions } from './speed-ups.ts';

/** `bench choose`: speed, accuracy and memory of every precision and batch beside each other. */
export function pareto(options: ChooseOptions, io: Io): Promise<ExitCode> {
  return withStore(options, io, async ({ db }) => {
    const { output, details } = await paretoReport(db, options, io);
    const shown = { ...details, chart: options.chart !== false, showsScaling: options.scaling === true };
    printResult(io, options, output, (_, look) => paretoText(output, shown, look));
    return EXIT_CODES.fine;
  });
}

/** What `bench choose` prints of some sweeps. */
export async function paretoReport(db: StoreDatabase, options: DeploymentOptions, io: Io) {
  const chosen = await chosenDeployments(db, options, io);
  const { measured, sweeps, unmeasured } = chosen;
  const speedUps = speedUpsOf(measured);
  const output: ParetoOutput = {
    schemaVersion: 1,
    ...aboutSweeps(chosen),
    workloads: workloadsOf(measured).map((workload) => workloadOutput(workload, speedUps)),
    precisions: tallyPrecisions(measured, speedUps),
    scaling: scalingOf(measured).map(({ from, to, ...step }) => ({
      fromKey: from.cell.key,
      toKey: to.cell.key,
      ...step,
    })),
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

/** A deployment is better in something from so much on: less is the scatter of runs. */
const LEAST_GAIN = 0.01;

/** Keeps more of the numbers the smaller it is. Those of one level lose in different ways. */
const LOSS: Readonly<Record<string, number>> = { fp32: 0, tf32: 1, fp16: 2, bf16: 2, int8: 3, fp8: 3, int4: 4 };

/**
 * For each deployment the one that is better in something and worse in nothing, where there is such a one: of several
 * that with the most throughput. The Pareto front are those that have none.
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

function speedOf({ itemsPerS, throughputQps }: Deployment): number {
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

/** How much larger, as a share; what only one side knows proves nothing, what neither knows is left out. */
function gain(better: number | null, worse: number | null): number | 'unknown' {
  if (better === null && worse === null) return 0;
  if (better === null || worse === null) return 'unknown';
  return worse === 0 ? (better === 0 ? 0 : Infinity) : better / worse - 1;
}

type AccuracyOrder = 'more' | 'same' | 'less' | 'unknown';

/** By what was measured; without that, wider numbers are taken as no less accurate, and others as not comparable. */
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

/** From one batch to the next larger one of the same. */
interface ScalingStep {
  readonly from: Deployment;
  readonly to: Deployment;
  readonly fromBatch: number;
  readonly toBatch: number;
  /** Of the samples a second: below 0 a sample takes longer in the larger batch. */
  readonly itemsPerSChangePercent: number;
  readonly verdict: CellComparison['verdict'];
  readonly reasons: readonly string[];
}

/** What a larger batch gains or loses a sample, in cells that differ in nothing else. */
function scalingOf(deployments: readonly Deployment[]): ScalingStep[] {
  const steps = stepsOf(deployments);
  const { cells } = compareCells(
    steps.map(({ from, to, fromBatch, toBatch }) => ({
      cellKey: to.cell.key,
      base: from.runsQps.map((qps) => qps * fromBatch),
      head: to.runsQps.map((qps) => qps * toBatch),
      betterIs: 'higher',
    })),
    { sameNight: true },
  );
  const judged = new Map(cells.map((comparison) => [comparison.cellKey, comparison]));
  return steps.map((step) => {
    const comparison = judged.get(step.to.cell.key);
    return { ...step, verdict: comparison?.verdict ?? 'unclear', reasons: comparison?.reasons ?? [] };
  });
}

function stepsOf(deployments: readonly Deployment[]): Omit<ScalingStep, 'verdict' | 'reasons'>[] {
  const known = deployments.flatMap((one) => {
    const batch = batchOf(one.cell.shapes);
    return batch === null || one.itemsPerS === null ? [] : [{ one, batch, itemsPerS: one.itemsPerS }];
  });
  const alike = Map.groupBy(known, ({ one, batch }) => batchTwinKey(one.cell, batch));
  return [...alike.values()].flatMap((same) => {
    const sorted = same.toSorted((a, b) => a.batch - b.batch);
    return sorted.slice(1).flatMap((to, place) => {
      const from = sorted[place];
      if (from === undefined) return [];
      return [
        {
          from: from.one,
          to: to.one,
          fromBatch: from.batch,
          toBatch: to.batch,
          itemsPerSChangePercent: (to.itemsPerS / from.itemsPerS - 1) * 100,
        },
      ];
    });
  });
}

/** Cells that differ in nothing but their batch have the same. */
function batchTwinKey({ key: _key, shapes, axisFlags, ...rest }: KeyedCell, batch: number): string {
  const samples = Object.entries(shapes).map(([input, dims]) => [input, dims.slice(1)]);
  // A harness may be told the batch by a parameter of its own.
  const flags = Object.entries(axisFlags).filter(([name, value]) => name !== 'batch' || value !== String(batch));
  return canonicalJson({ ...rest, samples, flags });
}
