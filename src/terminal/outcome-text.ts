import type { FailureReason, Outcome, UnfitReason } from '../records/outcome.ts';
import type { Style } from './look.ts';

/** What each reason means to a person, and what to do about it. */
export const REASON_TEXT: Readonly<Record<FailureReason | UnfitReason, string>> = {
  modelMissing: 'the model file is not there',
  modelInvalid: 'the model is no valid ONNX file',
  operatorUnsupported: 'TensorRT does not know an operator or plugin of the model',
  shapeInvalid: 'the shapes do not fit the model or the engine',
  flagUnknown: 'this trtexec does not know a flag',
  flagInvalid: 'a flag has a value that trtexec does not take',
  buildFailed: 'the engine could not be built',
  buildFailedSilently: 'the build failed, although trtexec passed',
  conversionFailed: 'the model could not be converted to this precision',
  nothingConverted: 'no node of the model was converted to this precision',
  engineMissing: 'the engine file is not there',
  engineInvalid: 'the engine is damaged, or for another TensorRT or GPU',
  outOfMemory: 'out of memory',
  noGpu: 'no GPU, or no driver',
  deviceInvalid: 'no such device',
  dlaUnavailable: 'this machine has no DLA',
  inputInvalid: 'an input file is missing or has the wrong size',
  libraryMissing: 'a library could not be loaded',
  cudaError: 'CUDA reported an error',
  inferenceFailed: 'inference failed',
  outputNotWritten: 'a file could not be written',
  diskFull: 'the disk is full',
  timeout: 'ended by the time limit',
  killed: 'killed',
  cancelled: 'cancelled',
  incomplete: 'the log is not complete',
  unknown: 'failed without a known cause',
  graphNotCaptured: 'CUDA graph was asked for but not used',
  precisionIgnored: 'the precision that was asked for was not used',
  shapeGuessed: 'trtexec guessed a shape',
  optionsDiffer: 'it ran with other options than asked for',
  tooFewQueries: 'too few queries',
  notWarmedUp: 'not warmed up',
  exportMissing: 'an exported file is missing',
  summaryHidden: 'trtexec printed no performance summary',
  engineEmpty: 'the engine is empty',
  suspectErrors: 'it passed, but reported errors, or its numbers contradict each other',
  throttled: 'the GPU was throttled',
  contended: 'something else used the GPU',
  debugTensors: 'debug tensors were marked',
};

/** What comparisons say of a verdict. */
const COMPARISON_REASONS = {
  commonShift: 'it moved with a shift that nearly all cells share',
  unlikeShift: 'it moved otherwise than the shift that nearly all other cells share',
  smallChange: 'a change under 0.5 % that is there, and is never called',
  notSureAmongMany: 'a change that would be sure in one cell, and is not among so many',
  notSureEnough: 'a change that its 95 % interval shows, but not sure enough to be called',
  nightsDiffer: 'more runs do not settle it: nights differ by more than the runs explain',
  runsInDoubt: 'more runs like these do not settle it: the runs themselves are in doubt',
} as const;

const WORDS = new Map<string, string>(Object.entries({ ...REASON_TEXT, ...COMPARISON_REASONS }));

/** `head: outOfMemory: CUDA error …` with words for the reason; what follows it is the evidence. */
export function reasonWords(reason: string): string {
  return reason.replace(
    /^((?:(?:base|head): )?)(\w+)(?=$|: )/,
    (_, side: string, name: string) => `${side}${WORDS.get(name) ?? name}`,
  );
}

/** The same without evidence, which is each cell's own; null where it is no reason that has a name. */
export function reasonTitle(reason: string): string | null {
  const [found, side = '', name = ''] = /^((?:base|head): )?(\w+)(?=: )/.exec(reason) ?? [];
  const words = WORDS.get(name);
  return found === undefined || words === undefined ? null : `${side}${words}`;
}

export function outcomeText(outcome: Outcome, style: Style): string {
  switch (outcome.kind) {
    case 'measured':
    case 'built':
      return style.good(outcome.kind);
    case 'unfit':
      return style.warn(`not a measurement: ${REASON_TEXT[outcome.reason]} (${outcome.reason})`);
    case 'failed':
      return style.bad(`failed: ${REASON_TEXT[outcome.reason]} (${outcome.reason})`);
  }
}
