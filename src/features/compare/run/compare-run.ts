export { sidePlanOf, twoCommits } from './commit-side.ts';
export { pairIds } from './pair.ts';
import { resolve } from 'node:path';
import { sha256OfFile } from '../../../files/files.ts';
import type { Io } from '../../../cli/io.ts';
import { migrationsFolder, storePath } from '../../../cli/store-location.ts';
import { usingStore, warnIfMigrated } from '../../../cli/with-store.ts';
import { ensure, InterruptedError, UsageError } from '../../../errors.ts';
import type { CompareOptions } from '../command.ts';
import { compareReport, printReport } from '../compare.ts';
import { CommitSide, type SideName, type TurnSide, type TwoCommits, commitText } from './commit-side.ts';
import { pathInside, twoCommits } from './commit-side.ts';
import { type MeasureOptions, findPair, inPairFolder, planBoth } from './pair.ts';
import type { Enough } from '../../../judge/adaptive-repeats.ts';
import { cellsOf, type Comparing, costText, measureSides, nextRound, pairedCells } from './turns.ts';
import { failureSentences } from '../../../records/outcome.ts';
import { metricOfWord } from '../../../records/metric.ts';
import { machinesFor } from '../../../machine/machine.ts';
import { shareOut } from '../../../run/gpu-worker.ts';
import { recordedOf } from '../../../run/run-sweep.ts';
import { readStoredPlan } from '../../../run/stored-plan.ts';
import { metricNamed } from '../../../selection/by-name.ts';
import { openStore } from '../../../store/file/open.ts';
import { failedRunsOf } from '../../../store/runs/runs.ts';
import { lastGpusOf } from '../../../store/runs/time-estimates.ts';
import { findSweep, planOf } from '../../../store/sweeps/sweeps.ts';
import { wrapHanging } from '../../../terminal/look.ts';
import { printable } from '../../../text/printable.ts';
import { shellLine } from '../../../text/shell-quote.ts';
import { isInCommit } from '../../../tools/git/git.ts';

const DEFAULT_PERCENT = 1;
const DEFAULT_MAX_REPEATS = 20;

/**
 * Checks out two commits, builds and measures both in turns, stores the results, and compares them. A repeated call
 * resumes an interrupted one and does not repeat stored measurements.
 */
export async function compareRun(base: string | undefined, head: string | undefined, options: CompareOptions, io: Io) {
  const { branch } = options;
  const words = [base, head].flatMap((word) => word ?? []);
  const isMatrix = (word: string): boolean => options.matrix === undefined && /\.ya?ml$/i.test(word);
  const matrix = options.matrix ?? words.find(isMatrix);
  ensure(matrix !== undefined, 'which matrix? Write bench compare A..B MATRIX --run, or --matrix FILE');
  if (branch !== undefined) throw new UsageError('--branch cannot be used with --run, which measures two commits');
  if (options.untrusted === true && options.build !== undefined) {
    throw new UsageError('--untrusted refuses --build: it starts a program of the commits');
  }
  const [from, to] = words.filter((word) => !isMatrix(word));
  const commits = await twoCommits(from, to, io);
  const { compared } = await measuredCommits(commits, { ...options, matrix }, io);
  return printReport(compared, options, io);
}

/** Compares two commits, after measuring whatever the store lacks. */
export async function measuredCommits(commits: TwoCommits, options: MeasureOptions, io: Io) {
  const { base, head, repository } = commits;
  const request = await requestOf(commits, options, io);
  return comparedPair(request, { base: base.ref, head: head.ref }, options, io, (comparing) =>
    inPairFolder(comparing.store.path, comparing.pair, repository, io, async (folder) =>
      measure(comparing, await checkedOut(comparing, commits, folder)),
    ),
  );
}

/**
 * Measures and compares two sides that are not commits.
 * @param request what to measure and how; equal requests are one measurement
 */
export async function measuredSides(
  request: unknown,
  sides: Readonly<Record<SideName, TurnSide>>,
  options: MeasureOptions,
  io: Io,
) {
  return comparedPair(request, { base: sides.base.text, head: sides.head.text }, options, io, (comparing) =>
    measure(comparing, sides),
  );
}

async function comparedPair(
  request: unknown,
  refs: Readonly<Record<SideName, string>>,
  options: MeasureOptions,
  io: Io,
  measureMissing: (comparing: Comparing) => Promise<void>,
) {
  const store = warnIfMigrated(openStore(storePath(options.db, io), migrationsFolder()), io);
  try {
    return await usingStore(store, async () => {
      const pair = findPair(store.db, request, options.force === true);
      const comparing = { store, pair, options, io };
      if (!isDone(comparing)) await measureMissing(comparing);
      const sideOf = (name: SideName) => {
        const sweep = findSweep(store.db, pair[name]);
        return { ref: refs[name], sweeps: sweep === null ? [] : [sweep], note: null };
      };
      const compared = await compareReport(store.db, { base: sideOf('base'), head: sideOf('head') }, options);
      const failed = [pair.head, pair.base].flatMap((id) => failedRunsOf(store.db, id));
      return { pair, compared, failures: failureSentences(failed.map(({ outcome }) => outcome)) };
    });
  } catch (error) {
    if (!io.signal.aborted) throw error;
    throw new InterruptedError('interrupted; what was measured is stored: run the same command again to continue', {
      cause: error,
    });
  }
}

/** The request for a measurement of two commits. It is equal from any checkout of the repository. */
export async function requestOf(
  { base, head, repository }: TwoCommits,
  { build = [], filter, matrix, replay, trtexec }: MeasureOptions,
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
    // If a commit lacks the matrix, its content is part of the request.
    matrixSha256: isOfCommits ? null : ((await sha256OfFile(resolve(cwd, matrix)).catch(() => null))?.sha256 ?? null),
    trtexec: trtexec?.includes('/') === true ? placed(trtexec) : trtexec,
    filter,
    build,
    replay,
  };
}

/** True when the store has everything requested, so that nothing is checked out. */
function isDone({ io, options, pair, store }: Comparing): boolean {
  if ([pair.stored.base, pair.stored.head].some((sweep) => sweep?.state !== 'finished')) return false;
  const stored = readStoredPlan(planOf(store.db, pair.head));
  if (stored === null) return false;
  const { plan, program } = stored;
  const cells = cellsOf(store, pair, plan.cells, recordedOf(plan, program.replayFolder));
  // A cell without an engine never gets runs.
  const measured = cells.filter(({ base, head }) => base.length > 0 && head.length > 0);
  if (nextRound(measured, enoughOf(options, plan.repeats)).length > 0) return false;
  const on = pair.stored.head?.startedAt?.slice(0, 10) ?? 'before';
  say(`already measured on ${on}; --force measures again`, io);
  return true;
}

/** Checks out both commits and builds them. */
async function checkedOut({ io, options }: Comparing, commits: TwoCommits, folder: string) {
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
  for (const side of command.length === 0 ? [] : [sides.base, sides.head]) {
    say(`building ${side.name} ${side.text}: ${shellLine(command)}`, io);
    await side.build();
  }
  return sides;
}

async function measure(comparing: Comparing, sides: Readonly<Record<SideName, TurnSide>>): Promise<void> {
  const { io, options, store } = comparing;
  const both = await planBoth(store, sides, options);
  const { program, plan } = both.head;
  const enough = enoughOf(options, plan.repeats);
  const cells = pairedCells(comparing, both);
  say(costText(both, cells, enough, options.gpus?.split(',').length ?? 1, options.budget ?? null), io);
  for (const note of both.notes) say(`note: ${note}`, io);
  const hasHarness = plan.runs.some(({ harness }) => harness !== null);
  if (!hasHarness) metricNamed(store.db, options.metric);
  const machines = await machinesFor(program, options.gpus ?? null, io);
  const keys = plan.cells.map(({ cell }) => cell.key);
  const gpus = options.gpus === undefined ? null : shareOut(plan, machines, lastGpusOf(store.db, keys), io);
  await measureSides(comparing, both, machines, gpus, enough);
}

type WantedRuns = Pick<MeasureOptions, 'maxRepeats' | 'metric' | 'repeats' | 'untilSure'>;

export function enoughOf({ maxRepeats, metric, repeats, untilSure }: WantedRuns, planned: number): Enough {
  return {
    repeats: repeats ?? planned,
    maxRepeats: maxRepeats ?? DEFAULT_MAX_REPEATS,
    goal: { percent: untilSure ?? DEFAULT_PERCENT, deviations: 0 },
    metric: metric === undefined ? null : metricOfWord(metric),
  };
}

function say(line: string, io: Io): void {
  for (const part of wrapHanging(line, io.errLook.columns, 2)) io.err(`${part}\n`);
}
