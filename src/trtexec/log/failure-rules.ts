import type { Evidence, FailureReason } from '../../records/outcome.ts';
import type { LogMessage } from './log-lines.ts';

type FailureEvidence = Evidence & { readonly reason: FailureReason };

/** TensorRT prints it as a warning, and goes on without a GPU until something else fails. */
const CUDA_NOT_INITIALIZED = /CUDA initialization failure/i;

/** Applies only to a run that was given an engine, before TensorRT has read it. */
const LOADING_FAILED = /^LLVM ERROR: /;

/** Most specific first: a missing library also makes the build fail ("Building engine failed"). */
const FAILURE_RULES: readonly (readonly [reason: FailureReason, pattern: RegExp])[] = [
  [
    'libraryMissing',
    /Could not load library|Unable to (?:open|load) library|cannot open shared object file|error while loading shared libraries|Safety is not supported because safety runtime library is unavailable/,
  ],
  [
    'noGpu',
    /no CUDA-capable device|Cannot find any available devices|CUDA driver version is insufficient|forward compatibility was attempted on non supported HW|Cuda failure: (?:35|100)\s*$|CUDA initialization failure with error:? (?:35|100)\b/i,
  ],
  ['deviceInvalid', /Cannot find device ID|invalid device ordinal|Cuda failure: 101\s*$/],
  ['flagUnknown', /^Unknown option: /],
  ['dlaUnavailable', /Cannot create DLA engine|DLA (?:core|engine) .* not available|DLA is not supported/i],
  ['diskFull', /No space left on device|Disk quota exceeded/],
  [
    'shapeInvalid',
    /Cannot find input tensor with name|Invalid tensor names found in --shapes|must satisfy MIN<=OPT<=MAX|Required optimization profile is invalid|Error in set dimensions to profile|does not satisfy any optimization profiles|Static dimension mismatch|engineDims\.nbDims == dims\.nbDims|Static model does not take explicit shapes|do not match the static shapes|Selected profile index|conversion failure: failed to parse (?:min|opt|max)?[sS]hapes/,
  ],
  [
    'flagInvalid',
    /^(?:stoi|stof|stod|stoul)\s*$|Percentile \S+ ?is not in|Invalid usage, fp8 and int8|Incompatible load and save engine|conversion failure|Unknown (?:profilingVerbosity|tactic source|precision|sparsity|memory pool)|Invalid TensorFormat|The weight streaming budget can only be set|^Invalid /,
  ],
  ['modelMissing', /Could not open file .*|Model missing or format not recognized/],
  [
    'operatorUnsupported',
    /No importer registered for op|UNSUPPORTED_(?:NODE|GRAPH)|Unsupported operator|could not find plugin|Cannot find plugin|Plugin not found|unsupported op(?:erator)?\b/i,
  ],
  [
    'modelInvalid',
    /MODEL_DESERIALIZE_FAILED|Failed to parse (?:the )?ONNX model|Error parsing text-format \S*ModelProto|ModelProto (?:has no|does not have a) graph|Network must have at least one output/,
  ],
  ['engineMissing', /Error opening engine file/],
  [
    'engineInvalid',
    /deserializeCudaEngine|Engine deserialization failed|Got invalid engine|Version tag does not match|[Pp]lan file (?:was|is)|incompatible serialization version/,
  ],
  ['engineInvalid', LOADING_FAILED],
  ['inputInvalid', /Unexpected file size for input file|Uncaught exception detected: Cannot open file/],
  [
    'outOfMemory',
    /out of memory|OutOfMemory|cudaErrorMemoryAllocation|amount of GPU memory \(\d+ bytes\) could not be allocated|Unable to create execution context|std::bad_alloc|Cuda failure: 2\s*$/i,
  ],
  ['outputNotWritten', /Saving engine to file failed|Cannot write to FileStreamWriter|Failed to open engine file for/],
  ['cudaError', CUDA_NOT_INITIALIZED],
  ['inferenceFailed', /Error occurred during inference|NVMEDIA_DLA\b.*\bERROR\b|DLA Error in |FAILED_EXECUTION/],
  ['operatorUnsupported', /Failed to parse onnx file|Parsing model failed|INVALID_(?:GRAPH|NODE)/],
  [
    'buildFailed',
    /NVRTC Compilation failure|not supported in this NVRTC version|could not find any supported formats|Engine could not be created from network|Building engine failed|Could not find any implementation for node|Builder creation failed|Network And Config setup failed|Failed to create engine from model/,
  ],
  ['cudaError', /Cuda failure|CUDA error|cudaError[A-Z]|Error Code 1: Cuda (?:Runtime|Driver)/],
  ['inferenceFailed', /Inference set up failed/],
  ['buildFailed', /Engine set up failed/],
];

/**
 * Lines that say only that something failed: trtexec's line for a failed step, and the text around a message of the
 * parser.
 */
const SAYS_NO_WHY =
  /^(?:Failed to (?:parse (?:onnx|uff|caffe) file|create engine from model(?: or file)?)|(?:Parsing model|Building engine|Engine deserialization|(?:Builder|Network|Config|Parser|Engine) (?:creation|validation)|(?:Engine|Inference|Network And Config) set ?up) failed|Engine could not be \w+(?: from network)?|Got invalid engine|Error occurred during inference|FAILED_EXECUTION: std::exception)[.!]?\s*$|Could not find any implementation for node|Assertion engine\w* != nullptr failed|ModelImporter\.cpp:\d+: \w+: "|While parsing node number|--- (?:Begin|End) node ---|^\[\d+\] Invalid Node - /i;

/** The parser's message follows in lines without a prefix. */
const INTRODUCES = /\bIn function \S+:\s*$/;

/** A line without a prefix that states an error. */
const STATES_ERROR =
  /^\s*(?:\[[EF]\] |(?:LLVM )?ERROR: |Error\[\d+\]: |terminate called|what\(\): )|: Error Code \d+: |Assertion failed|CHECK\(.*\) failed/;

/** Errors about a timing cache that cannot be used: trtexec goes on without it. */
export const OF_TIMING_CACHE = /timing cache|magicTagRead|stdArchiveReader|myelinCache/i;

/**
 * A cheap filter before the rules for lines without a prefix, because help texts and layer dumps have thousands of
 * lines.
 */
const ALERTING =
  /fail|error|exception|could not|cannot|not found|not supported|unable|abort|terminate|what\(\)|no space|out of memory/i;

/** Limit for kept lines of one run: a failing loop may print the same error for hours. */
const MAX_KEPT = 100;
const MAX_CAUSES = 3;

export class FailureDraft {
  /** `rank` is the index of the matching rule: lower is more specific. */
  readonly found: { readonly rank: number; readonly evidence: FailureEvidence }[] = [];
  private readonly ranks = new Set<number>();
  /** The first lines that say why something failed, whether or not a rule knows them. */
  private readonly causes: Evidence[] = [];
  private isIntroduced = false;

  /** Looks for a cause in one message; keeps the first line of each cause, and a few more. */
  read({ severity, stream, line, text }: LogMessage, isLoading: () => boolean): void {
    const isError = severity === 'E' || severity === 'F';
    const isIntroduced = severity === null && this.isIntroduced && text.trim() !== '';
    this.isIntroduced = INTRODUCES.test(text) || isIntroduced;
    if (severity === 'W' && !CUDA_NOT_INITIALIZED.test(text)) return;
    if (severity === null && !isIntroduced && !ALERTING.test(text)) return;
    if (severity === 'I' && !text.startsWith('Cannot find ')) return;
    const rank = FAILURE_RULES.findIndex(
      ([, pattern]) => pattern.test(text) && (pattern !== LOADING_FAILED || isLoading()),
    );
    const [reason] = FAILURE_RULES[rank] ?? [];
    const evidence = { stream, line, text: text.trim() };
    const saysWhy =
      (isError || isIntroduced || reason !== undefined || STATES_ERROR.test(text)) && !saysNoWhy(evidence);
    if (saysWhy && this.causes.length < MAX_KEPT) this.causes.push(evidence);
    if (reason === undefined || (this.ranks.has(rank) && this.found.length >= MAX_KEPT)) return;
    this.ranks.add(rank);
    this.found.push({ rank, evidence: { reason, ...evidence } });
  }

  /** The first lines that say why something failed; without those about a timing cache if that failed. */
  finishCauses(cacheFailed: boolean): Evidence[] {
    return this.causes.filter(({ text }) => !(cacheFailed && OF_TIMING_CACHE.test(text))).slice(0, MAX_CAUSES);
  }

  /** If the lines with the reason do not say why, those that do come first. */
  finish(causes: readonly Evidence[]): FailureEvidence[] {
    const sorted = this.found.toSorted((a, b) => a.rank - b.rank).map(({ evidence }) => evidence);
    const [first] = sorted;
    if (first === undefined || !saysNoWhy(first)) return sorted;
    const { reason } = first;
    return [...causes.map((cause) => ({ reason, ...cause })), ...withoutLines(sorted, causes)];
  }
}

function saysNoWhy({ text }: Evidence): boolean {
  return SAYS_NO_WHY.test(text) || INTRODUCES.test(text);
}

/** `lines` without those that are also in `others`. */
export function withoutLines<Line extends Evidence>(lines: readonly Line[], others: readonly Evidence[]): Line[] {
  return lines.filter(({ line, stream }) => !others.some((other) => other.line === line && other.stream === stream));
}
