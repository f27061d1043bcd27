import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { sha256OfFile } from '../../../files/files.ts';
import type { Io } from '../../../cli/io.ts';
import { chooseProgram } from '../../../cli/program.ts';
import type { CachedEngine, EngineCache } from '../../../engines/engine-cache.ts';
import { timedRunOf } from '../../../judge/adaptive-repeats.ts';
import type { Candidate } from '../../../judge/gate/evidence.ts';
import { pairsNeeded } from '../../../judge/gate/judge-pairs.ts';
import { LoadedLibrary } from '../../../machine/host-facts.ts';
import type { ConfirmBudget } from '../../../records/gated-metric.ts';
import type { PlannedRun } from '../../../records/plan.ts';
import type { BuildId, CellKey } from '../../../records/scalars.ts';
import type { Sweep } from '../../../records/sweep.ts';
import { type StoredPlan, readStoredPlan } from '../../../run/stored-plan.ts';
import type { SweepContext } from '../../../run/sweep-context.ts';
import type { StoreDatabase } from '../../../store/file/open.ts';
import { cellRunsOf } from '../../../store/runs/cell-runs.ts';
import { planOf } from '../../../store/sweeps/sweeps.ts';
import { printable } from '../../../text/printable.ts';
import type { TrtexecProgram } from '../../../trtexec/program/find-trtexec.ts';
import { readRecordingSet, recordedRuns } from '../../../trtexec/replay/recording-set.ts';

/** The program that runs an engine, and the run planned for it. */
export interface EngineProgram {
  readonly program: TrtexecProgram;
  readonly run: PlannedRun;
  /** TensorRT version of the program. */
  readonly tensorrt: string;
  readonly isOther: boolean;
}

/** The build of a cell in a sweep; the first one if there are several. */
export function buildOf(db: StoreDatabase, { sweepId }: Pick<Sweep, 'sweepId'>, cellKey: CellKey): BuildId | null {
  const measured = cellRunsOf(db, [sweepId], [cellKey]).filter(({ outcome }) => outcome.kind === 'measured');
  return measured.toSorted((a, b) => a.repeat - b.repeat)[0]?.buildId ?? null;
}

/** The engine of a build, or why it cannot be used in a comparison. */
export async function keptEngine(
  cache: EngineCache,
  buildId: BuildId | null,
  { startedAt, sweepId }: Sweep,
): Promise<CachedEngine | string> {
  const name = `the engine of sweep ${sweepId.slice(0, 8)}${startedAt === null ? '' : ` of ${startedAt.slice(0, 10)}`}`;
  if (buildId === null) return `${name} is not known`;
  return (await cache.findBuild(buildId)) ?? `${name} is no longer in the cache`;
}

/**
 * The program that loads the engine of an earlier sweep, or why there is none. It is the program of the newest sweep if
 * the versions are equal, else the earlier program if it still exists unchanged.
 */
export async function programOf(
  context: Pick<SweepContext, 'db' | 'library' | 'plan' | 'program'>,
  current: StoredPlan,
  earlier: Sweep,
  { cellKey, engine }: { readonly cellKey: CellKey; readonly engine: CachedEngine },
  { io, mayStartEarlier }: { readonly io: Io; readonly mayStartEarlier: boolean },
): Promise<EngineProgram | string> {
  const { program } = context;
  const stored = readStoredPlan(planOf(context.db, earlier.sweepId));
  const [run, earlierRun] = [timedRunOf(current.plan, cellKey), stored && timedRunOf(stored.plan, cellKey)];
  if (run === null) return 'it has no timed run';
  const own: EngineProgram = { program, run, tensorrt: current.plan.tensorrt, isOther: false };
  if (program.recordings !== null) return recordedProgram(own, current, stored, earlierRun, io);
  const { tensorrt, tensorrtLibrary } = engine.note;
  const loaded = context.library?.version ?? null;
  const isSameLibrary = tensorrtLibrary === null || loaded === null || tensorrtLibrary === loaded;
  if (isSameLibrary && (tensorrt === null || tensorrt === current.plan.tensorrt)) return own;
  const built = `its last good engine was built with TensorRT ${printable(tensorrtLibrary ?? tensorrt ?? 'of another version')}`;
  const path = stored?.program.trtexec ?? null;
  if (path === null || stored === null || earlierRun === null) return built;
  if (!mayStartEarlier) return `${built}, whose trtexec is not started with --untrusted`;
  const sha256 = (await sha256OfFile(path).catch(() => null))?.sha256 ?? null;
  if (sha256 === null || sha256 !== stored.program.trtexecSha256) {
    return `${built}, and ${printable(path)} is no longer that version`;
  }
  const library = join(dirname(path), '..', 'lib');
  const paths = [existsSync(library) ? library : '', program.env['LD_LIBRARY_PATH'] ?? ''].filter(Boolean);
  const env = paths.length === 0 ? program.env : { ...program.env, LD_LIBRARY_PATH: paths.join(':') };
  return {
    program: { ...program, file: path, shownAs: path, env },
    run: earlierRun,
    tensorrt: stored.plan.tensorrt,
    isOther: true,
  };
}

/** A replay needs the recordings of the earlier sweep, which may be from another set. */
function recordedProgram(
  own: EngineProgram,
  current: StoredPlan,
  stored: StoredPlan | null,
  earlierRun: PlannedRun | null,
  io: Io,
): EngineProgram | string {
  const folder = stored?.program.replayFolder ?? null;
  if (stored === null || folder === null || earlierRun === null) return 'its last good sweep has no recordings';
  if (folder === current.program.replayFolder) return own;
  const { program } = chooseProgram({ replay: folder }, { replay: null, trtexec: null }, io);
  return { program, run: earlierRun, tensorrt: stored.plan.tensorrt, isOther: true };
}

/** A recorded run is used once, so that there must be a run for each pair. */
export function recordedProblem(stored: StoredPlan, cellKey: CellKey, needed: number): string | null {
  const folder = stored.program.replayFolder;
  if (folder === null) return null;
  const recorded = recordedRuns(readRecordingSet(folder), stored.plan, cellKey);
  return recorded >= needed ? null : `${recorded} runs of it were recorded, and ${needed} are needed`;
}

export function withProgram(worker: SweepContext, { isOther, program }: EngineProgram): SweepContext {
  if (!isOther) return worker;
  const { wrapper } = worker.program;
  // The library that this program loads is not that of the sweep.
  const library = worker.library === null ? null : new LoadedLibrary();
  return { ...worker, library, program: wrapper === undefined ? program : { ...program, wrapper } };
}

/** A cell to measure in pairs, for itself or for its group. */
export interface Suspect extends Omit<Candidate, 'cellKeys' | 'group'> {
  readonly cellKey: CellKey;
  /** Whether it is measured regardless of the budget. */
  readonly isSure: boolean;
}

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
 * Suspects in the order of the candidates; those left out before come first. A cell of several candidates is measured
 * once.
 * @param carriedOver cells with an open finding that was never measured in pairs
 * @param runS duration of a run of a cell in seconds
 */
export function chooseSuspects(
  candidates: readonly Candidate[],
  carriedOver: ReadonlySet<CellKey>,
  budgetS: number,
  runS: (cellKey: CellKey) => number,
) {
  const isCarriedOver = ({ cellKeys }: Candidate): boolean => cellKeys.some((key) => carriedOver.has(key));
  const inOrder = [...candidates.filter(isCarriedOver), ...candidates.filter((candidate) => !isCarriedOver(candidate))];
  const all = new Map<CellKey, Omit<Suspect, 'isSure'>>();
  for (const { cellKeys, group: _, ...candidate } of inOrder) {
    for (const cellKey of cellKeys) if (!all.has(cellKey)) all.set(cellKey, { ...candidate, cellKey });
  }
  let leftS = budgetS;
  const suspects = [...all.values()].map((suspect, place): Suspect & { readonly fits: boolean } => {
    const { count } = pairsNeeded(suspect);
    leftS -= (2 * count + WARM_UPS) * runS(suspect.cellKey);
    const isSure = place < SURE_SUSPECTS;
    return { ...suspect, isSure, fits: isSure || leftS >= 0 };
  });
  return { chosen: suspects.filter(({ fits }) => fits), leftOut: suspects.filter(({ fits }) => !fits) };
}
