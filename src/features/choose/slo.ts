import { type Io, printResult } from '../../cli/io.ts';
import { withStore } from '../../cli/with-store.ts';
import { EXIT_CODES, type ExitCode } from '../../errors.ts';
import { type Deployment, workloadsOf } from '../../judge/deployment.ts';
import { type KeyedCell, batchOf } from '../../records/cell.ts';
import { withCells } from '../../terminal/cell-columns.ts';
import { type Look, truncate, wrapHanging } from '../../terminal/look.ts';
import { count, formatMs, formatNumber, formatPercent, streamMs } from '../../terminal/numbers.ts';
import { printable } from '../../text/printable.ts';
import type { ChooseOptions } from './command.ts';
import { aboutSweeps, accuracyText, chosenDeployments, deploymentOutput, sweepsLine } from './deployments.ts';
import type { ChosenDeployments } from './deployments.ts';
import { choicesOf, speedOf } from './pareto.ts';
import { choiceTable, FITS } from './pareto-text.ts';
import type { SloOutput } from './output.ts';

type Answer = SloOutput['models'][number];

type Candidate = NonNullable<Answer['winner']>;

/**
 * `bench choose --max-latency MS`: the highest throughput within the limits, per model. Exit code `incomplete` when a
 * model has none.
 */
export function slo(options: ChooseOptions & { readonly maxLatency: number }, io: Io): Promise<ExitCode> {
  return withStore(options, io, async ({ db }) => {
    const chosen = await chosenDeployments(db, options, io);
    const metric = options.metric === 'p99' ? ('p99' as const) : ('median' as const);
    const limits = { maxLatencyMs: options.maxLatency, metric, minSqnrDb: options.minSqnr ?? null };
    const models = workloadsOf(chosen.measured).flatMap((workload) => answerSlo(workload, limits) ?? []);
    const output: SloOutput = { schemaVersion: 1, ...aboutSweeps(chosen), limits, models };
    printResult(io, options, output, (_, look) => sloText(output, chosen, look));
    const isAnswered = models.length > 0 && models.every(({ fitting }) => fitting > 0);
    return isAnswered ? EXIT_CODES.fine : EXIT_CODES.incomplete;
  });
}

/**
 * The fastest deployment within the limits; without one, the one that misses them by least: accuracy first, then
 * latency. Deployments without a latency are not candidates.
 */
export function answerSlo(workload: readonly Deployment[], limits: SloOutput['limits']): Answer | null {
  const [example] = workload;
  if (example === undefined) return null;
  const candidates = workload.flatMap((deployment): Candidate[] => {
    const limitedMs = limits.metric === 'p99' ? deployment.p99Ms : deployment.latencyMs;
    if (limitedMs === null) return [];
    const headRoomPercent = (1 - limitedMs / limits.maxLatencyMs) * 100;
    const accuracyLimit = accuracyUnder(deployment, limits.minSqnrDb);
    return [{ ...deploymentOutput(deployment), limitedMs, headRoomPercent, accuracyLimit }];
  });
  const fitting = candidates
    .filter(({ accuracyLimit, limitedMs }) => limitedMs <= limits.maxLatencyMs && accuracyLimit === 'kept')
    .toSorted((a, b) => speedOf(b) - speedOf(a));
  const [nearest = null] = candidates.toSorted(
    (a, b) => Number(b.accuracyLimit === 'kept') - Number(a.accuracyLimit === 'kept') || a.limitedMs - b.limitedMs,
  );
  const [winner = null, runnerUp = null] = fitting;
  const fittingKeys = fitting.map(({ key }) => key);
  const counts = { candidates: candidates.length, fitting: fitting.length };
  const missed = winner === null ? nearest : null;
  return { model: example.cell.model, ...counts, fittingKeys, winner, runnerUp, nearest: missed };
}

function accuracyUnder({ cell, accuracy }: Deployment, minSqnrDb: number | null): Candidate['accuracyLimit'] {
  // FP32 is the reference for accuracy.
  if (minSqnrDb === null || cell.precision === 'fp32') return 'kept';
  if (accuracy === null) return 'notChecked';
  return (accuracy.sqnrDb ?? Infinity) >= minSqnrDb ? 'kept' : 'missed';
}

function hasLargestBatch(winner: Candidate, cells: readonly KeyedCell[]): boolean {
  const batch = batchOf(cells.find(({ key }) => key === winner.key)?.shapes ?? {});
  const batches = cells.filter(({ model }) => model === winner.model).map(({ shapes }) => batchOf(shapes) ?? 0);
  return batch !== null && Math.max(...batches) <= batch;
}

function sloText({ notes, limits, models }: SloOutput, { measured, planned, sweeps }: ChosenDeployments, look: Look) {
  const { style, columns } = look;
  const choices = withCells(choicesOf(measured).flat(), new Map(measured.map(({ cell }) => [cell.key, cell])));
  const marks = new Map(models.flatMap(({ fittingKeys }) => fittingKeys.map((key) => [key, FITS] as const)));
  const { maxLatencyMs, metric, minSqnrDb } = limits;
  const what = metric === 'p99' ? 'a latency p99' : 'a median latency';
  const accuracy = minSqnrDb === null ? '' : `, SQNR at least ${formatNumber(minSqnrDb, 3)} dB`;
  return [
    style.strong(truncate(`most throughput with ${what} of at most ${formatMs(maxLatencyMs)}${accuracy}`, columns)),
    ...wrapHanging(sweepsLine(sweeps), columns, 2),
    ...notes.map((note) => style.warn(truncate(printable(note), columns))),
    ...models.flatMap((answer) => ['', ...answerLines(answer, maxLatencyMs, planned, look)]),
    '',
    ...choiceTable(choices, marks, look),
  ];
}

function answerLines(
  { candidates, fitting, model, nearest, runnerUp, winner }: Answer,
  maxLatencyMs: number,
  cells: readonly KeyedCell[],
  { columns, style }: Look,
): string[] {
  const below = (...texts: readonly string[]) => texts.flatMap((text) => wrapHanging(`  ${text}`, columns, 2));
  const of = count(candidates, 'deployment');
  if (winner === null) {
    const none = `${printable(model)}: none of ${of} is within the limits`;
    const miss = nearest === null ? [] : below(`nearest: ${words(nearest)}; ${missWords(nearest, maxLatencyMs)}`);
    return [style.bad(truncate(none, columns)), ...miss];
  }
  const ahead = runnerUp && formatPercent((speedOf(winner) / speedOf(runnerUp) - 1) * 100);
  const largest = hasLargestBatch(winner, cells) ? '; no larger batch in the matrix' : '';
  const headRoom = `${formatPercent(winner.headRoomPercent, false)} below the limit${largest}`;
  // A single run does not predict the next one.
  const runs = winner.runs === 1 ? 'a single run: repeat it to be sure' : `medians of ${winner.runs} runs`;
  return [
    style.good(truncate(`${printable(model)}: ${printable(winner.label)}`, columns)),
    ...below(
      `${speedWords(winner)}${ahead === null ? '' : `, ${ahead} above the next`}`,
      `${streamMs(winner.limitedMs, winner.streams)}, ${headRoom}; accuracy: ${accuracyText(winner)}`,
      ...(runnerUp === null ? [] : [`next: ${words(runnerUp)}`]),
      `${fitting} of ${of} fit; ${runs}`,
    ),
  ];
}

function speedWords({ itemsPerS, throughputQps }: Candidate): string {
  const qps = `${formatNumber(throughputQps)} qps`;
  return itemsPerS === null ? qps : `${formatNumber(itemsPerS)} items/s (${qps})`;
}

function words(candidate: Candidate): string {
  return `${printable(candidate.label)}, ${speedWords(candidate)} at ${streamMs(candidate.limitedMs, candidate.streams)}`;
}

function missWords({ accuracy, accuracyLimit, headRoomPercent, limitedMs }: Candidate, maxLatencyMs: number): string {
  const over = `${formatMs(limitedMs - maxLatencyMs)} (${formatPercent(-headRoomPercent, false)}) over the limit`;
  const sqnr = accuracy?.sqnrDb ?? null;
  return [
    ...(headRoomPercent < 0 ? [over] : []),
    ...(accuracyLimit === 'notChecked' ? ['its accuracy is not checked'] : []),
    ...(accuracyLimit === 'missed' && sqnr !== null ? [`its SQNR of ${formatNumber(sqnr, 3)} dB is too low`] : []),
  ].join(', ');
}
