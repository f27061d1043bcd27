import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';

import { writeNote } from '../../files/files.ts';
import { makeOwnFolder } from '../../files/folders.ts';
import { type Io, printResult } from '../../cli/io.ts';
import { storePath } from '../../cli/store-location.ts';
import { withStore } from '../../cli/with-store.ts';
import { BenchError, InterruptedError, UsageError } from '../../errors.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import { isMetric, isOfBuild, type MetricId, ownMetricNamed } from '../../records/metric.ts';
import { readStoredPlan } from '../../run/stored-plan.ts';
import { lockSweep } from '../../run/planned-sweep.ts';
import { resolveSide } from '../../selection/sides.ts';
import { planOf } from '../../store/sweeps/sweeps.ts';
import { printable } from '../../text/printable.ts';
import { inTurns } from '../compare/index.ts';
import type { BisectOptions } from './command.ts';
import { bisectCommits } from './commits.ts';
import { bisectFactors } from './factors.ts';
import { type BisectRequest, idOfRequest, newestUnfinished, requestFile } from './request.ts';
import { type BisectOutput, bisectText } from './report.ts';

export async function bisect(
  good: string | undefined,
  bad: string | undefined,
  command: readonly string[],
  options: BisectOptions,
  io: Io,
): Promise<ExitCode> {
  const path = storePath(options.db, io);
  const all = join(dirname(path), 'bisect');
  const isResumed = options.resume === true && good === undefined && options.factors === undefined;
  const request = isResumed ? newestUnfinished(all) : await requestOf(path, [good, bad, command], options, io);
  if (!existsSync(request.cwd)) {
    throw new UsageError(`${printable(request.cwd)} was removed, and the bisection began in this folder`);
  }
  const { search } = request;
  const bisectId = idOfRequest(request);
  const folder = join(all, bisectId);
  const settings = { request, bisectId, folder, db: path, telemetry: options.telemetry !== false };
  await makeOwnFolder(all);
  const unlock = lockSweep(all, bisectId, 'bisection');
  const there: Io = { ...io, cwd: request.cwd };
  try {
    await writeNote(requestFile(folder), request);
    const output = await (search.kind === 'commits'
      ? bisectCommits(settings, search, there)
      : bisectFactors(settings, search.file, there));
    if (output.status !== 'failed') await rm(requestFile(folder), { force: true });
    printResult(io, options, output, bisectText);
    return EXITS[output.status];
  } catch (error) {
    const isWrongUse = error instanceof BenchError && error.exitCode === EXIT_CODES.wrongUse;
    if (isWrongUse && !isResumed) await rm(folder, { recursive: true });
    if (!io.signal.aborted) throw error;
    const left = 'continue with `bench bisect --resume`';
    throw new InterruptedError(`interrupted; what was measured is stored: ${left}`, { cause: error });
  } finally {
    unlock();
  }
}

/** Only an answer is a success: a script must not take "nothing to find" for one. */
const EXITS: Readonly<Record<BisectOutput['status'], ExitCode>> = {
  found: EXIT_CODES.fine,
  together: EXIT_CODES.unclear,
  range: EXIT_CODES.incomplete,
  failed: EXIT_CODES.incomplete,
  notSlower: EXIT_CODES.unclear,
  unclear: EXIT_CODES.unclear,
};

async function requestOf(
  path: string,
  [good, bad, command]: [string | undefined, string | undefined, readonly string[]],
  options: BisectOptions,
  io: Io,
): Promise<BisectRequest> {
  const { factors } = options;
  const matrix = options.matrix ?? (factors === undefined ? await matrixOf([bad, good], path, io) : null);
  const request = {
    startedAt: io.now().toISOString(),
    cwd: io.cwd,
    matrix,
    cell: options.cell ?? null,
    metric: metricOf(options.metric),
    trtexec: options.trtexec ?? null,
    replay: options.replay ?? null,
    maxRuns: options.maxRuns,
    restart: options.restart === true,
  };
  if (factors !== undefined) {
    if (good === undefined) return { ...request, search: { kind: 'factors', file: factors } };
    throw new UsageError('--factors takes no commits and no command: a command to run is in the table as before:');
  }
  if (good === undefined || bad === undefined) {
    throw new UsageError('between which commits? bench bisect GOOD BAD --matrix FILE -- CMD...');
  }
  const { base, head } = await (await inTurns()).twoCommits(good, bad, io);
  const commits = { good: base.commit, bad: head.commit, goodRef: good, badRef: bad };
  if (matrix === null) throw new UsageError('name the matrix: --matrix FILE');
  return { ...request, search: { kind: 'commits', ...commits, command: [...command] } };
}

/**
 * The matrix file with which one of these revisions was measured; the first revision that has one counts. Null if none
 * has.
 */
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
  if (isMetric(metric) && !isOfBuild(metric)) return metric;
  throw new UsageError(
    `--metric ${printable(name)}: name a metric that each run has, or NAME:lower|higher:UNIT of another harness`,
  );
}
