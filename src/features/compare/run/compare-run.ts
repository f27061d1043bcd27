import { resolve } from 'node:path';

import { sha256OfFile } from '../../../artefacts/files.ts';
import type { Io } from '../../../cli/io.ts';
import { migrationsFolder, storePath } from '../../../cli/store-location.ts';
import { usingStore, warnIfMigrated } from '../../../cli/with-store.ts';
import { InterruptedError, UsageError } from '../../../errors.ts';
import type { ExitCode } from '../../../exit-codes.ts';
import { isMetric } from '../../../records/metric.ts';
import { pathInside } from '../../../run/checkout/commit-checkout.ts';
import { machinesFor, refuseOwnDevices, shareOut } from '../../../run/gpu-worker.ts';
import { readStoredPlan } from '../../../run/stored-plan.ts';
import { metricNamed } from '../../../selection/by-name.ts';
import { type OpenStore, openStore } from '../../../store/file/open.ts';
import { lastGpusOf } from '../../../store/runs/time-estimates.ts';
import { findSweep, planOf } from '../../../store/sweeps/sweeps.ts';
import { wrapHanging } from '../../../terminal/text-width.ts';
import { isInCommit } from '../../../tools/git/git.ts';
import { printable } from '../../../text/printable.ts';
import { shellLine } from '../../../text/shell-quote.ts';
import { recordedRuns } from '../../../trtexec/replay/check-plan.ts';
import { readRecordingSet } from '../../../trtexec/replay/recording-set.ts';
import type { CompareOptions } from '../command.ts';
import { compareReport, printReport } from '../compare.ts';
import { CommitError, CommitSide, type SideName } from './commit-side.ts';
import { commitText, type TwoCommits, twoCommits } from './commits.ts';
import { costText } from './cost.ts';
import { measureInTurns } from './measure.ts';
import { findPair, inPairFolder, isFinished, type Pair } from './pair.ts';
import { cellsOf, pairedCells } from './paired-cells.ts';
import { type BothPlans, planBoth, withinBudget } from './plan-both.ts';
import { type Enough, nextRound } from './rounds.ts';

const DEFAULT_PERCENT = 1;
const DEFAULT_MAX_REPEATS = 20;

interface Comparing {
  readonly store: OpenStore;
  readonly commits: TwoCommits;
  readonly pair: Pair;
  readonly options: CompareOptions & { readonly matrix: string };
  readonly io: Io;
}

/**
 * Checks out two commits, builds and measures both in turns, stores both, and compares them. The same call again goes
 * on where it was interrupted, and measures nothing that it has.
 */
export async function compareRun(
  base: string | undefined,
  head: string | undefined,
  options: CompareOptions,
  io: Io,
): Promise<ExitCode> {
  const { branch } = options;
  const words = [base, head].flatMap((word) => word ?? []);
  const isMatrix = (word: string): boolean => options.matrix === undefined && /\.ya?ml$/i.test(word);
  const matrix = options.matrix ?? words.find(isMatrix);
  if (matrix === undefined)
    throw new UsageError('which matrix? Write bench compare A..B MATRIX --run, or --matrix FILE');
  if (branch !== undefined) throw new UsageError('--branch does not go with --run, which measures two commits');
  if (options.untrusted === true && options.build !== undefined) {
    throw new UsageError('--untrusted refuses --build: it starts a program of the commits');
  }
  const [from, to] = words.filter((word) => !isMatrix(word));
  const commits = await twoCommits(from, to, io);
  const store = warnIfMigrated(openStore(storePath(options.db, io), migrationsFolder()), io);
  const work = async (): Promise<ExitCode> => {
    const pair = findPair(store.db, await requestOf(commits, matrix, options, io), options.force === true);
    const comparing = { store, commits, pair, options: { ...options, matrix }, io };
    if (!isDone(comparing)) {
      await inPairFolder(store.path, pair, commits.repository, io, (folder) => measure(comparing, folder));
    }
    const sideOf = (name: SideName) => {
      const sweep = findSweep(store.db, pair[name]);
      return { ref: commits[name].ref, sweeps: sweep === null ? [] : [sweep], note: null };
    };
    const compared = await compareReport(store.db, { base: sideOf('base'), head: sideOf('head') }, options);
    return printReport(compared, options, io);
  };
  try {
    return await usingStore(store, work);
  } catch (error) {
    if (!io.signal.aborted) throw error;
    throw new InterruptedError('interrupted; what was measured is stored: the same command goes on', { cause: error });
  }
}

/** The same for the same two commits, measured in the same way: from any checkout of the repository. */
async function requestOf(
  { base, head, repository }: TwoCommits,
  matrix: string,
  { build = [], filter, replay, trtexec }: CompareOptions,
  { cwd }: Io,
) {
  const inside = pathInside(repository, resolve(cwd, matrix));
  const owned = [base, head].map(({ commit }) => inside !== null && isInCommit(repository, commit, inside));
  const isOfCommits = (await Promise.all(owned)).every((isOwned) => isOwned);
  const placed = (path: string): string => pathInside(repository, resolve(cwd, path)) ?? resolve(cwd, path);
  return {
    base: base.commit,
    head: head.commit,
    folder: placed('.'),
    matrix: placed(matrix),
    // Another one with other contents where a commit lacks it.
    matrixSha256: isOfCommits ? null : ((await sha256OfFile(resolve(cwd, matrix)).catch(() => null))?.sha256 ?? null),
    trtexec: trtexec?.includes('/') === true ? placed(trtexec) : trtexec,
    filter,
    build,
    replay,
  };
}

/** True when the store has all that is wanted: then nothing is checked out. */
function isDone({ io, options, pair, store }: Comparing): boolean {
  if (!isFinished(pair)) return false;
  const stored = readStoredPlan(planOf(store.db, pair.head));
  if (stored === null) return false;
  const { plan, program } = stored;
  const set = program.replayFolder === null ? null : readRecordingSet(program.replayFolder);
  const cells = cellsOf(store, pair, plan.cells).map((each) => ({
    ...each,
    capacity: set === null ? Infinity : recordedRuns(set, plan, each.cell.key),
    roundS: 1,
  }));
  // Without an engine there is no run, again and again.
  const measured = cells.filter(({ base, head }) => base.length > 0 && head.length > 0);
  if (nextRound(measured, enoughOf(options, plan.repeats)).length > 0) return false;
  const on = pair.stored.head?.startedAt?.slice(0, 10) ?? 'before';
  say(`measured on ${on} already; --force measures again`, io);
  return true;
}

async function measure(comparing: Comparing, folder: string): Promise<void> {
  const { commits, io, options, pair, store } = comparing;
  const { build: command = [], matrix, trtexec = null } = options;
  say(`base ${commitText(commits.base)}, head ${commitText(commits.head)}`, io);
  if (commits.isDirty) {
    say(`note: uncommitted changes are not measured: head is commit ${commits.head.commit.slice(0, 8)}`, io);
  }
  const source = { repository: commits.repository, folder, command, matrix, trtexec };
  const sides = {
    base: new CommitSide('base', commits.base, source, io),
    head: new CommitSide('head', commits.head, source, io),
  };
  for (const side of [sides.base, sides.head]) {
    if (!(await side.add())) continue;
    say(`note: ${printable(matrix)} is not in ${side.text}: taking that of the working tree`, io);
  }
  const early = await earlyPlans(sides, options);
  if (early !== null) sayCost(comparing, early);
  for (const side of command.length === 0 ? [] : [sides.base, sides.head]) {
    say(`building ${side.name} ${side.text}: ${shellLine(command)}`, io);
    await side.build();
  }
  const all = await planBoth(sides, options, 'models needed');
  if (early === null) sayCost(comparing, all);
  const both = withinBudget(store, all, options.budget ?? null);
  for (const note of both.notes) say(`note: ${note}`, io);
  const { program, plan } = both.head.planned;
  const hasHarness = plan.runs.some(({ harness }) => harness !== null);
  if (options.metric !== undefined && !isMetric(options.metric) && !hasHarness) metricNamed(store.db, options.metric);
  const machines = await machinesFor(program, options.gpus ?? null, io);
  if (options.gpus !== undefined) refuseOwnDevices(plan);
  const keys = plan.cells.map(({ cell }) => cell.key);
  const settings = {
    ...enoughOf(options, plan.repeats),
    budgetS: options.budget ?? null,
    python: options.python ?? null,
    telemetry: options.telemetry !== false,
    gpus: options.gpus === undefined ? null : shareOut(plan, machines, lastGpusOf(store.db, keys), io),
  };
  await measureInTurns(store, pair, both, machines, settings, () => pairedCells(store, pair, both), io);
}

/** Null where the command first has to make something: the matrix, or trtexec. */
async function earlyPlans(
  sides: Readonly<Record<SideName, CommitSide>>,
  options: Comparing['options'],
): Promise<BothPlans | null> {
  try {
    return await planBoth(sides, options, options.build === undefined ? 'models needed' : 'models maybe later');
  } catch (error) {
    if (options.build !== undefined && error instanceof CommitError && error.isForBuild) return null;
    throw error;
  }
}

function sayCost({ io, options, pair, store }: Comparing, both: BothPlans): void {
  const enough = enoughOf(options, both.head.planned.plan.repeats);
  const gpus = options.gpus?.split(',').length ?? 1;
  const budgetS = options.budget ?? null;
  const { base, head } = withinBudget(store, both, budgetS);
  const cells = pairedCells(store, pair, { base, head });
  for (const line of costText(store, [base, head], cells, enough, gpus, budgetS)) say(line, io);
}

function enoughOf({ maxRepeats, metric, repeats, untilSure }: CompareOptions, planned: number): Enough {
  return {
    repeats: repeats ?? planned,
    maxRepeats: maxRepeats ?? DEFAULT_MAX_REPEATS,
    percent: untilSure ?? DEFAULT_PERCENT,
    metric: metric !== undefined && isMetric(metric) ? metric : null,
  };
}

function say(line: string, io: Io): void {
  for (const part of wrapHanging(line, io.errLook.columns, 2)) io.err(`${part}\n`);
}
