import { constants } from 'node:os';

import type { Evidence, FailureReason, Outcome, UnfitReason, RunFlag } from '../../records/outcome.ts';
import { timeLimitText } from '../../records/time-limit.ts';
import type { RunRole } from '../../records/run.ts';
import type { FitnessLimits, ProcessFacts, RequestedOptions, RunExports } from '../run-facts.ts';
import { queryCount, startsSlower } from './derived.ts';
import { OF_TIMING_CACHE, withoutLines } from './failure-rules.ts';
import { shapesOf, type TrtexecRun } from './run-builder.ts';

/** A text is evidence from the operating system or the file system, not from the log. */
type Shown = Evidence | string;

function evidenceOf(shown: readonly Shown[]): Evidence[] {
  return shown.map((one) => (typeof one === 'string' ? { stream: 'stdout' as const, line: 0, text: one } : one));
}

export function failed(reason: FailureReason, ...evidence: readonly Shown[]): Outcome {
  return { kind: 'failed', reason, evidence: evidenceOf(evidence) };
}

export function unfitFor(reason: UnfitReason, ...evidence: readonly Shown[]): Outcome {
  return { kind: 'unfit', reason, evidence: evidenceOf(evidence) };
}

/** The outcome of a process that was ended from outside; null if it was not. */
export function endedByOthers(process: ProcessFacts): Outcome | null {
  const { cancelled, limit, logTooLong, timedOut } = process;
  if (timedOut) return failed('timeout', limit === null ? 'stopped by the time limit' : timeLimitText(limit));
  if (logTooLong) return failed('logTooLong', 'ended, as it had printed more than 1 GiB');
  if (cancelled) return failed('cancelled', 'ended by Ctrl-C');
  const signal = signalOf(process) ?? '';
  if (signal === 'SIGINT') return failed('cancelled', 'ended by SIGINT');
  return KILLS.includes(signal) ? failed('killed', `ended by ${signal}`) : null;
}

const KILLS = ['SIGKILL', 'SIGTERM', 'SIGHUP', 'SIGXCPU'];
/** Shells report exit code 128+N for signal N. */
export function signalOf({ signal, exitCode }: ProcessFacts): string | null {
  if (signal !== null) return signal;
  const named = Object.entries(constants.signals).find(([, number]) => number === (exitCode ?? 0) - 128);
  return named?.[0] ?? null;
}

/** Makes a run unfit if the machine, or extra work in the run, certainly disturbed it. */
export function disturbed(flags: readonly RunFlag[]): Outcome | null {
  const flag = flags.find(({ effect }) => effect === 'excluded');
  if (flag === undefined) return null;
  const reason = flag.id === 'contended' || flag.id === 'debugTensors' ? flag.id : 'throttled';
  return unfitFor(reason, flag.evidence);
}

export interface JudgedParts {
  readonly run: TrtexecRun;
  readonly process: ProcessFacts;
  readonly exports: RunExports;
  readonly requested: RequestedOptions;
  readonly limits: FitnessLimits;
  readonly role?: RunRole | null;
  readonly flags: readonly RunFlag[];
}

/**
 * Classifies a finished trtexec process: a measurement, numbers of something not requested, or a failure with its
 * cause. Exit code, marker and evidence of each phase must agree: none is sufficient (exit 0 and PASSED occur with
 * failed builds, guessed shapes and lost exports).
 */
export function judgeRun(parts: JudgedParts): Outcome {
  const { process, run } = parts;
  const { neighborEnded = null } = process;
  return (
    endedByOthers(process) ??
    // Processes that print at the same time also run at the same time.
    (run.overlaps ? unfitFor('contended', 'another trtexec wrote to this log at the same time') : null) ??
    failure(parts) ??
    (neighborEnded === null ? null : failed('neighborEnded', neighborEnded)) ??
    unfit(parts) ?? { kind: isBuildOnly(parts) ? 'built' : 'measured', evidence: [] }
  );
}

function failure(parts: JudgedParts): Outcome | null {
  const { run, process } = parts;
  const exitedBadly = process.exitCode !== null ? process.exitCode !== 0 : process.signal !== null;
  const cause = run.failures[0]?.reason ?? null;
  const evidence = run.failures.filter(({ reason }) => reason === cause);
  if (exitedBadly || run.closingMarker === 'FAILED') {
    // Since 11.1 trtexec can compare outputs: it exits with 1 if they differ too much, but the times are valid.
    const isAccuracy = run.errors.some(({ text }) => text.includes('Accuracy validation FAILED'));
    if (run.measurement !== null && isAccuracy) return null;
    if (cause !== null) return failed(cause, ...evidence);
    const signal = signalOf(process);
    if (signal !== null) return failed('unknown', ...run.causes, `crashed by ${signal}`);
    if (run.helpPrinted) return failed('flagInvalid', ...run.errors.slice(0, 1));
    const said = saidBy(run);
    const exit = process.exitCode === null ? 'FAILED' : `exit code ${process.exitCode}`;
    return failed('unknown', ...(said.length > 0 ? said : [`${exit}, without a cause`]));
  }
  if (run.helpPrinted && run.measurement === null) {
    return failed('incomplete', 'only the help was printed: this was not a run');
  }
  return silentBuildFailure(parts) ?? unfinished(parts, cause, evidence);
}

/** Causes of the failure first, then all other errors. */
function saidBy({ causes, errors }: TrtexecRun): Evidence[] {
  return [...causes, ...withoutLines(errors, causes)];
}

/** 10.13 to 11.1 ignore the builder's result when they stream the engine to a file. */
function silentBuildFailure({ run, exports }: JudgedParts): Outcome | null {
  const isFile = exports.engineBytes === 0;
  if ((!isFile && run.build.createdEngineMib !== 0) || run.measurement !== null) return null;
  const size = isFile ? 'no engine file, or one of 0 bytes' : 'Created engine with size: 0 MiB';
  return run.errors.length > 0 ? failed('buildFailedSilently', ...run.errors, size) : unfitFor('engineEmpty', size);
}

/** Numbers without which a summary is no measurement. */
const NEEDED = ['hostWalltimeS', 'throughputQps', 'latencyMs', 'gpuComputeMs', 'gpuTotalS'] as const;

/** A log with a start marker must also have an end; an excerpt without markers need not. */
function unfinished({ run, process }: JudgedParts, cause: FailureReason | null, evidence: readonly Evidence[]) {
  const { measurement, startedByMarker } = run;
  // An excerpt is copied from a log. A process that bench started has an exit code.
  if (cause === null && run.excerpt !== null && process.exitCode === null) {
    const lacking = NEEDED.find((name) => run.excerpt?.[name] === null) ?? 'whole lines of its summary';
    return unfitFor('excerpt', `an excerpt, not a measurement: no ${lacking}`);
  }
  const said = saidBy(run);
  if (run.closingMarker !== 'PASSED') {
    const hasNumbers = measurement !== null || run.profile !== null || run.layerInfo !== null;
    if (!startedByMarker && hasNumbers) return null;
    if (cause !== null) return failed(cause, ...evidence);
    return startedByMarker || said.length === 0
      ? failed('incomplete', 'the log ends without PASSED or FAILED', ...said)
      : failed('unknown', ...said);
  }
  // TensorRT 7 reports PASSED even if its inference failed.
  const broken = measurement === null && run.errors.length > 0 && !run.build.inferenceSkipped;
  if (!broken || process.exitCode !== 0 || !run.build.inferenceStarted) return null;
  return failed(cause ?? 'inferenceFailed', ...(evidence.length > 0 ? evidence : said));
}

/** Hints that the run was not what was requested. */
const UNFIT_HINTS: readonly (readonly [UnfitReason, hints: readonly string[]])[] = [
  ['graphNotCaptured', ['graph_fail', 'graph_dla', 'graph_profiler']],
  ['shapeGuessed', ['shape_default_build', 'shape_default_run']],
  ['precisionIgnored', ['strong_ignored']],
];

/** Whether the run only built an engine; the run of a cell must be timed. */
function isBuildOnly({ role, run: { build, measurement } }: JudgedParts): boolean {
  if (role === 'timed' || role === 'profile' || role === 'pair') return false;
  return measurement === null && build.inferenceSkipped && !build.inferenceStarted;
}

function unfit(parts: JudgedParts): Outcome | null {
  const { run, exports } = parts;
  const timed = run.measurement !== null;
  const buildOnly = isBuildOnly(parts);
  if (!timed && !buildOnly) return unfitFor('summaryHidden', 'the run passed without a performance summary');
  for (const [reason, ids] of UNFIT_HINTS) {
    const found = run.hints.filter(({ id }) => ids.includes(id));
    if (found.length > 0) return unfitFor(reason, ...found);
  }
  const differing = differingOption(run, parts.requested, buildOnly);
  if (differing !== null) return differing;
  const missing = exports.missing.map(({ flag, problem }) => `${flag}: ${problem}`);
  if (missing.length > 0) return unfitFor('exportMissing', ...missing);
  return (timed ? tooShort(parts) : null) ?? suspect(run) ?? disturbed(parts.flags);
}

function tooShort({ run, exports, flags, limits }: JudgedParts): Outcome | null {
  const queries = queryCount(run);
  const { warmUpQueries } = run;
  const { minQueries, minWarmUpQueries } = limits;
  if (queries !== null && queries < minQueries) {
    const timed = `${queries} ${queries === 1 ? 'query was' : 'queries were'} timed`;
    return unfitFor('tooFewQueries', `${timed}, at least ${minQueries} are needed: raise durationS or iterations`);
  }
  if (warmUpQueries === null || warmUpQueries >= limits.minWarmUpQueries) return null;
  if (flags.some(({ id }) => id === 'capture')) return null;
  // A slow model has few warm-up queries and may be warm anyway, so its first timed queries decide.
  if (exports.times !== null && warmUpQueries > 0 && !startsSlower(exports.times)) return null;
  const warmUps = `${warmUpQueries} warm-up ${warmUpQueries === 1 ? 'query' : 'queries'}`;
  return unfitFor('notWarmedUp', `${warmUps}, at least ${minWarmUpQueries} are needed: raise warmUpMs (--warmUp)`);
}

/** Contradicting numbers, or `[E]` in a passed run, except for an unusable timing cache. */
function suspect(run: TrtexecRun): Outcome | null {
  if (run.contradiction !== null) return unfitFor('suspectErrors', run.contradiction);
  const cacheFailed = run.hints.some(({ id }) => id === 'cache_fail');
  const errors = run.errors.filter(({ text }) => !(cacheFailed && OF_TIMING_CACHE.test(text)));
  // trtexec continues without a plugin library that it cannot load: the engine may differ.
  const unloaded = errors.find(({ text }) => /Unable to (?:open|load) library/.test(text));
  if (unloaded !== undefined) return failed('libraryMissing', unloaded);
  return errors.length > 0 ? unfitFor('suspectErrors', ...errors) : null;
}

/** The first requested option that, according to its banner, trtexec did not use; null if it used all. */
function differingOption(run: TrtexecRun, requested: RequestedOptions, buildOnly: boolean): Outcome | null {
  const { options } = run;
  const { precisionWord, shapes = {} } = requested;
  if (precisionWord !== undefined && options.precision !== null && !options.precision.includes(precisionWord)) {
    const said = `the banner says "Precision: ${options.precision}"`;
    return unfitFor('precisionIgnored', `asked for ${precisionWord}, ${said}`);
  }
  if (buildOnly) return null;
  const pairs = [
    ['CUDA graph', requested.cudaGraph, options.cudaGraph],
    ['data transfers', requested.dataTransfers, options.dataTransfers],
    ['spin wait', requested.spinWait, options.spinWait],
    ['streams', requested.streams, options.streams],
  ] as const;
  const ran = shapesOf(run);
  const differing = [
    ...pairs.flatMap(([name, expected, used]) =>
      expected === undefined || used === null || expected === used
        ? []
        : [`requested ${name}: ${expected}, but the banner says ${used}`],
    ),
    ...Object.entries(shapes).flatMap(([input, expected]) => {
      const [wanted, used] = [expected.join('x'), ran[input]?.join('x') ?? expected.join('x')];
      return wanted === used ? [] : [`requested ${input}:${wanted}, but it ran with ${used}`];
    }),
  ];
  return differing[0] === undefined ? null : unfitFor('optionsDiffer', differing[0]);
}
