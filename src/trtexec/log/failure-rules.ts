import type { FailureReason } from '../../records/outcome.ts';
import type { FailureEvidence } from './parsed-log.ts';
import type { LogMessage } from './log-lines.ts';

interface FailureRule {
  readonly reason: FailureReason;
  readonly pattern: RegExp;
}

/** Most specific first: a missing library also makes the build fail ("Building engine failed"). */
const FAILURE_RULES: readonly FailureRule[] = [
  {
    reason: 'libraryMissing',
    pattern:
      /Could not load library|Unable to (?:open|load) library|cannot open shared object file|error while loading shared libraries|Safety is not supported because safety runtime library is unavailable/,
  },
  {
    reason: 'noGpu',
    pattern:
      /no CUDA-capable device|Cannot find any available devices|CUDA driver version is insufficient|forward compatibility was attempted on non supported HW|Cuda failure: (?:35|100)\s*$/,
  },
  { reason: 'deviceInvalid', pattern: /Cannot find device ID|invalid device ordinal|Cuda failure: 101\s*$/ },
  { reason: 'flagUnknown', pattern: /^Unknown option: / },
  {
    reason: 'dlaUnavailable',
    pattern: /Cannot create DLA engine|DLA (?:core|engine) .* not available|DLA is not supported/i,
  },
  { reason: 'diskFull', pattern: /No space left on device|Disk quota exceeded/ },
  {
    reason: 'shapeInvalid',
    pattern:
      /Cannot find input tensor with name|Invalid tensor names found in --shapes|must satisfy MIN<=OPT<=MAX|Required optimization profile is invalid|Error in set dimensions to profile|does not satisfy any optimization profiles|Static dimension mismatch|engineDims\.nbDims == dims\.nbDims|Static model does not take explicit shapes|do not match the static shapes|Selected profile index|conversion failure: failed to parse (?:min|opt|max)?[sS]hapes/,
  },
  {
    reason: 'flagInvalid',
    pattern:
      /^(?:stoi|stof|stod|stoul)\s*$|Percentile \S+ ?is not in|Invalid usage, fp8 and int8|Incompatible load and save engine|conversion failure|Unknown (?:profilingVerbosity|tactic source|precision|sparsity|memory pool)|Invalid TensorFormat|The weight streaming budget can only be set|^Invalid /,
  },
  { reason: 'modelMissing', pattern: /Could not open file .*|Model missing or format not recognized/ },
  {
    reason: 'operatorUnsupported',
    pattern:
      /No importer registered for op|UNSUPPORTED_(?:NODE|GRAPH)|Unsupported operator|could not find plugin|Cannot find plugin|Plugin not found|unsupported op(?:erator)?\b/i,
  },
  {
    reason: 'modelInvalid',
    pattern:
      /MODEL_DESERIALIZE_FAILED|Failed to parse the ONNX model|Network must have at least one output|Failed to parse onnx file|Parsing model failed|INVALID_(?:GRAPH|NODE)/,
  },
  { reason: 'engineMissing', pattern: /Error opening engine file/ },
  {
    reason: 'engineInvalid',
    pattern:
      /deserializeCudaEngine|Engine deserialization failed|Got invalid engine|Version tag does not match|Plan file (?:was|is)|incompatible serialization version/,
  },
  {
    reason: 'inputInvalid',
    pattern: /Unexpected file size for input file|Uncaught exception detected: Cannot open file/,
  },
  {
    reason: 'outOfMemory',
    pattern:
      /out of memory|OutOfMemory|cudaErrorMemoryAllocation|amount of GPU memory \(\d+ bytes\) could not be allocated|Unable to create execution context|std::bad_alloc|Cuda failure: 2\s*$/i,
  },
  {
    reason: 'outputNotWritten',
    pattern: /Saving engine to file failed|Cannot write to FileStreamWriter|Failed to open engine file for/,
  },
  { reason: 'inferenceFailed', pattern: /Error occurred during inference/ },
  {
    reason: 'buildFailed',
    pattern:
      /Engine could not be created from network|Building engine failed|Could not find any implementation for node|Builder creation failed|Network And Config setup failed|Failed to create engine from model/,
  },
  {
    reason: 'cudaError',
    pattern: /Cuda failure|CUDA error|cudaError[A-Z]|CUDA initialization failure|Error Code 1: Cuda (?:Runtime|Driver)/,
  },
  { reason: 'inferenceFailed', pattern: /Inference set up failed/ },
  { reason: 'buildFailed', pattern: /Engine set up failed/ },
];

/** Cheap filter before the rules for lines without a prefix: help texts and layer dumps have thousands of lines. */
const ALERTING = /fail|error|exception|could not|cannot|not found|unable|abort|terminate|no space|out of memory/i;

/** Limit for kept lines of one run: a failing loop may print the same error for hours. */
const MAX_KEPT = 100;

export interface FailureDraft {
  /** With the index of the matching rule: lower is more specific. */
  readonly found: { readonly rank: number; readonly evidence: FailureEvidence }[];
  readonly ranks: Set<number>;
}

export function emptyFailures(): FailureDraft {
  return { found: [], ranks: new Set() };
}

/** Looks for a cause in one message; keeps the first line of each, and some more. */
export function readFailureLine(draft: FailureDraft, message: LogMessage): void {
  const { severity, stream, line, text } = message;
  if (severity === 'W' || (severity === null && !ALERTING.test(text))) return;
  if (severity === 'I' && !text.startsWith('Cannot find ')) return;
  const rank = FAILURE_RULES.findIndex(({ pattern }) => pattern.test(text));
  const rule = FAILURE_RULES[rank];
  if (rule === undefined || (draft.ranks.has(rank) && draft.found.length >= MAX_KEPT)) return;
  draft.ranks.add(rank);
  draft.found.push({ rank, evidence: { reason: rule.reason, stream, line, text: text.trim() } });
}

export function finishFailures({ found }: FailureDraft): FailureEvidence[] {
  return found.toSorted((a, b) => a.rank - b.rank).map(({ evidence }) => evidence);
}
