import { BOUND_ADVICE, FLAG_OF_BOUND } from '../judge/bound.ts';
import type { LayerKind } from '../layers/layer-facts.ts';
import { BOUND_WORDS, type CellBound } from '../records/bound.ts';
import { type MetricId, isOfBuild, metricOf } from '../records/metric.ts';
import {
  type FailureReason,
  type Outcome,
  type UnfitReason,
  FLAG_LABELS,
  type RunFlag,
  type RunFlagId,
} from '../records/outcome.ts';
import { COMPARE_BRANCH, type Sweep } from '../records/sweep.ts';
import type { Verdict } from '../records/verdict.ts';
import { printable } from '../text/printable.ts';
import { type Look, type Style, truncate, wrapHanging } from './look.ts';

export const REASON_TEXT: Readonly<Record<FailureReason | UnfitReason, string>> = {
  modelMissing: 'the model file is missing',
  modelInvalid: 'the model is not a valid ONNX file',
  operatorUnsupported: 'TensorRT cannot parse the model, or lacks one of its plugins',
  shapeInvalid: 'the shapes do not fit the model or the engine',
  flagUnknown: 'this trtexec does not know a flag',
  flagInvalid: 'a flag has a value that trtexec does not accept',
  buildFailed: 'the engine could not be built',
  buildFailedSilently: 'the build failed, although trtexec printed PASSED',
  conversionFailed: 'the model could not be converted to this precision',
  nothingConverted: 'no node of the model was converted to this precision',
  engineMissing: 'the engine file is missing',
  engineInvalid: 'the engine is damaged, or for another TensorRT or GPU',
  outOfMemory: 'out of memory',
  noGpu: 'no GPU, or no driver',
  deviceInvalid: 'the device does not exist',
  dlaUnavailable: 'this machine has no DLA',
  inputInvalid: 'an input file is missing or does not fit',
  libraryMissing: 'a library could not be loaded',
  cudaError: 'CUDA reported an error',
  inferenceFailed: 'inference failed',
  outputNotWritten: 'a file could not be written',
  diskFull: 'the disk is full',
  timeout: 'stopped by the time limit',
  logTooLong: 'stopped because its log was too long',
  neighborEnded: 'its neighbor ended first',
  killed: 'killed',
  cancelled: 'cancelled',
  incomplete: 'the log is not complete',
  unknown: 'failed without a known cause',
  graphNotCaptured: 'a CUDA graph was requested but not used',
  precisionIgnored: 'the requested precision was not used',
  shapeGuessed: 'trtexec guessed a shape',
  optionsDiffer: 'it ran with other options than requested',
  tooFewQueries: 'too few queries',
  notWarmedUp: 'not warmed up',
  exportMissing: 'an exported file is missing',
  summaryHidden: 'trtexec printed no performance summary',
  excerpt: 'an excerpt of a log, without a whole summary',
  engineEmpty: 'the build wrote no engine',
  suspectErrors: 'it passed, but reported errors, or its numbers contradict each other',
  throttled: 'the GPU was throttled',
  contended: 'something else used the GPU',
  debugTensors: 'debug tensors were marked',
};

const COMPARISON_REASONS = {
  commonShift: 'it moved with a shift that nearly all cells share',
  unlikeShift: 'it moved differently from the shift that nearly all other cells share',
  smallChange: 'a difference below 0.5 %, too small to report',
  belowMinChange: 'a change below the smallest one that counts (--min-change, or minChange of the matrix)',
  notSureEnough: 'a change that its 95 % interval shows, but not significant enough to be reported',
  farRun: 'one run of a side is far from the others and left out',
  notByRuns: 'more runs like these do not settle it: they are flagged, or sweeps differ by more than runs explain',
} as const;

const WORDS = new Map<string, string>(Object.entries({ ...REASON_TEXT, ...COMPARISON_REASONS }));

/** Replaces the name of a reason, as in `head: outOfMemory: CUDA error …`, by its words; evidence follows. */
export function reasonWords(reason: string): string {
  return reason.replace(
    /^((?:(?:base|head|its build): )?)(\w+)(?=$|: )/,
    (_, side: string, name: string) => `${side}${WORDS.get(name) ?? name}`,
  );
}

/** The words for a reason without evidence; null for an unknown reason. */
export function reasonTitle(reason: string): string | null {
  const [found, side = '', name = ''] = /^((?:base|head): )?(\w+)(?=: )/.exec(reason) ?? [];
  const words = WORDS.get(name);
  return found === undefined || words === undefined ? null : `${side}${words}`;
}

export function outcomeText(outcome: Outcome, style: Style): string {
  if (!('reason' in outcome)) return style.good(outcome.kind);
  const why = `${REASON_TEXT[outcome.reason]} (${outcome.reason})`;
  return outcome.kind === 'failed' ? style.bad(`failed: ${why}`) : style.warn(`not a measurement: ${why}`);
}

const ADVICE: Readonly<Record<RunFlagId, string>> = {
  powerLimited: BOUND_ADVICE.power,
  thermalSlowdown: 'let it cool down, check its fan or airflow, and run again',
  hardwareSlowdown: 'check power supply and cooling, and run again',
  clockOffLevel: 'run again; lock the clocks with nvidia-smi -lgc if you can',
  drifting: 'increase warmUpMs until the times are stable',
  contended: BOUND_ADVICE.contended,
  hostBound: BOUND_ADVICE.host,
  hostJitter: 'use a CUDA graph: without one, GPU times include the gaps between launches',
  hostLoaded: 'keep other work off the CPUs while runs are timed',
  bimodal: 'look for a clock or a process that comes and goes; run it more often',
  coarseTimer: 'make runs shorter and repeat them, or use a larger batch',
  loneOutlier: 'the medians are not affected; measure more runs before you trust p99',
  upperBound: 'a limit to compare with: never a baseline, never the best',
  invalidOutput: 'only its speed counts: do not use its outputs',
  profilingOn: 'run again without the profiler: its times are never a baseline',
  capture: 'for a profiler only: measure it with a warm-up and a duration',
  debugTensors: 'look at the tensors, and measure without these flags',
  pcieReduced: 'check slot, riser and BIOS: copies are slower than necessary',
  warmUpUnknown: 'keep the whole log, of TensorRT 8 or newer: a cold GPU is slower at first',
};

/**
 * What helps, and the cells that have it.
 * @param bound bottleneck of the same runs, whose advice also applies to the corresponding flag
 */
export function adviceOf({ id }: Pick<RunFlag, 'id'>, bound: CellBound | null): string[] {
  if (bound !== null && FLAG_OF_BOUND[bound.by] === id) return [bound.advice, ...(bound.remedies ?? [])];
  return [ADVICE[id]];
}

/** `contended: 9 % of the queries ...`, then the advice. */
export function flagLines(
  flag: Pick<RunFlag, 'id' | 'effect' | 'evidence'>,
  look: Look,
  advice: readonly string[],
  times = '',
): string[] {
  const { columns, style } = look;
  const color = flag.effect === 'explained' ? style.dim : flag.effect === 'barred' ? style.bad : style.warn;
  const text = `  ${FLAG_LABELS[flag.id]}${times}: ${printable(flag.evidence)}`;
  return [color(truncate(text, columns)), ...adviceLines(advice, look)];
}

function adviceLines(advice: readonly string[], { columns, style }: Look): string[] {
  return advice.flatMap((text) => wrapHanging(`    → ${printable(text)}`, columns, 6).map(style.dim));
}

/**
 * `bound by the host: GPU busy 53 % of the time`, then the advice; empty if a flag already says so.
 * @param flags flags shown next to it
 */
export function boundLines(
  bound: CellBound | null,
  flags: readonly Pick<RunFlag, 'id'>[],
  look: Look,
  times = '',
): string[] {
  const { columns, style } = look;
  if (bound === null) return [style.dim('  bound by: not known')];
  const { advice, by, evidence, remedies = [] } = bound;
  const says = `  bound by ${BOUND_WORDS[by]}${times}`;
  if (flags.some(({ id }) => id === FLAG_OF_BOUND[by])) return [truncate(says, columns)];
  const because = by === 'compute' ? '' : `: ${printable(evidence)}`;
  return [...wrapHanging(`${says}${because}`, columns, 4), ...adviceLines([advice, ...remedies], look)];
}

/** Each verdict has its own sign, so that none depends on color alone. */
export const VERDICT_LOOKS = {
  slower: ['▲', 'bad'],
  faster: ['▼', 'good'],
  same: ['=', 'dim'],
  unclear: ['?', 'warn'],
  missing: ['∅', 'dim'],
  failed: ['✗', 'bad'],
  incomparable: ['≠', 'warn'],
} as const satisfies Readonly<Record<Verdict, readonly [sign: string, style: keyof Style]>>;

/** The verdict in text; the missing result is explained by a reason. */
export function verdictWord(verdict: Verdict): string {
  return verdict === 'missing' || verdict === 'failed' || verdict === 'incomparable' ? 'no result' : verdict;
}

/** The meaning of the numbers in a table: `GPU compute time, median of runs`; empty without any. */
export function estimateWords(metrics: Iterable<MetricId>): string {
  const [first, ...others] = new Set(metrics);
  if (first === undefined) return '';
  const what = others.length === 0 ? printable(metricOf(first).label) : "each cell's own metric";
  return `${what}, median of ${[first, ...others].every(isOfBuild) ? 'builds' : 'runs'}`;
}

/** Style of a change; only a number with a verdict has a color. */
export function changeStyle(verdict: Verdict, { bad, good, strong }: Style): (text: string) => string {
  if (verdict === 'slower') return (text) => strong(bad(text));
  return verdict === 'faster' ? (text) => strong(good(text)) : (text) => text;
}

export const PURPOSE_WORDS: Readonly<Record<LayerKind, string>> = {
  compute: "the network's own work",
  reformat: 'copies between formats',
  quantize: 'Q/DQ layers',
  cast: 'casts',
  shape: 'shape work',
};

/** `main 1a2b3c4d+dirty`: the branch and the commit, as far as known. */
export function describeCommit({ branch, commit, dirty }: Pick<Sweep, 'branch' | 'commit' | 'dirty'>): string {
  if (commit === null) return printable(branch ?? '');
  const short = `${commit.slice(0, 8)}${dirty === true ? '+dirty' : ''}`;
  if (branch === null) return short;
  // The two sweeps differ in the commit, which a narrow column must not truncate.
  return branch === COMPARE_BRANCH ? `${short} ${branch}` : `${printable(branch)} ${short}`;
}

/** `recorded (h200)`: the provenance, with the set of a replay. */
export function provenanceText({ provenance, recordingSet }: Pick<Sweep, 'provenance' | 'recordingSet'>): string {
  return recordingSet === null ? provenance : `${provenance} (${printable(recordingSet)})`;
}
