import type { Deployment, Deployments } from '../../judge/deployment.ts';
import type { Slo, SloAnswer, SloCandidate } from './slo.ts';
import { cellLabel } from '../../text/cell-label.ts';
import { printable } from '../../text/printable.ts';
import type { Sweep } from '../../records/sweep.ts';
import { accuracyText, deploymentJson, provenanceOf, sweepsLine } from './choice-words.ts';
import type { Look } from '../../terminal/look.ts';
import { count, formatMs, formatNumber, formatPercent } from '../../terminal/numbers.ts';
import { truncate, wrapWords } from '../../terminal/text-width.ts';

export interface SloReport extends Deployments {
  readonly sweeps: readonly Sweep[];
  readonly notes: readonly string[];
  readonly limits: Slo;
  readonly answers: readonly SloAnswer[];
}

export function sloJson({ sweeps, notes, limits, answers }: SloReport) {
  return {
    schemaVersion: 1,
    sweepIds: sweeps.map(({ sweepId }) => sweepId),
    provenance: provenanceOf(sweeps),
    notes,
    limits,
    models: answers.map(({ example, fitting, nearest, candidates }) => ({
      model: example.model,
      candidates,
      fitting: fitting.length,
      winner: candidateJson(fitting[0]),
      runnerUp: candidateJson(fitting[1]),
      nearest: candidateJson(fitting.length === 0 ? (nearest ?? undefined) : undefined),
    })),
  };
}

function candidateJson(candidate: SloCandidate | undefined) {
  if (candidate === undefined) return null;
  const { deployment, latencyMs, headRoomPercent, accuracy } = candidate;
  return {
    ...deploymentJson(deployment, cellLabel(deployment.cell)),
    limitedMs: latencyMs,
    headRoomPercent,
    accuracyLimit: accuracy,
  };
}

export function sloText(report: SloReport, look: Look): string[] {
  const { sweeps, notes, limits, answers } = report;
  const { style, columns } = look;
  return [
    style.strong(truncate(limitWords(limits), columns)),
    truncate(sweepsLine(sweeps), columns),
    ...notes.map((note) => style.warn(truncate(printable(note), columns))),
    ...answers.flatMap((answer) => ['', ...answerLines(answer, limits, look)]),
    ...(answers.length === 0 ? ['nothing was measured in these cells'] : []),
  ];
}

function limitWords({ maxLatencyMs, metric, minSqnrDb }: Slo): string {
  const accuracy = minSqnrDb === null ? '' : `, SQNR at least ${formatNumber(minSqnrDb, 3)} dB`;
  return `most throughput with ${metricWords(metric)} of at most ${formatMs(maxLatencyMs)}${accuracy}`;
}

function metricWords(metric: Slo['metric']): string {
  return metric === 'p99' ? 'a latency p99' : 'a median latency';
}

function answerLines(answer: SloAnswer, limits: Slo, look: Look): string[] {
  const { fitting, nearest, candidates, example } = answer;
  const [winner, runnerUp] = fitting;
  const model = printable(example.model);
  if (winner === undefined) {
    const none = `${model}: none of ${count(candidates, 'deployment')} is within the limits`;
    return [
      look.style.bad(truncate(none, look.columns)),
      ...(nearest === null ? [] : wrapped(`nearest: ${words(nearest)}; ${missWords(nearest, limits)}`, look)),
    ];
  }
  const ahead =
    runnerUp === undefined
      ? ''
      : `, ${formatPercent((speedOf(winner.deployment) / speedOf(runnerUp.deployment) - 1) * 100)} over the next`;
  return [
    look.style.good(truncate(`${model}: ${printable(cellLabel(winner.deployment.cell))}`, look.columns)),
    ...wrapped(`${speedWords(winner.deployment)}${ahead}`, look),
    ...wrapped(
      `${formatMs(winner.latencyMs)}, ${formatPercent(winner.headRoomPercent, false)} below the limit; accuracy: ${accuracyText(winner.deployment)}`,
      look,
    ),
    ...(runnerUp === undefined ? [] : wrapped(`next: ${words(runnerUp)}`, look)),
    ...wrapped(`${fitting.length} of ${count(candidates, 'deployment')} fit; ${runsWords(winner.deployment)}`, look),
  ];
}

function wrapped(text: string, look: Look): string[] {
  return wrapWords(text, look.columns - 2).map((line) => `  ${line}`);
}

function speedOf({ itemsPerS, throughputQps }: Deployment): number {
  return itemsPerS ?? throughputQps;
}

function speedWords({ itemsPerS, throughputQps }: Deployment): string {
  const items = itemsPerS === null ? 'items/s unknown: no batch is stated' : `${formatNumber(itemsPerS)} items/s`;
  return `${items} (${formatNumber(throughputQps)} qps)`;
}

function words({ deployment, latencyMs }: SloCandidate): string {
  return `${printable(cellLabel(deployment.cell))}, ${speedWords(deployment)} at ${formatMs(latencyMs)}`;
}

function missWords({ headRoomPercent, accuracy, deployment, latencyMs }: SloCandidate, limits: Slo): string {
  const latency =
    headRoomPercent < 0
      ? `${formatMs(latencyMs - limits.maxLatencyMs)} (${formatPercent(-headRoomPercent, false)}) over the limit`
      : '';
  const sqnr = deployment.accuracy?.sqnrDb ?? null;
  const lossy =
    accuracy === 'notChecked'
      ? 'its accuracy is not checked'
      : accuracy === 'missed' && sqnr !== null
        ? `SQNR of ${formatNumber(sqnr, 3)} dB is ${formatNumber((limits.minSqnrDb ?? 0) - sqnr, 2)} dB too low`
        : '';
  return [latency, lossy].filter((part) => part !== '').join(', ');
}

/** One run says nothing of how the next will be. */
function runsWords({ runsQps }: Deployment): string {
  return runsQps.length === 1 ? 'a single run: the next may differ' : `medians of ${runsQps.length} runs`;
}
