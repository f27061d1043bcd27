import { conversionFailure, type ConversionFailure, type ConvertedNodes } from '../../records/conversion.ts';
import type { Evidence, FailureReason } from '../../records/outcome.ts';
import { printable } from '../../text/printable.ts';
import type { ProcessFacts } from '../../trtexec/run-facts.ts';
import { type ConversionFacts, FAILURE_RULES, problemText } from './failure-rules.ts';

export type ConversionResult =
  | { readonly converted: ConvertedNodes }
  /** `lacks`: the machine lacks something, so that no other variant could be made either. */
  | { readonly failure: ConversionFailure; readonly lacks: boolean };

interface ConversionLog {
  readonly stdout: string;
  readonly stderr: string;
}

const MAX_TEXT = 300;

type Ended = Pick<ProcessFacts, 'exitCode' | 'signal' | 'timedOut'>;

/**
 * Judges a conversion. Exit code 0 proves nothing, because ModelOpt also passes if it quantized no node, or if the
 * model was already quantized.
 */
export function judgeConversion(log: ConversionLog, process: Ended, facts: ConversionFacts): ConversionResult {
  const { exitCode, signal, timedOut } = process;
  if (timedOut)
    return failed(log, { reason: 'timeout', problem: 'stopped by the time limit: timeoutS of the precision' });
  const name = signal ?? (exitCode === 137 ? 'SIGKILL' : null);
  if (name !== null) {
    const problem = name === 'SIGKILL' ? 'killed, as when memory runs out' : `ended by the signal ${name}`;
    return failed(log, { reason: 'killed', problem });
  }
  return process.exitCode === 0 ? judgeDone(log, facts) : judgeFailed(log, facts);
}

const QUANTIZED = /Total number of quantized nodes: (\d+)/;
const ALL_NODES = /Total number of nodes: (\d+)/;
const CONVERTED = /Converted (\d+)\/(\d+) nodes/;

function judgeDone(log: ConversionLog, facts: ConversionFacts): ConversionResult {
  const { by, model, modelopt, precision } = facts;
  const isCast = by === 'autocast';
  const pattern = isCast ? CONVERTED : QUANTIZED;
  const match = last(log.stdout, pattern);
  if (match === null) {
    const what = isCast ? 'converted' : 'quantized';
    const problem = `the log does not say how many nodes were ${what}: bench knows ModelOpt 0.47.0, this is ${modelopt ?? 'unknown'}`;
    return failed(log, { problem });
  }
  const nodes = Number(match[1]);
  const all = isCast ? match[2] : last(log.stdout, ALL_NODES)?.[1];
  if (nodes > 0) return { converted: { nodes, of: all === undefined ? null : Number(all) } };
  const nothing = `no node of ${model}: it would not be ${precision}`;
  // Why ModelOpt (seen with 0.47.0) skips every layer of a small model.
  const skipped = `It leaves out MatMul and Gemm with a dimension of 1 or under 16, ${precision === 'fp8' ? 'Conv of 16 channels or fewer, ' : ''}and what exclude and opTypes say; a larger batch in calibration.shapes (or build.opt) may help`;
  const problem = isCast ? `AutoCast converted ${nothing}` : `ModelOpt quantized ${nothing}. ${skipped}`;
  return failed(log, { reason: 'nothingConverted', problem, words: match[0] });
}

function judgeFailed(log: ConversionLog, facts: ConversionFacts): ConversionResult {
  // A traceback ends standard error, and the log before it shows what led to it.
  const text = `${log.stdout}\n${log.stderr}`;
  for (const { pattern, problem, ...rule } of FAILURE_RULES) {
    const match = pattern.exec(text);
    if (match === null) continue;
    const words = match[0].trimEnd().split('\n').at(-1)?.trim() || null;
    return failed(log, { ...rule, problem: problemText(problem, match.groups ?? {}, facts), words });
  }
  const words = lastLine(log.stderr) ?? lastLine(log.stdout);
  return failed(log, { problem: words === null ? 'it said nothing' : `it ended with: ${words}` });
}

interface Failure {
  readonly reason?: FailureReason;
  readonly lacks?: boolean;
  readonly problem: string;
  /** Words of the line of the log that is the evidence. */
  readonly words?: string | null;
}

function failed(log: ConversionLog, failure: Failure): ConversionResult {
  const { reason = 'conversionFailed', lacks = false, words = null } = failure;
  const evidence = words === null ? [] : lineWith(log, words);
  return { failure: conversionFailure(reason, oneLine(failure.problem), evidence), lacks };
}

function lineWith(log: ConversionLog, words: string): Evidence[] {
  for (const stream of ['stderr', 'stdout'] as const) {
    const lines = log[stream].split('\n');
    const index = lines.findLastIndex((line) => line.includes(words));
    const text = printable(lines[index]?.trim() ?? '').slice(0, MAX_TEXT);
    if (index !== -1) return [{ stream, line: index + 1, text }];
  }
  return [];
}

function last(text: string, pattern: RegExp): RegExpExecArray | null {
  return [...text.matchAll(new RegExp(pattern, 'g'))].at(-1) ?? null;
}

function lastLine(text: string): string | null {
  const line = text.split('\n').findLast((part) => part.trim() !== '');
  return line === undefined ? null : oneLine(line);
}

function oneLine(text: string): string {
  return printable(text.replace(/\s+/g, ' ').trim()).slice(0, 2 * MAX_TEXT);
}
