import type { Io } from '../../../cli/io.ts';
import type { LiveProgress } from '../../../run/live-progress.ts';
import type { CachedEngine, EngineCache } from '../../../engines/engine-cache.ts';
import { isSameLibrary } from '../../../engines/timing-caches.ts';
import { type JudgedSweep, judgeSeries } from '../../check/index.ts';
import { plannedRunS, timedRunOf } from '../../../judge/adaptive-repeats.ts';
import type { PairResult } from '../../../judge/gate/evidence.ts';
import type { Candidate } from '../../../judge/gate/judge-sweep.ts';
import {
  isSameEngine,
  nextPairRun,
  type PairSide,
  pairsNeeded,
  runsNeeded,
  PROFILE_PAIR,
  repeatOf,
  sideOf,
} from '../../../judge/gate/judge-pairs.ts';
import { type PlannedPairs, gatedMetricOf, type ConfirmBudget } from '../../../records/gated-metric.ts';
import type { PlannedRun } from '../../../records/plan.ts';
import type { CellKey, BuildId } from '../../../records/scalars.ts';
import type { Sweep } from '../../../records/sweep.ts';
import { runIdOf } from '../../../run/measure-run.ts';
import { type StoredPlan, readStoredPlan } from '../../../run/stored-plan.ts';
import type { Side, SuspectPairs, SweepContext, Turn } from '../../../run/sweep-context.ts';
import { pairResultsOf } from '../../../selection/pair-results.ts';
import { cellRunsOf, pairRunsOf } from '../../../store/runs/cell-runs.ts';
import { sweepWallS } from '../../../store/runs/time-estimates.ts';
import { seriesUntil } from '../../../store/sweeps/find-sweeps.ts';
import { plannedPairsOf, findSweep, planOf } from '../../../store/sweeps/sweeps.ts';
import { count, formatDuration, formatPercent } from '../../../terminal/numbers.ts';
import { printable, shortList } from '../../../text/printable.ts';
import { parseTensorrtVersion } from '../../../text/version.ts';
import { Dialect } from '../../../trtexec/arguments/dialect.ts';
import { profileArgs } from '../../../trtexec/arguments/spell-args.ts';
import { recordedOf } from '../../../run/run-sweep.ts';
import type { StoreDatabase } from '../../../store/file/open.ts';

/** The build of a cell in a sweep; the first one if there are several. */
function buildOf(db: StoreDatabase, { sweepId }: Pick<Sweep, 'sweepId'>, cellKey: CellKey): BuildId | null {
  const measured = cellRunsOf(db, [sweepId], [cellKey]).filter(({ outcome }) => outcome.kind === 'measured');
  return measured.toSorted((a, b) => a.repeat - b.repeat)[0]?.buildId ?? null;
}

/** The engine of a build, or why it cannot be used in a comparison. */
async function keptEngine(
  cache: EngineCache,
  buildId: BuildId | null,
  { startedAt, sweepId }: Sweep,
): Promise<CachedEngine | string> {
  const name = `the engine of sweep ${sweepId.slice(0, 8)}${startedAt === null ? '' : ` of ${startedAt.slice(0, 10)}`}`;
  if (buildId === null) return `${name} is not known`;
  return (await cache.findBuild(buildId)) ?? `${name} is no longer in the cache`;
}

/** A recorded run is used once, so that there must be a run for each pair. */
function recordedProblem({ plan, program }: StoredPlan, cellKey: CellKey, needed: number): string | null {
  const recorded = recordedOf(plan, program.replayFolder)(cellKey);
  return recorded >= needed ? null : `${recorded} runs of it were recorded, and ${needed} are needed`;
}

/** A cell to measure in pairs, for itself or for its group. */
export type Suspect = Omit<Candidate, 'cellKeys'> & { readonly cellKey: CellKey };

const DEFAULT_BUDGET: ConfirmBudget = { kind: 'share', percent: 10 };
/** Number of suspects that get five pairs regardless of the budget. */
const SURE_SUSPECTS = 3;
const WARM_UPS = 2;

/** @param sweepS duration of the sweep in seconds */
export function confirmBudgetS(stated: ConfirmBudget | null, sweepS: number): number {
  const budget = stated ?? DEFAULT_BUDGET;
  return budget.kind === 'time' ? budget.seconds : (budget.percent / 100) * sweepS;
}

/**
 * Suspects in the order of the candidates. A cell of several candidates is measured once.
 * @param runS duration of a run of a cell in seconds
 */
export function chooseSuspects(candidates: readonly Candidate[], budgetS: number, runS: (cellKey: CellKey) => number) {
  const all = new Map<CellKey, Suspect>();
  for (const { cellKeys, ...candidate } of candidates) {
    for (const cellKey of cellKeys) if (!all.has(cellKey)) all.set(cellKey, { ...candidate, cellKey });
  }
  let leftS = budgetS;
  const isChosen = new Map<Suspect, boolean>();
  for (const suspect of all.values()) {
    leftS -= (2 * pairsNeeded(suspect).count + WARM_UPS) * runS(suspect.cellKey);
    isChosen.set(suspect, isChosen.size < SURE_SUSPECTS || leftS >= 0);
  }
  const suspects = [...isChosen.keys()];
  return {
    chosen: suspects.filter((suspect) => isChosen.get(suspect)),
    leftOut: suspects.filter((suspect) => !isChosen.get(suspect)),
  };
}

interface SuspectsOf extends Pick<SweepContext, 'cache' | 'db' | 'sweep'> {
  readonly stored: StoredPlan;
  readonly progress: Pick<LiveProgress, 'take'>;
}

/** Measures the suspects at the end of a sweep in pairs with the last good engine, and reports the results. */
export class SweepSuspects implements SuspectPairs {
  private readonly given: SuspectsOf;
  private readonly io: Io;
  private readonly labels: ReadonlyMap<CellKey, string>;
  private judged: JudgedSweep | null = null;

  constructor(given: SuspectsOf, io: Io) {
    this.given = given;
    this.io = io;
    this.labels = new Map(given.stored.plan.cells.map(({ cell, label }) => [cell.key, printable(label)]));
  }

  async decide(): Promise<readonly PlannedPairs[]> {
    const { db, stored, sweep } = this.given;
    const finished = findSweep(db, sweep.sweepId);
    if (finished === null) return [];
    // As `bench check` judges it, with the unjudged sweeps before it.
    this.judged = await judgeSeries(db, finished, this.io, {});
    const { verdict } = this.judged;
    const budgetS = confirmBudgetS(stored.gate.confirmBudget, sweepWallS(db, sweep.sweepId));
    const decided = plannedPairsOf(db, sweep.sweepId) ?? [];
    const isDecided = new Set(decided.map(({ cellKey }) => cellKey));
    // Other programs than trtexec load their models themselves.
    const isOurs = (key: CellKey): boolean => timedRunOf(stored.plan, key)?.harness === null;
    const candidates = verdict.candidates.map((candidate) => ({
      ...candidate,
      cellKeys: candidate.cellKeys.filter((key) => isOurs(key) && !isDecided.has(key)),
    }));
    const { chosen, leftOut } = chooseSuspects(candidates, budgetS, (key) => this.runS(key));
    const planned: PlannedPairs[] = [];
    for (const suspect of chosen) planned.push(await this.planned(suspect));
    for (const [problem, all] of Map.groupBy(planned, (pairs) => pairs.problem)) {
      if (problem === null) continue;
      const names = all.map(({ cellKey }) => this.labelOf(cellKey));
      this.note(`not measured in pairs, as ${problem}: ${shortList(names, NAMED, '; ', ' and ')}`);
    }
    if (leftOut.length > 0) {
      const left = `${count(leftOut.length, 'cell')} not measured in pairs, as the budget of ${formatDuration(budgetS)}`;
      this.note(`${left} is used up: \`bench run --resume ${sweep.sweepId.slice(0, 8)} --confirm\` does`);
    }
    return [...decided, ...planned];
  }

  /** Runs at most one process per GPU at a time. */
  async *rounds(side: Side, byGpu: readonly (readonly PlannedPairs[])[]): AsyncGenerator<Turn[]> {
    const turns = side.workers.map((worker, place) => this.turnsOn(side, worker, byGpu[place] ?? []));
    for (;;) {
      const next = await Promise.all(turns.map(async (ofGpu) => ofGpu.next()));
      const round = next.flatMap(({ done, value }) => (done === true ? [] : [value]));
      if (round.length === 0) return;
      yield round;
    }
  }

  /** Measures suspects one after another on the GPU of one worker. */
  private async *turnsOn(
    side: Side,
    worker: SweepContext,
    all: readonly PlannedPairs[],
  ): AsyncGenerator<Turn, undefined> {
    const runsOf = ({ cellKey }: PlannedPairs) => pairRunsOf(worker.db, worker.sweep.sweepId, [cellKey]);
    const measured = all.filter(({ problem }) => problem === null);
    // The time left includes what is expected of every suspect; spare pairs are added one by one.
    const expected = measured.flatMap((planned) => {
      const run = timedRunOf(this.given.stored.plan, planned.cellKey);
      const left = runsNeeded(planned) - runsOf(planned).length;
      return run === null ? [] : Array.from({ length: Math.max(0, left) }, () => run);
    });
    worker.onEvent({ kind: 'moreRuns', runs: expected });
    for (const planned of measured) {
      let runs = runsOf(planned);
      let next = nextPairRun(planned, runs);
      const engineOf = async (name: PairSide) => (next === null ? null : this.engineOf(worker, planned, name));
      const engines = { newest: await engineOf('newest'), lastGood: await engineOf('lastGood') };
      const warm = new Set<PairSide>();
      while (next !== null) {
        const name = sideOf(next);
        const engine = engines[name];
        if (engine === null) break;
        if (runs.length >= runsNeeded(planned)) worker.onEvent({ kind: 'moreRuns', runs: [engine.run] });
        yield turnOf(side, engine, next, !warm.has(name));
        warm.add(name);
        runs = runsOf(planned);
        next = nextPairRun(planned, runs);
      }
      if (next === null && this.notedResult(worker, planned)) yield* this.profiles(side, worker, planned);
    }
  }

  private async engineOf(worker: SweepContext, planned: PlannedPairs, side: PairSide): Promise<EngineTurn | null> {
    const { cache, db, stored } = this.given;
    const sweep = side === 'newest' ? this.given.sweep : findSweep(db, planned.lastGoodSweepId);
    if (sweep === null) return null;
    const engine = await keptEngine(cache, side === 'newest' ? planned.newestBuildId : planned.lastGoodBuildId, sweep);
    if (typeof engine === 'string') return null;
    await cache.use(engine.name, worker.now());
    const run = timedRunOf(stored.plan, planned.cellKey);
    const earlier = readStoredPlan(planOf(db, sweep.sweepId));
    return run !== null && canRun(worker, earlier, engine) ? { run, engine } : null;
  }

  /** @returns whether the two engines are worth profiling */
  private notedResult(worker: SweepContext, planned: PlannedPairs): boolean {
    const { evidence, series } = this.judged ?? {};
    const results = pairResultsOf(this.given.db, series?.sweeps ?? [], evidence?.rules ?? { minChangeOf: () => 0 });
    const result = results?.find(({ cellKey }) => cellKey === planned.cellKey);
    if (result === undefined) return false;
    this.note(pairText(this.labelOf(planned.cellKey), planned, result, worker.gpu?.label ?? null));
    return result.outcome === 'confirmed' || result.outcome === 'buildLuck';
  }

  /** Profiles both engines, so that `bench why` can explain the change. */
  private async *profiles(side: Side, worker: SweepContext, planned: PlannedPairs): AsyncGenerator<Turn, undefined> {
    for (const name of ['lastGood', 'newest'] as const) {
      const found = await this.engineOf(worker, planned, name);
      const version = parseTensorrtVersion(this.given.stored.plan.tensorrt);
      if (found === null || version === null || worker.program.recordings !== null) return;
      const separate = new Dialect(version).separateProfile();
      const run = { ...found.run, args: profileArgs(found.run.args, '{engine}', separate), minQueries: 1 };
      const turn = turnOf(side, { ...found, run }, repeatOf(PROFILE_PAIR, name), false);
      if (worker.writer.hasRun(runIdOf(worker.sweep.sweepId, turn.run))) continue;
      worker.onEvent({ kind: 'moreRuns', runs: [run] });
      yield turn;
    }
  }

  private async planned(suspect: Suspect): Promise<PlannedPairs> {
    const { cache, db, stored, sweep } = this.given;
    const { cellKey, isUnsteady, metric } = suspect;
    const lastGood = this.lastGoodOf(suspect);
    const planned: PlannedPairs = {
      cellKey,
      metric,
      isUnsteady,
      lastGoodSweepId: lastGood?.sweepId ?? sweep.sweepId,
      newestBuildId: buildOf(db, sweep, cellKey),
      lastGoodBuildId: lastGood === null ? null : buildOf(db, lastGood, cellKey),
      problem: null,
    };
    if (lastGood === null) return { ...planned, problem: 'no earlier sweep is known to be good' };
    const needed = isSameEngine(planned) ? 1 : pairsNeeded(suspect).count;
    const newest = await keptEngine(cache, planned.newestBuildId, sweep);
    const good = await keptEngine(cache, planned.lastGoodBuildId, lastGood);
    const earlier = readStoredPlan(planOf(db, lastGood.sweepId));
    const unrecorded =
      recordedProblem(stored, cellKey, needed) ?? (earlier === null ? null : recordedProblem(earlier, cellKey, needed));
    const shared = timedRunOf(stored.plan, cellKey)?.neighbor && 'another model runs next to it';
    const missing = [newest, good, unrecorded, shared].find((each) => typeof each === 'string');
    return { ...planned, problem: typeof missing === 'string' ? missing : null };
  }

  /**
   * The last good sweep of a group may lack some of its cells, so look for the newest sweep before it that has the
   * cell.
   */
  private lastGoodOf({ cellKey, lastGoodSweepId }: Suspect): Sweep | null {
    const { db } = this.given;
    const named = lastGoodSweepId === null ? null : findSweep(db, lastGoodSweepId);
    if (named === null) return null;
    const until = seriesUntil(db, named, SWEEPS_BACK);
    return until.find((sweep) => buildOf(db, sweep, cellKey) !== null) ?? named;
  }

  private runS(cellKey: CellKey): number {
    const { db, stored, sweep } = this.given;
    const walls = cellRunsOf(db, [sweep.sweepId], [cellKey]).flatMap(({ wallS }) => wallS ?? []);
    const planned = plannedRunS(stored.plan, cellKey);
    return walls.length === 0 ? planned : walls.reduce((sum, wallS) => sum + wallS, 0) / walls.length;
  }

  private labelOf(cellKey: CellKey): string {
    return this.labels.get(cellKey) ?? cellKey;
  }

  private note(text: string): void {
    this.given.progress.take({ kind: 'note', text });
  }
}

interface EngineTurn {
  readonly engine: CachedEngine;
  /** A timed run of the cell, as planned for the program that loads the engine. */
  readonly run: PlannedRun;
}

function turnOf(side: Side, { engine, run }: EngineTurn, repeat: number, isCold: boolean): Turn {
  return { side, run: { ...run, role: 'pair', repeat }, pair: { engine, isCold } };
}

/** Whether the program of the newest sweep can run the engine of an earlier one. */
function canRun(
  { plan, processFacts, program }: Pick<SweepContext, 'plan' | 'processFacts' | 'program'>,
  earlier: StoredPlan | null,
  { note: { tensorrt, tensorrtLibrary } }: CachedEngine,
): boolean {
  if (program.recordings !== null) return earlier?.program.replayFolder === program.recordings.folder;
  const isLoadable = isSameLibrary({ tensorrtLibrary }, { tensorrtLibrary: processFacts?.libraryVersion ?? null });
  return isLoadable && (tensorrt === null || tensorrt === plan.tensorrt);
}

const NAMED = 3;
/** Number of sweeps that are searched for the last good engine of a cell. */
const SWEEPS_BACK = 20;

/** One line with the result of the pairs of a cell. `label` is printable. */
function pairText(label: string, planned: PlannedPairs, result: PairResult, gpu: string | null): string {
  const { agreeing, changePercent, count: pairs, outcome } = result;
  const good = `the engine of sweep ${planned.lastGoodSweepId.slice(0, 8)}`;
  const change = `${gatedMetricOf(planned.metric).label} ${formatPercent(changePercent)}`;
  const inPairs = `${change} in ${agreeing} of ${pairs} pairs with ${good}`;
  const where = gpu ?? 'the machine';
  const words: Readonly<Record<PairResult['outcome'], string>> = {
    confirmed: `${inPairs}: the cause is the engine`,
    buildLuck: `${inPairs}, and both have the same build inputs: build luck`,
    machine: `${good} is as slow now: the cause is ${where}, not the engine`,
    cleared: `no difference from ${good} (${change})`,
    notComparable: `not compared with ${good}: ${planned.problem ?? 'it does not load, or too few of its runs could be used'}`,
  };
  return `${label}: ${words[outcome]}`;
}
