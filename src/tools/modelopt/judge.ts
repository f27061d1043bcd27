import { conversionFailure, type Converter } from '../../records/conversion.ts';
import type { Evidence, FailureReason } from '../../records/outcome.ts';
import { printable } from '../../text/printable.ts';
import type { ProcessFacts } from '../../trtexec/run-facts.ts';
import { modeloptInstall } from './packages.ts';

interface ConversionFacts {
  readonly by: Converter;
  readonly precision: string;
  readonly interpreter: string;
  /** Version of nvidia-modelopt; null if unknown. */
  readonly modelopt: string | null;
  readonly model: string;
}

type ConversionLog = Readonly<Record<'stdout' | 'stderr', string>>;

interface Failure {
  /** Default: `conversionFailed`. */
  readonly reason?: FailureReason;
  /** True if the machine lacks something, so that no other variant could be made either. */
  readonly lacks?: boolean;
  readonly problem: string;
  /** Words of the line of the log that is the evidence. */
  readonly words?: string | null;
}

interface FailureRule extends Pick<Failure, 'lacks' | 'reason'> {
  /** Matches the end of standard error, which follows the logs of standard output. */
  readonly pattern: RegExp;
  readonly problem: (groups: Readonly<Record<string, string>>, facts: ConversionFacts) => string;
}

/**
 * Errors of ModelOpt's ONNX tools (seen with 0.47.0) that bench cannot exclude before it starts them, most reliable
 * first. ERROR and WARNING in its log mean nothing: every good run on a CPU prints both.
 */
const FAILURE_RULES: readonly FailureRule[] = [
  {
    pattern: /^(?:\w+: )?(?<what>[^\n]+)\nPlease install optional ``\[onnx\]`` dependencies\.\s*$/m,
    problem: ({ what }, { interpreter }) =>
      `a package of ModelOpt is missing in ${interpreter} (${what}): ${modeloptInstall(interpreter)}`,
    lacks: true,
  },
  {
    pattern: /^(?!.*WARNING).*No module named '?(?<what>[\w.]+)/m,
    problem: ({ what }, { interpreter, precision }) =>
      `${precision} needs the Python package ${what}, which ${interpreter} does not have: ${modeloptInstall(interpreter)}`,
    lacks: true,
  },
  {
    pattern: /error: (?<what>(?:unrecognized arguments|argument|the following arguments are required).*)/,
    problem: ({ what }, { interpreter, modelopt }) =>
      `ModelOpt ${modelopt ?? 'of this version'}: ${what}: bench knows 0.47.0 (${modeloptInstall(interpreter)})`,
  },
  {
    pattern: /\[Errno 28\] No space left on device/,
    problem: () => 'the disk is full: about three times the size of the model must be free where variants are made',
    reason: 'diskFull',
  },
  {
    pattern: /Unsupported op types in (?<mode>\w+) mode: '?\{(?<what>[^}]*)\}'?/,
    problem: ({ mode, what }) => `${mode} cannot quantize the operator ${what}`,
  },
  {
    pattern: /Invalid input shape: \{(?<what>[^}]*)\}/,
    problem: ({ what }) =>
      `a dynamic dimension was calibrated as 1 (shape ${what}): state calibration: {shapes: {INPUT: 1x3x224x224}}`,
    reason: 'shapeInvalid',
  },
  {
    pattern: /Found custom operators: \{(?<what>[^}]*)\}[\s\S]*NameError: name 'trt' is not defined/,
    problem: ({ what }) => `the model has the custom operator ${what}: its conversion needs TensorRT's Python package`,
    reason: 'operatorUnsupported',
  },
  {
    pattern: /MemoryError|bad_alloc|Failed to allocate memory/,
    problem: () => 'memory ran out: smaller calibration.shapes take less',
    reason: 'outOfMemory',
  },
];

const MAX_TEXT = 300;

type Ended = Pick<ProcessFacts, 'exitCode' | 'signal' | 'timedOut'>;

/**
 * Judges a conversion. Exit code 0 proves nothing, because ModelOpt also passes if it quantized no node, or if the
 * model was already quantized.
 */
export function judgeConversion(log: ConversionLog, process: Ended, facts: ConversionFacts) {
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

function judgeDone(log: ConversionLog, facts: ConversionFacts) {
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

function judgeFailed(log: ConversionLog, facts: ConversionFacts) {
  // A traceback ends standard error, and the log before it shows what led to it.
  const text = `${log.stdout}\n${log.stderr}`;
  for (const { pattern, problem, ...rule } of FAILURE_RULES) {
    const match = pattern.exec(text);
    if (match === null) continue;
    const words = match[0].trimEnd().split('\n').at(-1)?.trim() || null;
    return failed(log, { ...rule, problem: problem(match.groups ?? {}, facts), words });
  }
  const words = lastLine(log.stderr) ?? lastLine(log.stdout);
  return failed(log, { problem: words === null ? 'it said nothing' : `it ended with: ${words}` });
}

function failed(log: ConversionLog, failure: Failure) {
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
