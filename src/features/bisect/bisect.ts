import { existsSync, readdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';

import { writeNote } from '../../files/files.ts';
import { makeOwnFolder, readJson } from '../../files/folders.ts';
import { type Io, printResult } from '../../cli/io.ts';
import { storePath } from '../../cli/store-location.ts';
import { withStore } from '../../cli/with-store.ts';
import { InterruptedError, UsageError } from '../../errors.ts';
import type { ExitCode } from '../../exit-codes.ts';
import { isMetric, isOfBuild, type MetricId, ownMetricNamed } from '../../records/metric.ts';
import { readStoredPlan } from '../../run/stored-plan.ts';
import { lockSweep } from '../../run/planned-sweep.ts';
import { resolveSide } from '../../selection/sides.ts';
import { planOf } from '../../store/sweeps/sweeps.ts';
import { hashOf } from '../../text/canonical-json.ts';
import { printable } from '../../text/printable.ts';
import { inTurns } from '../compare/index.ts';
import type { BisectOptions } from './command.ts';
import { factorSearch } from './factors.ts';
import { EXITS, bisectText } from './report.ts';
import { type BisectRequest, commitSearch, earlierSchema, requestSchema, searched } from './search.ts';

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
  const { search } = request;
  const bisectId = hashOf({ ...request, startedAt: '', restart: false });
  const folder = join(all, bisectId);
  const settings = { request, bisectId, folder, db: path, telemetry: options.telemetry !== false };
  const there: Io = { ...io, cwd: request.cwd };
  const searching = await (search.kind === 'commits'
    ? commitSearch(settings, search, there)
    : factorSearch(settings, search.file, there));
  await makeOwnFolder(all);
  const unlock = lockSweep(all, bisectId, 'bisection');
  try {
    await writeNote(requestFile(folder), request);
    const output = await searched(settings, searching, there);
    if (output.status !== 'failed') await rm(folder, { recursive: true });
    printResult(io, options, output, bisectText);
    return EXITS[output.status];
  } catch (error) {
    if (!io.signal.aborted) throw error;
    const left = 'continue with `bench bisect --resume`';
    throw new InterruptedError(`interrupted; what was measured is stored: ${left}`, { cause: error });
  } finally {
    unlock();
  }
}

function requestFile(folder: string): string {
  return join(folder, 'request.json');
}

/**
 * The newest request without an answer.
 * @param all folder of all bisections
 * @throws UsageError if there is none; it names one that version 0.1 began
 */
function newestUnfinished(all: string): BisectRequest {
  const folders = existsSync(all) ? readdirSync(all).map((name) => join(all, name)) : [];
  const requests = folders.flatMap((folder) => readJson(requestFile(folder), requestSchema) ?? []);
  const newest = requests.toSorted((a, b) => (a.startedAt < b.startedAt ? 1 : -1))[0];
  if (newest !== undefined) return newest;
  const [earlier] = folders.flatMap((folder) => readJson(join(folder, 'state.json'), earlierSchema) ?? []);
  if (earlier === undefined) throw new UsageError('nothing to resume: no bisection was interrupted');
  const { search } = earlier.request;
  const what = 'file' in search ? `--factors ${printable(search.file)}` : `${search.good} ${search.bad}`;
  throw new UsageError(`an earlier version of bench started this bisection: start it again with bench bisect ${what}`);
}

async function requestOf(
  path: string,
  [good, bad, command]: [string | undefined, string | undefined, readonly string[]],
  options: BisectOptions,
  io: Io,
): Promise<BisectRequest> {
  const { cell = null, factors, maxRuns, replay = null, restart = false, trtexec = null } = options;
  const asked = { startedAt: io.now().toISOString(), cwd: io.cwd, cell, maxRuns, replay, restart, trtexec };
  const request = { ...asked, metric: metricOf(options.metric) };
  if (factors !== undefined) {
    const search = { kind: 'factors' as const, file: factors };
    if (good === undefined) return { ...request, matrix: options.matrix ?? null, search };
    throw new UsageError('--factors takes no commits and no command: a command to run is in the table as before:');
  }
  if (good === undefined || bad === undefined) {
    throw new UsageError('between which commits? bench bisect GOOD BAD --matrix FILE -- CMD...');
  }
  const { base, head } = await (await inTurns()).twoCommits(good, bad, io);
  const matrix = options.matrix ?? (await matrixOf([bad, good], path, io));
  if (matrix === null) throw new UsageError('name the matrix: --matrix FILE');
  const commits = { good: base.commit, bad: head.commit, goodRef: good, badRef: bad };
  return { ...request, matrix, search: { kind: 'commits', ...commits, command: [...command] } };
}

/** The matrix file with which one of these revisions was measured; null if none was. */
async function matrixOf(refs: readonly string[], path: string, io: Io): Promise<string | null> {
  if (!existsSync(path)) return null;
  return withStore({ db: path }, io, async ({ db }) => {
    for (const ref of refs) {
      const side = await resolveSide(db, ref, io).catch(() => null);
      const stored = side?.sweeps.map(({ sweepId }) => readStoredPlan(planOf(db, sweepId))?.matrix?.file);
      const file = stored?.find((each) => each !== undefined);
      if (file === undefined) continue;
      io.err(`note: the matrix is ${printable(relative(io.cwd, file))}, as ${printable(ref)} was measured\n`);
      return relative(io.cwd, file);
    }
    return null;
  });
}

function metricOf(name: string | undefined): MetricId | null {
  if (name === undefined) return null;
  const metric = ownMetricNamed(name) ?? name;
  if (isMetric(metric) && !isOfBuild(metric)) return metric;
  throw new UsageError(`--metric ${printable(name)}: name a metric that each run has`);
}
