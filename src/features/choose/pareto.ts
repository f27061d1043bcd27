import { type Io, printResult } from '../../cli/io.ts';
import { withStore } from '../../cli/with-store.ts';
import { EXIT_CODES, type ExitCode } from '../../errors.ts';
import { compareCells } from '../../judge/compare/compare-cells.ts';
import { type Deployment, precisionTwinKey, workloadsOf } from '../../judge/deployment.ts';
import { axisTwinKey } from '../../judge/latency-search.ts';
import { batchOf, type KeyedCell, cellLabel } from '../../records/cell.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import type { ChooseOptions } from './command.ts';
import { aboutSweeps, chosenDeployments, type DeploymentOptions, deploymentOutput } from './deployments.ts';
import type { ParetoOutput } from './output.ts';
import { paretoText } from './pareto-text.ts';

export function pareto(options: ChooseOptions, io: Io): Promise<ExitCode> {
  return withStore(options, io, async ({ db }) => {
    const { output, details } = await paretoReport(db, options, io);
    const shown = { ...details, chart: options.chart !== false, showsScaling: options.scaling === true };
    printResult(io, options, output, (_, look) => paretoText(output, shown, look));
    return output.workloads.length === 0 ? EXIT_CODES.incomplete : EXIT_CODES.fine;
  });
}

export async function paretoReport(db: StoreDatabase, options: DeploymentOptions, io: Io) {
  const chosen = await chosenDeployments(db, options, io);
  const { measured, sweeps, unmeasured } = chosen;
  const speedUps = speedUpsOf(measured);
  const output: ParetoOutput = {
    schemaVersion: 1,
    ...aboutSweeps(chosen),
    workloads: choicesOf(measured, speedUps),
    precisions: tallyPrecisions(measured, speedUps),
    scaling: scalingOf(measured),
    unmeasured: unmeasured.map((cell) => ({ key: cell.key, label: cellLabel(cell) })),
  };
  return { output, details: { sweeps, cells: new Map(measured.map(({ cell }) => [cell.key, cell])) } };
}

/** The deployments of each workload, with what dominates them and their speed-ups. */
export function choicesOf(measured: readonly Deployment[], speedUps = speedUpsOf(measured)) {
  return workloadsOf(measured).map((workload) => {
    const dominators = dominatorsOf(workload);
    return workload.map((one) => ({
      ...deploymentOutput(one),
      dominatedBy: dominators.get(one)?.cell.key ?? null,
      speedUp: speedUps.get(one.cell.key) ?? null,
    }));
  });
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

/** What a better deployment has less of. */
const COSTS = ['latencyMs', 'p99Ms', 'engineMib', 'contextMib'] as const;

function dominates(a: Deployment, b: Deployment): boolean {
  if (a === b || (a.itemsPerS === null) !== (b.itemsPerS === null)) return false;
  if (mayBeLessAccurate(a, b)) return false;
  const gains = [gain(speedOf(a), speedOf(b)), ...COSTS.map((cost) => gain(b[cost], a[cost]))];
  return gains.every((value) => value >= 0) && gains.some((value) => value > LEAST_GAIN);
}

/** Relative gain. Missing on both sides, a number counts as equal; missing on one, it proves nothing (NaN). */
function gain(better: number | null, worse: number | null): number {
  if (better === worse) return 0;
  return better === null || worse === null ? Number.NaN : better / worse - 1;
}

/** By measured accuracy. Without it, a wider precision counts as no less accurate, and others are incomparable. */
function mayBeLessAccurate(a: Deployment, b: Deployment): boolean {
  if (a.cell.precision === b.cell.precision && a.cell.precisionVia === b.cell.precisionVia) return false;
  if (a.accuracy !== null && b.accuracy !== null) {
    return (a.accuracy.sqnrDb ?? Infinity) < (b.accuracy.sqnrDb ?? Infinity);
  }
  const [loss, other] = [LOSS[a.cell.precision], LOSS[b.cell.precision]];
  return loss === undefined || other === undefined || loss >= other;
}

/** The first available one is the reference. */
const REFERENCE_PRECISIONS = ['fp16', 'fp32', 'tf32'] as const;

type SpeedUp = NonNullable<ParetoOutput['workloads'][number][number]['speedUp']>;

/** Speed-ups over the same deployment in the reference precision, by cell key; the reference has none. */
export function speedUpsOf(deployments: readonly Deployment[]): Map<string, SpeedUp> {
  const pairs = [...Map.groupBy(deployments, ({ cell }) => precisionTwinKey(cell)).values()].flatMap((group) => {
    const inPrecision = REFERENCE_PRECISIONS.map((precision) => group.find(({ cell }) => cell.precision === precision));
    const reference = inPrecision.find((found) => found !== undefined);
    return reference === undefined ? [] : group.filter((one) => one !== reference).map((one) => ({ one, reference }));
  });
  const byQps = compared(pairs.map(({ one, reference: { runsQps } }) => sidesOf(one.cell, runsQps, one.runsQps)));
  const byLatency = compared(
    pairs.map(({ one: { cell, runsLatencyMs: head }, reference: { runsLatencyMs: base } }) => {
      return { cellKey: cell.key, base, head, betterIs: 'lower' };
    }),
  );
  return new Map(
    pairs.map(({ one, reference }, place): [string, SpeedUp] => {
      const { ciPercent = null, verdict = 'unclear', reasons = [] } = byQps[place] ?? {};
      const latencyRatio = one.latencyMs && reference.latencyMs !== null ? reference.latencyMs / one.latencyMs : null;
      const latency = latencyRatio === null ? undefined : byLatency[place];
      const [least, most] = latency?.ciPercent ?? [];
      const speedUp = {
        referenceKey: reference.cell.key,
        ratio: one.throughputQps / reference.throughputQps,
        interval: ciPercent && ([1 + ciPercent[0] / 100, 1 + ciPercent[1] / 100] as const),
        latencyRatio,
        latencyInterval:
          least === undefined || most === undefined ? null : ([1 / (1 + most / 100), 1 / (1 + least / 100)] as const),
        latencyVerdict: latency?.verdict ?? null,
        verdict,
        reasons,
      };
      return [one.cell.key, speedUp];
    }),
  );
}

function compared(sides: Parameters<typeof compareCells>[0]) {
  return compareCells(sides, { sameSweep: true }).cells;
}

function sidesOf({ key }: KeyedCell, base: readonly number[], head: readonly number[]) {
  return { cellKey: key, base, head, betterIs: 'higher' as const };
}

/** Compares one precision with another over all pairs of cells that differ in nothing else. */
export function tallyPrecisions(deployments: readonly Deployment[], speedUps: ReadonlyMap<string, SpeedUp>) {
  const precisions = new Map(deployments.map(({ cell }) => [cell.key, cell.precision]));
  const found = [...precisions].flatMap(([key, precision]) => {
    const speedUp = speedUps.get(key);
    const reference = precisions.get(speedUp?.referenceKey ?? '');
    return speedUp === undefined || reference === undefined ? [] : [{ precision, reference, ...speedUp }];
  });
  const groups = Map.groupBy(found, ({ precision, reference }) => `${precision} ${reference}`);
  return [...groups.values()].flatMap((group) => {
    const ratios = group.map(({ ratio }) => ratio);
    const numberOf = (verdict: SpeedUp['verdict']): number => group.filter((one) => one.verdict === verdict).length;
    return group
      .slice(0, 1)
      .map(({ precision, reference }) => ({
        precision,
        reference,
        pairs: group.length,
        slower: numberOf('slower'),
        faster: numberOf('faster'),
        unclear: numberOf('unclear'),
        leastRatio: Math.min(...ratios),
        mostRatio: Math.max(...ratios),
      }));
  });
}

/** Gain in items/s from a larger batch, between cells that differ only in batch. */
function scalingOf(deployments: readonly Deployment[]): ParetoOutput['scaling'] {
  const known = deployments.flatMap(({ cell, itemsPerS, runsQps }) => {
    const batch = batchOf(cell.shapes);
    return batch === null || itemsPerS === null ? [] : [{ cell, batch, itemsPerS, runsQps }];
  });
  const steps = [...Map.groupBy(known, ({ cell }) => axisTwinKey('batch', cell)).values()].flatMap((same) => {
    const sorted = same.toSorted((a, b) => a.batch - b.batch);
    return sorted.slice(1).map((to, place) => ({ from: sorted[place] ?? to, to }));
  });
  const sides = steps.map(({ from, to }) => {
    const [base, head] = [from, to].map(({ batch, runsQps }) => runsQps.map((qps) => qps * batch));
    return sidesOf(to.cell, base ?? [], head ?? []);
  });
  const cells = compared(sides);
  return steps.map(({ from, to }, place) => {
    const { reasons = [], verdict = 'unclear' } = cells[place] ?? {};
    const batches = { fromKey: from.cell.key, toKey: to.cell.key, fromBatch: from.batch, toBatch: to.batch };
    return { ...batches, itemsPerSChangePercent: (to.itemsPerS / from.itemsPerS - 1) * 100, verdict, reasons };
  });
}
