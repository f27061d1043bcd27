import { existsSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';

import { writeNote } from '../../files/files.ts';
import { makeOwnFolder, namesIn, readJson } from '../../files/folders.ts';
import { type Io, printResult } from '../../cli/io.ts';
import { storePath } from '../../cli/store-location.ts';
import { withStore } from '../../cli/with-store.ts';
import { UsageError, type ExitCode } from '../../errors.ts';
import { isOfBuild, metricOfWord } from '../../records/metric.ts';
import { readStoredPlan } from '../../run/stored-plan.ts';
import { resolveSide } from '../../selection/sides.ts';
import { planOf } from '../../store/sweeps/sweeps.ts';
import { hashOf } from '../../text/canonical-json.ts';
import { printable } from '../../text/printable.ts';
import { inTurns } from '../compare/index.ts';
import type { BisectOptions } from './command.ts';
import { factorSearch } from './factors.ts';
import { bisectText, exitOf } from './report.ts';
import { type BisectRequest, commitSearch, requestSchema, searched } from './search.ts';

/** Good, bad, and the command that builds a commit. */
type Words = readonly [string | undefined, string | undefined, readonly string[]];

export async function bisect(words: Words, options: BisectOptions, io: Io): Promise<ExitCode> {
  const path = storePath(options.db, io);
  const all = join(dirname(path), 'bisect');
  const isResumed = options.resume === true && words[0] === undefined && options.factors === undefined;
  const request = isResumed ? newestUnfinished(all) : await requestOf(path, words, options, io);
  const { search } = request;
  const bisectId = hashOf({ ...request, startedAt: '', restart: false });
  const folder = join(all, bisectId);
  const settings = { request, bisectId, folder, db: path, telemetry: options.telemetry !== false };
  const there: Io = { ...io, cwd: request.cwd };
  const searching = await (search.kind === 'commits'
    ? commitSearch(settings, search, there)
    : factorSearch(settings, search.file, there));
  await makeOwnFolder(all);
  await mkdir(folder, { recursive: true });
  await writeNote(join(folder, REQUEST), request);
  const output = await searched(settings, searching, there);
  if (output.status !== 'failed') await rm(folder, { recursive: true, force: true });
  printResult(io, options, output, bisectText);
  return exitOf(output);
}

const REQUEST = 'request.json';

/**
 * The newest request without an answer.
 * @param all folder of all bisections
 * @throws UsageError if there is none
 */
function newestUnfinished(all: string): BisectRequest {
  const requests = namesIn(all).flatMap((name) => readJson(join(all, name, REQUEST), requestSchema) ?? []);
  const newest = requests.toSorted((a, b) => (a.startedAt < b.startedAt ? 1 : -1))[0];
  if (newest === undefined) throw new UsageError('nothing to resume: no bisection was interrupted');
  return newest;
}

async function requestOf(path: string, words: Words, options: BisectOptions, io: Io): Promise<BisectRequest> {
  const [good, bad, command] = words;
  const { cell = null, factors, maxRuns, replay = null, restart = false, trtexec = null } = options;
  const metric = options.metric === undefined ? null : metricOfWord(options.metric);
  if (options.metric !== undefined && (metric === null || isOfBuild(metric))) {
    throw new UsageError(`--metric ${printable(options.metric)}: name a metric that each run has`);
  }
  const startedAt = io.now().toISOString();
  const request = { startedAt, cwd: io.cwd, cell, metric, maxRuns, replay, restart, trtexec };
  if (factors !== undefined) {
    if (good === undefined)
      return { ...request, matrix: options.matrix ?? null, search: { kind: 'factors', file: factors } };
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
