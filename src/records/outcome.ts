import * as z from 'zod';

import { count, type Immutable } from './scalars.ts';

export const FAILURE_REASONS = [
  'modelMissing',
  'modelInvalid',
  'operatorUnsupported',
  'shapeInvalid',
  'flagUnknown',
  'flagInvalid',
  'buildFailed',
  'buildFailedSilently',
  'conversionFailed',
  'nothingConverted',
  'engineMissing',
  'engineInvalid',
  'outOfMemory',
  'noGpu',
  'deviceInvalid',
  'dlaUnavailable',
  'inputInvalid',
  'libraryMissing',
  'cudaError',
  'inferenceFailed',
  'outputNotWritten',
  'diskFull',
  'timeout',
  'logTooLong',
  'neighborEnded',
  'killed',
  'cancelled',
  'incomplete',
  'unknown',
] as const;

export type FailureReason = (typeof FAILURE_REASONS)[number];

/** Why a run with numbers is not the requested measurement. */
export const UNFIT_REASONS = [
  'graphNotCaptured',
  'precisionIgnored',
  'shapeGuessed',
  'optionsDiffer',
  'tooFewQueries',
  'notWarmedUp',
  'exportMissing',
  'summaryHidden',
  'excerpt',
  'engineEmpty',
  'suspectErrors',
  'throttled',
  'contended',
  'debugTensors',
] as const;

export type UnfitReason = (typeof UNFIT_REASONS)[number];

const LOG_STREAMS = ['stdout', 'stderr'] as const;

export type LogStream = (typeof LOG_STREAMS)[number];

export const evidenceSchema = z.object({
  line: count.describe('Line number from 1; 0 if it is not in the log'),
  text: z.string(),
  stream: z.enum(LOG_STREAMS),
});

export type Evidence = Immutable<z.infer<typeof evidenceSchema>>;

/** `built`: an engine was built, but nothing was timed. */
export const OUTCOME_KINDS = ['measured', 'built', 'unfit', 'failed'] as const;

export type Outcome =
  | { readonly kind: 'measured' | 'built'; readonly evidence: readonly Evidence[] }
  | { readonly kind: 'unfit'; readonly reason: UnfitReason; readonly evidence: readonly Evidence[] }
  | { readonly kind: 'failed'; readonly reason: FailureReason; readonly evidence: readonly Evidence[] };

/** Whether the request was fulfilled with a measurement or an engine. */
export function isFine({ kind }: Outcome): boolean {
  return kind === 'measured' || kind === 'built';
}

/** A line of a log may be a megabyte long, so evidence is shortened. */
const LONGEST_EVIDENCE = 400;

/** Why runs failed, each reason once with its first evidence: `outOfMemory: CUDA error …`. */
export function failureSentences(outcomes: readonly Outcome[]): string[] {
  const evidence = new Map<string, string | null>();
  for (const outcome of outcomes) {
    const reason = outcomeReason(outcome);
    if (reason === null) continue;
    evidence.set(reason, evidence.get(reason) ?? outcome.evidence[0]?.text ?? null);
  }
  return [...evidence].map(([reason, text]) =>
    text === null ? reason : `${reason}: ${text.slice(0, LONGEST_EVIDENCE)}`,
  );
}

export function outcomeReason(outcome: Outcome): FailureReason | UnfitReason | null {
  return outcome.kind === 'unfit' || outcome.kind === 'failed' ? outcome.reason : null;
}
