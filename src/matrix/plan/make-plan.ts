import { cellLabel } from '../../records/cell.ts';
import { type Mistake, throwMistakes } from '../../errors.ts';
import type { Matrix } from '../load.ts';
import { type MatrixCell, type MatrixHarness, statedFlags } from '../matrix.ts';
import { onnxOf } from '../models/models.ts';
import type { RunMethod } from '../schema/settings.ts';
import type { Plan, PlannedBuild, PlannedCell, PlannedLimits, PlannedRun, PlannedVariant } from '../../records/plan.ts';
import { profilingVerbosity } from '../../records/axis.ts';
import { buildArgs, runArgs, type SpelledArgs } from '../../trtexec/arguments/spell-args.ts';
import { isColdStart } from '../../records/harness.ts';
import type { CoolDown } from '../../machine/requests.ts';
import { hashOf } from '../../text/canonical-json.ts';
import { planVariant } from '../../tools/modelopt/conversion-args.ts';
import type { Dialect } from '../../trtexec/arguments/dialect.ts';
import { outdatedText } from '../../trtexec/flags/flag-table.ts';
import { NO_PHASE_LIMITS, wholeLimitS } from '../../records/time-limit.ts';
import { inRounds, seededRandom, shuffled } from './order.ts';

const FIRST_OUTPUT_S = 300;
const LOAD_S = 300;
/** CUDA graph capture and the slow first inference precede the warm-up. */
const TIMED_PART_S = 120;
const END_S = 120;
/** Slow models exceed the duration, because the minimum number of iterations also counts. */
const SLACK = 5;
/** trtexec's default. This many iterations rarely take longer than the duration. */
const USUAL_ITERATIONS = 10;

/** Limits for the parts of a run. The timed part follows from warm-up and duration, unless other settings decide. */
function runLimits(method: RunMethod, role: PlannedRun['role']): PlannedLimits {
  const onceS = method.warmUpMs / 1000 + method.durationS;
  const isKnown = method.iterations <= USUAL_ITERATIONS && PAUSES.every((flag) => method.flags[flag] === undefined);
  const endS = role === 'profile' ? LOAD_S + SLACK * onceS : END_S;
  return {
    firstOutputS: method.limits.firstOutputS ?? FIRST_OUTPUT_S,
    loadS: method.limits.loadS ?? LOAD_S,
    timedPartS: method.limits.timedPartS ?? (isKnown ? TIMED_PART_S + SLACK * onceS : null),
    endS: method.limits.endS ?? (isKnown || role === 'timed' ? endS : null),
    wholeS: method.timeoutS,
  };
}

const PAUSES = ['--sleepTime', '--idleTime'];

/** A plan has no pairs, because the cells that need them are known only after the sweep. */
type PlannedRole = Exclude<PlannedRun['role'], 'pair'>;

export interface PlanOptions {
  readonly seed: number;
  /** Runs per cell with each of its builds. */
  readonly repeats: number;
  readonly builds: number;
  readonly profile: boolean;
  readonly forcesTimingCaches: boolean;
  readonly coolDown?: CoolDown | null;
}

/** Overhead of trtexec in addition to warm-up and duration, in seconds (H200, 10.6: 0.4 to 0.7 s). */
const OVERHEAD_S = 0.7;
/** Time until a running neighbor is seen: its log is read once a second. */
const NEIGHBOR_S = 1.2;
const HARNESS_TIMEOUT_S = 3600;

/**
 * Makes a plan: builds, then timed runs in rounds, then profile runs. The plan depends only on matrix, version and
 * seed.
 * @throws MatrixError with everything that this version of trtexec cannot express
 */
export function makePlan(matrix: Matrix, cells: readonly MatrixCell[], dialect: Dialect, options: PlanOptions): Plan {
  const mistakes: Mistake[] = [];
  const builds = new Map<string, PlannedBuild>();
  const variants = new Map<string, PlannedVariant>();
  const enginesOf = (entry: MatrixCell, most = Infinity) => {
    if (entry.harness !== null) return [{ entry, buildRef: '', number: 1, of: 1 }];
    const spelled = buildArgs(entry, dialect);
    mistakes.push(...spelled.mistakes);
    const variant = plannedVariant(entry);
    if (variant !== null) variants.set(variant.variantRef, variant);
    // A given engine is never rebuilt.
    const of = entry.build.source.kind === 'engine' ? 1 : options.builds;
    return Array.from({ length: Math.min(of, most) }, (_, index) => {
      const build = plannedBuild(entry, spelled, variant, { number: index + 1, of }, options);
      if (!builds.has(build.buildRef)) builds.set(build.buildRef, build);
      return { entry, buildRef: build.buildRef, number: index + 1, of };
    });
  };
  const planned = cells.map((entry) => enginesOf(entry));
  const engines = planned.flat();
  const neighborRefs = new Map(
    cells.map(({ cell, neighbor }) => [cell.key, neighbor && enginesOf(neighbor, 1)[0]?.buildRef]),
  );
  const neighborOf = ({ cell, neighbor }: MatrixCell, timeoutS: number): Pick<PlannedRun, 'neighbor'> => {
    const buildRef = neighborRefs.get(cell.key);
    if (neighbor === undefined || buildRef === undefined) return {};
    // The neighbor ends with the run. The duration also ends it if bench was killed.
    const method = { ...neighbor.method, durationS: Math.ceil(timeoutS) };
    const { args, mistakes: found } = runArgs({ ...neighbor, method }, dialect, 'timed');
    mistakes.push(...found);
    return { neighbor: { buildRef, args: args.filter((arg) => !arg.startsWith('--export')) } };
  };
  const ofRepeats = Map.groupBy(engines, ({ entry }) => entry.repeats ?? options.repeats);
  // Measured consecutively: both sides of an experiment with the same build.
  const timed = [...ofRepeats].flatMap(([repeats, same]) =>
    inRounds(same, repeats, options.seed, ({ entry, number }) => entry.side && `${number} ${entry.side.pair}`),
  );
  const withLayers = options.profile ? engines.filter(({ entry }) => hasLayers(entry)) : [];
  const profiled = shuffled(withLayers, seededRandom(options.seed)).map((item) => ({ item, repeat: 1 }));
  const runOf =
    (role: PlannedRole) =>
    ({ item, repeat: round }: (typeof timed)[number]): PlannedRun => {
      const { harness } = item.entry;
      if (harness !== null) return harnessRun(item.entry, harness, round);
      const { args, mistakes: found } = runArgs(item.entry, dialect, role);
      mistakes.push(...found);
      // Every round runs each build once.
      const repeat = (round - 1) * item.of + item.number;
      const run = { ...plannedRun(item.entry, role, repeat, args), buildRef: item.buildRef };
      const more = neighborOf(item.entry, run.timeoutS);
      return { ...run, ...more, estimateS: run.estimateS + ('neighbor' in more ? NEIGHBOR_S : 0) };
    };
  const pauseS = options.coolDown?.kind === 'pause' ? options.coolDown.seconds : 0;
  const waiting = timed.map(runOf('timed')).map((run) => ({ ...run, estimateS: run.estimateS + pauseS }));
  const runs = [...waiting, ...profiled.map(runOf('profile'))];
  throwMistakes(mistakes);
  return {
    schemaVersion: 1,
    matrix: matrix.name,
    tensorrt: dialect.name,
    seed: options.seed,
    repeats: options.repeats * Math.max(1, ...planned.map(({ length }) => length)),
    cells: planned.flatMap(([first]): PlannedCell[] => {
      if (first === undefined) return [];
      const { buildRef, entry } = first;
      return [{ cell: entry.cell, label: cellLabel(entry.cell), namedShapes: entry.namedShapes, buildRef }];
    }),
    variants: [...variants.values()],
    builds: distinguished([...builds.values()]),
    runs,
    notes: [
      ...matrix.notes,
      ...(options.profile ? notProfiled(cells) : []),
      ...coarselyTimed(cells),
      ...withoutEffect(cells, dialect, options.builds),
    ],
    retries: matrix.retries,
    ...(pauseS === 0 ? {} : { pauseS }),
  };
}

/**
 * Equal labels get flags that not all of these builds have, such as those of an axis. Given engines come first: one that
 * does not load is reported before hours of builds.
 */
function distinguished(builds: readonly PlannedBuild[]): PlannedBuild[] {
  const inOrder = builds.toSorted((a, b) => Number(!a.enginePath) - Number(!b.enginePath));
  return inOrder.map(({ label, ...build }) => {
    const own = build.flags.filter((flag) => builds.some((one) => one.label === label && !one.flags.includes(flag)));
    return { ...build, label: [label, ...own].join(' ') };
  });
}

function isOfTrtexec({ cell, harness }: MatrixCell): boolean {
  return harness === null && !isColdStart(cell);
}

function hasLayers(entry: MatrixCell): boolean {
  return isOfTrtexec(entry) && profilingVerbosity(entry.cell.axisFlags) !== 'none';
}

function cellsHave(number: number, what: string): string[] {
  return number === 0 ? [] : [`${number === 1 ? '1 cell has' : `${number} cells have`} ${what}`];
}

function notProfiled(cells: readonly MatrixCell[]): string[] {
  const { length } = cells.filter((entry) => isOfTrtexec(entry) && !hasLayers(entry));
  return cellsHave(length, 'profilingVerbosity none: no layer has a name, so none is profiled');
}

/** From 2^13 ms on, float32 milliseconds since the start, whose differences trtexec reports, are 2^-10 ms apart. */
const FINE_S = 8;

function coarselyTimed(cells: readonly MatrixCell[]): string[] {
  const { length } = cells.filter((entry) => isOfTrtexec(entry) && entry.method.durationS > FINE_S);
  const steps = "trtexec's times then have steps of 1 µs or more; below 1 ms, more repeats of less time are finer";
  return cellsHave(length, `durationS above ${FINE_S}: ${steps}`);
}

/** Flags for builds that no cell makes, and flags that trtexec no longer needs. */
function withoutEffect(cells: readonly MatrixCell[], { version }: Dialect, builds: number): string[] {
  const areStated = builds > 1 || cells.some(({ build }) => Object.keys(build.flags).length > 0);
  const isNothingBuilt = cells.every(({ build, harness }) => harness !== null || build.source.kind === 'engine');
  return [
    ...(isNothingBuilt && areStated ? ['options of builds have no effect: no engine is built'] : []),
    ...[...new Map(cells.flatMap(statedFlags)).keys()].flatMap((flag) => outdatedText(flag, version) ?? []),
  ];
}

export function plannedVariant({ cell, build }: Pick<MatrixCell, 'build' | 'cell'>): PlannedVariant | null {
  const { profiles, source } = build;
  if (source.kind !== 'converted' || cell.precision === 'unstated') return null;
  return planVariant({
    label: `${cell.model} ${cell.precision}`,
    precision: cell.precision,
    onnxPath: source.onnx.value,
    options: source.options.value,
    shapes: Object.fromEntries(
      Object.entries(profiles[0] ?? {}).map(([input, { min, opt }]) => [
        input,
        // AutoCast keeps all tensor values in memory, so it gets the smallest shape of the engine.
        source.options.value.via === 'autocast' ? min : opt,
      ]),
    ),
  });
}

function plannedBuild(
  { cell, build, notes }: MatrixCell,
  spelled: SpelledArgs,
  variant: PlannedVariant | null,
  { number, of }: { readonly number: number; readonly of: number },
  { forcesTimingCaches }: PlanOptions,
): PlannedBuild {
  const onnxPath = onnxOf(build.source)?.value ?? null;
  const enginePath = build.source.kind === 'engine' ? build.source.engine.value : null;
  const precision = cell.precision === 'unstated' ? '' : ` ${cell.precision}`;
  const variantRef = variant?.variantRef ?? null;
  const timingCachePath = build.timingCache.kind === 'file' ? build.timingCache.file.value : null;
  return {
    buildRef: hashOf({
      onnxPath,
      enginePath,
      flags: spelled.flags,
      ...(variantRef === null ? {} : { variantRef }),
      ...(timingCachePath === null ? {} : { timingCachePath }),
      ...(build.isFrozen ? { isFrozen: true } : {}),
      ...(number === 1 ? {} : { number }),
    }),
    model: cell.model,
    precision: cell.precision,
    label: `${cell.model}${precision}${of === 1 ? '' : ` (build ${number} of ${of})`}`,
    number,
    of,
    isFrozen: build.isFrozen,
    timingCachePath,
    forcesTimingCache: forcesTimingCaches,
    variantRef,
    onnxPath,
    enginePath,
    flags: spelled.flags,
    args: spelled.args,
    timeoutS: build.timeoutS,
    // A build may print nothing for a long time, so it has one limit; only its first output comes at once.
    limits: { ...NO_PHASE_LIMITS, firstOutputS: build.firstOutputS ?? FIRST_OUTPUT_S, wholeS: null },
    notes,
  };
}

/** Fields of a run of any program. Only cells of excerpts leave options open, and these are never planned. */
function commonOf({ cell, env, notes, side }: MatrixCell, repeat: number) {
  const { key, cudaGraph, dataTransfers, spinWait, streams, shapes } = cell;
  const requested = {
    cudaGraph: cudaGraph === true,
    dataTransfers: dataTransfers === true,
    spinWait: spinWait === true,
    streams,
    shapes,
  };
  return { cellKey: key, env, marks: side?.marks ?? [], repeat, requested, notes };
}

function harnessRun(entry: MatrixCell, { timeoutS, estimateS, ...harness }: MatrixHarness, repeat: number): PlannedRun {
  const wholeS = timeoutS ?? entry.method.timeoutS ?? HARNESS_TIMEOUT_S;
  return {
    ...commonOf(entry, repeat),
    role: 'timed',
    buildRef: '',
    harness,
    args: harness.argv.slice(1),
    timeoutS: wholeS,
    limits: { ...NO_PHASE_LIMITS, wholeS },
    minQueries: 1,
    minWarmUpQueries: 0,
    estimateS,
  };
}

function plannedRun(entry: MatrixCell, role: PlannedRole, repeat: number, args: readonly string[]) {
  const { method } = entry;
  const once = method.warmUpMs / 1000 + method.durationS;
  const timedPartS = role === 'profile' ? 2 * once : once;
  const limits = runLimits(method, role);
  return {
    ...commonOf(entry, repeat),
    role,
    harness: null,
    args,
    timeoutS: method.timeoutS ?? wholeLimitS(limits) ?? 300 + 5 * timedPartS,
    limits,
    minQueries: role === 'timed' ? method.minQueries : 1,
    minWarmUpQueries: role === 'timed' ? method.minWarmUpQueries : 0,
    estimateS: timedPartS + OVERHEAD_S,
  };
}
