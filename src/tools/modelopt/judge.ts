import type { ConvertedNodes } from '../../variants/conversion.ts';
import type { Evidence, FailureReason, LogStream } from '../../records/outcome.ts';
import { printable } from '../../text/printable.ts';
import type { ProcessFacts } from '../../trtexec/run-facts.ts';
import { type ConversionFacts, FAILURE_RULES, type FailureRule } from './failure-rules.ts';

export type ConversionResult =
  | { readonly kind: 'made'; readonly converted: ConvertedNodes }
  | {
      readonly kind: 'failed';
      /** The rule that knew it; null for what no rule knows. */
      readonly rule: string | null;
      readonly reason: FailureReason;
      /** One line: what, and what to do. */
      readonly problem: string;
      /** True when the machine lacks something: no other variant could be made either. */
      readonly lacks: boolean;
      readonly evidence: readonly Evidence[];
    };

export interface ConversionLog {
  readonly stdout: string;
  readonly stderr: string;
}

const MAX_TEXT = 300;

/**
 * What became of a conversion. Exit code 0 says nothing: ModelOpt passes when it quantized no node at all, and when
 * the model was quantized before.
 */
export function judgeConversion(
  log: ConversionLog,
  process: Omit<ProcessFacts, 'cancelled' | 'limit'>,
  facts: ConversionFacts,
): ConversionResult {
  const ended = endedByOthers(process);
  if (ended !== null) return failed(ended.reason, ended.problem, log);
  return process.exitCode === 0 ? judgeDone(log, facts) : judgeFailed(log, facts);
}

const TOTAL = /Total number of quantized nodes: (\d+)/;
const ALL_NODES = /Total number of nodes: (\d+)/;
const CONVERTED = /Converted (\d+)\/(\d+) nodes/;
const ALREADY = /Model already has QDQ nodes, skipping quantization/;

function judgeDone({ stdout, stderr }: ConversionLog, facts: ConversionFacts): ConversionResult {
  const { by, model, precision } = facts;
  const log = { stdout, stderr };
  if (ALREADY.test(stdout)) {
    const problem = `${model} is quantized already, nothing was done: make ${precision} from the model before that, or name it as it is (precisions: {${precision}: {onnx: FILE}})`;
    return failed('modelInvalid', problem, log, ALREADY, 'alreadyQuantized');
  }
  const match = last(stdout, by === 'autocast' ? CONVERTED : TOTAL);
  if (match === null) {
    const what = by === 'autocast' ? 'converted' : 'quantized';
    const problem = `the log does not say how many nodes were ${what}: bench knows ModelOpt 0.47.0, this is ${facts.modelopt ?? 'unknown'}`;
    return failed('conversionFailed', problem, log);
  }
  const nodes = Number(match[1]);
  const of = by === 'autocast' ? Number(match[2]) : numberIn(stdout, ALL_NODES);
  if (nodes > 0) return { kind: 'made', converted: { nodes, of } };
  return by === 'autocast'
    ? failed('nothingConverted', nothingCast(facts), log, CONVERTED, 'nothingConverted')
    : failed('nothingConverted', nothingQuantized(facts), log, TOTAL, 'nothingConverted');
}

function nothingCast({ model, precision }: ConversionFacts): string {
  return `AutoCast converted no node of ${model}: it would not be ${precision}`;
}

/** Seen with 0.47.0: why it leaves out every layer of a small model. */
function nothingQuantized({ model, precision }: ConversionFacts): string {
  return `ModelOpt quantized no node of ${model}: it would not be ${precision}. It leaves out MatMul and Gemm with a dimension of 1 or under 16, ${precision === 'fp8' ? 'Conv of 16 channels or fewer, ' : ''}and what exclude and opTypes say; a larger batch in calibration.shapes (or build.opt) may help`;
}

function judgeFailed(log: ConversionLog, facts: ConversionFacts): ConversionResult {
  // A traceback ends standard error; what led to it stands in the log before.
  const text = `${log.stdout}\n${log.stderr}`;
  for (const rule of FAILURE_RULES) {
    const match = rule.pattern.exec(text);
    if (match !== null) return failedBy(rule, match, log, facts);
  }
  const words = lastLine(log.stderr) ?? lastLine(log.stdout);
  return failed('conversionFailed', words === null ? 'it said nothing' : `it ended with: ${words}`, log);
}

function failedBy(
  rule: FailureRule,
  match: RegExpExecArray,
  log: ConversionLog,
  facts: ConversionFacts,
): ConversionResult {
  const problem = oneLine(rule.problem(match, facts));
  const lines = match[0].trimEnd().split('\n');
  const words = lines.at(-1)?.trim() ?? '';
  return {
    kind: 'failed',
    rule: rule.id,
    reason: rule.reason,
    problem,
    lacks: rule.lacks === true,
    evidence: [said(problem), ...lineOf(log, (line) => words !== '' && line.includes(words))],
  };
}

function endedByOthers({
  exitCode,
  signal,
  timedOut,
}: Omit<ProcessFacts, 'cancelled' | 'limit'>): { reason: FailureReason; problem: string } | null {
  if (timedOut) {
    return { reason: 'timeout', problem: 'ended by the time limit: timeoutS of the precision' };
  }
  const name = signal ?? (exitCode === 137 ? 'SIGKILL' : null);
  if (name === null) return null;
  const problem = name === 'SIGKILL' ? 'killed, as when memory runs out' : `ended by the signal ${name}`;
  return { reason: 'killed', problem };
}

function failed(
  reason: FailureReason,
  problem: string,
  log: ConversionLog,
  pattern: RegExp | null = null,
  rule: string | null = null,
): ConversionResult {
  const evidence = pattern === null ? [] : lineOf(log, (line) => pattern.test(line));
  return {
    kind: 'failed',
    rule,
    reason,
    problem: oneLine(problem),
    lacks: false,
    evidence: [said(oneLine(problem)), ...evidence],
  };
}

/** A statement that no line of the log says. */
function said(text: string): Evidence {
  return { stream: 'stderr', line: 0, text };
}

function lineOf(log: ConversionLog, isIt: (line: string) => boolean): Evidence[] {
  for (const stream of ['stderr', 'stdout'] as const satisfies readonly LogStream[]) {
    const lines = log[stream].split('\n');
    const index = lines.findLastIndex(isIt);
    if (index !== -1) {
      return [{ stream, line: index + 1, text: printable((lines[index] ?? '').trim()).slice(0, MAX_TEXT) }];
    }
  }
  return [];
}

function last(text: string, pattern: RegExp): RegExpExecArray | null {
  return [...text.matchAll(new RegExp(pattern, 'g'))].at(-1) ?? null;
}

function numberIn(text: string, pattern: RegExp): number | null {
  const match = last(text, pattern);
  return match === null ? null : Number(match[1]);
}

function lastLine(text: string): string | null {
  const line = text
    .split('\n')
    .map((part) => part.trim())
    .findLast((part) => part !== '');
  return line === undefined ? null : oneLine(line);
}

function oneLine(text: string): string {
  return printable(text.replace(/\s+/g, ' ').trim()).slice(0, 2 * MAX_TEXT);
}
