import type { LayerFacts } from '../../layers/layer-facts.ts';
import type { LayersSummary } from '../../layers/summarize-layers.ts';
import { outcomeReason, type Outcome } from '../../records/outcome.ts';
import { printable } from '../../text/printable.ts';
import type { EnqueueClass } from '../../trtexec/run-facts.ts';
import type { Look } from '../../terminal/look.ts';
import { formatMs, formatNumber, formatPercent } from '../../terminal/numbers.ts';
import { REASON_TEXT } from '../../terminal/outcome-text.ts';
import { shellLine } from '../../text/shell-quote.ts';
import { wrapHanging } from '../../terminal/text-width.ts';
import type { ExplainOutput, Rung } from './output.ts';

export interface RunSays {
  readonly outcome: Outcome;
  readonly gpuComputeMs: number | null;
  readonly enqueue: { readonly ratio: number; readonly class: EnqueueClass } | null;
  /** Null when nothing says. */
  readonly hasGraph: boolean | null;
  /** Null without a layer profile. */
  readonly summary: LayersSummary | null;
  readonly hottest: LayerFacts | null;
}

const ENQUEUE: Readonly<Record<EnqueueClass, string>> = {
  free: 'the host keeps well ahead of the GPU',
  near: 'the host is near to holding the GPU up',
  bound: 'the host holds the GPU up: a CUDA graph or a larger batch helps',
};

/** What a run says of itself, in sentences. */
export function findingsOf(said: RunSays): string[] {
  const { enqueue, gpuComputeMs, hasGraph, hottest, outcome, summary } = said;
  const reason = outcomeReason(outcome);
  const floor = summary === null || hasGraph === true ? null : summary.launchFloorMs;
  return [
    ...(reason === null ? [] : [`${REASON_TEXT[reason]} (${reason})`]),
    ...(gpuComputeMs === null ? [] : [`GPU compute ${formatMs(gpuComputeMs)} (median)`]),
    ...(enqueue === null ? [] : [`enqueue takes ${formatNumber(enqueue.ratio, 2)} of that: ${ENQUEUE[enqueue.class]}`]),
    ...(floor === null
      ? []
      : [
          `launching ${summary?.layers ?? 0} layers takes ${formatNumber(floor[0], 2)} to ${formatNumber(floor[1], 2)} ms of the host`,
        ]),
    ...(hottest === null || summary === null
      ? []
      : [
          `the layer that takes longest has ${formatMs(hottest.averageMs)}, ${formatPercent((hottest.averageMs / summary.totalMs) * 100, false)} of all layers: ${hottest.name}`,
        ]),
  ];
}

const TOOL_NAMES: Readonly<Record<Rung['tool'], string>> = {
  trtexec: 'trtexec',
  nsys: 'Nsight Systems',
  ncu: 'Nsight Compute',
};

export function explainText(explained: ExplainOutput, look: Look): string[] {
  const { findings, label, ladder, next, provenance, runId } = explained;
  const { columns, style } = look;
  return [
    ...wrapHanging(`${printable(label ?? 'run')} · run ${runId.slice(0, 8)}, ${provenance}`, columns, 2).map(
      style.strong,
    ),
    ...findings.flatMap((finding) => wrapHanging(`  ${printable(finding)}`, columns, 4)),
    ...ladder.flatMap((rung) => ['', ...rungLines(rung, look)]),
    ...(next === null
      ? ['', 'no next step: there is nothing of trtexec to profile; `bench show` has the log']
      : ['', `${style.strong('next step')}: ${TOOL_NAMES[next.tool]}, ${nextLine(next)}`]),
  ];
}

function rungLines({ tool, state, says, commands }: Rung, { columns, style }: Look): string[] {
  const mark = { done: '✓', next: '→', later: ' ' }[state];
  return [
    ...wrapHanging(`${mark} ${TOOL_NAMES[tool]}: ${says}`, columns, 4).map((line) =>
      state === 'next' ? style.accent(line) : line,
    ),
    // On one line whatever the width: they are copied.
    ...commands.map((argv) => `    ${shellLine(argv)}`),
  ];
}

function nextLine({ bench, commands }: Rung): string {
  const line = bench ?? commands.at(-1);
  return line === undefined ? 'with the engine of this run; how it was called is not known' : shellLine(line);
}
