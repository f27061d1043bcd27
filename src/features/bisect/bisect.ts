import { existsSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { relative, resolve } from 'node:path';

import { InterruptedError, UsageError } from '../../errors.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import { isMetric, isOfBuild, METRIC_WORDS, type MetricId, ownMetricNamed } from '../../records/metric.ts';
import { printable } from '../../text/printable.ts';
import { resolveRevision } from '../../tools/git/git.ts';
import { readFactors } from '../../matrix/points/factors.ts';
import { commitTask } from './commits.ts';
import { factorTask } from './factors.ts';
import { bisectText, reportOf } from './report.ts';
import { Measurements } from './measurements.ts';
import { searchToTheEnd, type SearchEnd } from './search.ts';
import {
  bisectFolderOf,
  enginesOf,
  inSession,
  type Session,
  type BisectRequest,
  type BisectState,
  idOfRequest,
  newestUnfinished,
  newState,
  readState,
} from './state.ts';
import { type Io, printResult } from '../../cli/io.ts';
import { storePath } from '../../cli/store-location.ts';
import { withStore } from '../../cli/with-store.ts';
import { readStoredPlan } from '../../run/stored-plan.ts';
import { resolveSide } from '../../selection/sides.ts';
import { planOf } from '../../store/sweeps/sweeps.ts';
import type { BisectOptions } from './command.ts';

export async function bisect(
  good: string | undefined,
  bad: string | undefined,
  command: readonly string[],
  options: BisectOptions,
  io: Io,
): Promise<ExitCode> {
  const path = storePath(options.db, io);
  const state = await stateOf(path, [good, bad, command], options, io);
  try {
    const telemetry = options.telemetry !== false;
    return await inSession(path, state, telemetry, io, (session) => search(session, options, io));
  } catch (error) {
    if (!io.signal.aborted) throw error;
    const left = 'go on with `bench bisect --resume`';
    throw new InterruptedError(`interrupted; what was measured is stored: ${left}`, { cause: error });
  }
}

async function search(session: Session, options: BisectOptions, io: Io): Promise<ExitCode> {
  const { request } = session.state();
  const there: Io = { ...io, cwd: request.cwd };
  const task = await (request.search.kind === 'commits'
    ? commitTask(request, request.search, session.folder, there)
    : factorTask(request, request.search, session.folder, there));
  const placed = { ...session, io: there };
  const measurements = new Measurements(placed, task);
  const end = await searchToTheEnd(placed, task, measurements);
  if (end.kind !== 'failed') {
    await session.save({ isFinished: true });
    await rm(enginesOf(session.folder), { recursive: true, force: true });
  }
  printResult(io, options, reportOf(session, task, measurements, end), bisectText);
  return EXITS[end.kind];
}

/** Only an answer is a success: a script must not mistake "nothing to find" for one. */
const EXITS: Readonly<Record<SearchEnd['kind'], ExitCode>> = {
  found: EXIT_CODES.fine,
  together: EXIT_CODES.unclear,
  range: EXIT_CODES.incomplete,
  failed: EXIT_CODES.incomplete,
  notSlower: EXIT_CODES.unclear,
  unclear: EXIT_CODES.unclear,
};

async function stateOf(
  path: string,
  [good, bad, command]: [string | undefined, string | undefined, readonly string[]],
  options: BisectOptions,
  io: Io,
): Promise<BisectState> {
  const folder = bisectFolderOf(path);
  if (options.resume === true && good === undefined && options.factors === undefined) {
    const unfinished = newestUnfinished(folder);
    if (unfinished === null) throw new UsageError('nothing to resume: no bisection was interrupted');
    if (!existsSync(unfinished.request.cwd)) {
      throw new UsageError(`${printable(unfinished.request.cwd)}: it was started there, and is gone`);
    }
    return unfinished;
  }
  const { factors } = options;
  const matrix = options.matrix ?? (factors === undefined ? await matrixOf([bad, good], path, io) : null);
  const request: BisectRequest = {
    cwd: io.cwd,
    matrix,
    cell: options.cell ?? null,
    metric: metricOf(options.metric),
    trtexec: options.trtexec ?? null,
    replay: options.replay ?? null,
    maxRuns: options.maxRuns,
    search: factors === undefined ? await commitSearch(good, bad, command, io) : factorSearch(good, factors, io),
  };
  if (matrix === null && factors === undefined) throw new UsageError('which matrix? --matrix FILE');
  const known = options.restart === true ? null : readState(folder, idOfRequest(request));
  return known ?? newState(request, io.now().toISOString());
}

/** The file with which one of these revisions, or one before it, was measured; null where none is known. */
async function matrixOf(refs: readonly (string | undefined)[], path: string, io: Io): Promise<string | null> {
  if (!existsSync(path)) return null;
  return withStore({ db: path }, io, async ({ db }) => {
    for (const ref of refs) {
      const side = ref === undefined ? null : await resolveSide(db, ref, io).catch(nullIfUnknown);
      const stored = side?.sweeps.map(({ sweepId }) => readStoredPlan(planOf(db, sweepId))?.matrix?.file);
      const file = stored?.find((each) => each !== undefined);
      if (file === undefined) continue;
      io.err(`note: the matrix is ${printable(relative(io.cwd, file))}, as ${printable(ref ?? '')} was measured\n`);
      return relative(io.cwd, file);
    }
    return null;
  });
}

function nullIfUnknown(error: unknown): null {
  if (error instanceof UsageError) return null;
  throw error;
}

function metricOf(name: string | undefined): MetricId | null {
  if (name === undefined) return null;
  const metric = ownMetricNamed(name) ?? name;
  if (!isMetric(metric)) {
    throw new UsageError(
      `--metric ${printable(metric)}: one of ${METRIC_WORDS.join(', ')}, or NAME:lower|higher:UNIT of another harness`,
    );
  }
  if (isOfBuild(metric)) {
    throw new UsageError(`--metric ${printable(name)}: a build has one value of it, however often its engine is run`);
  }
  return metric;
}

async function commitSearch(
  good: string | undefined,
  bad: string | undefined,
  command: readonly string[],
  io: Io,
): Promise<BisectRequest['search']> {
  if (good === undefined || bad === undefined) {
    throw new UsageError('between which commits? bench bisect GOOD BAD --matrix FILE -- CMD...');
  }
  const goodCommit = await revision(good, io);
  const badCommit = await revision(bad, io);
  return { kind: 'commits', good: goodCommit, bad: badCommit, goodRef: good, badRef: bad, command };
}

async function revision(ref: string, io: Io): Promise<string> {
  const commit = await resolveRevision(io.cwd, ref);
  if (commit === null) throw new UsageError(`${printable(ref)}: no git revision here`);
  return commit;
}

function factorSearch(good: string | undefined, file: string, io: Io): BisectRequest['search'] {
  if (good !== undefined) {
    throw new UsageError('--factors takes no commits and no command: a command to run is in the table as before:');
  }
  const path = resolve(io.cwd, file);
  const files = { cwd: io.cwd, isThere: existsSync };
  return { kind: 'factors', file, factors: readFactors(file, readText(path, file), files) };
}

function readText(path: string, shown: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    throw new UsageError(`${printable(shown)}: no such file, or it cannot be read`);
  }
}
