import { existsSync } from 'node:fs';

import { ensure, UsageError } from '../../errors.ts';
import { NO_TENSORRT } from '../../records/plan.ts';
import { printable } from '../../text/printable.ts';
import { OFF_BRANCHES, type Sweep } from '../../records/sweep.ts';
import { readStoredPlan, type StoredPlan } from '../../run/stored-plan.ts';
import { shellQuote } from '../../text/shell-quote.ts';
import { sweepLockHolder } from '../../run/planned-sweep.ts';
import { artefactsFolderOf } from '../../files/layout.ts';
import type { OpenStore, StoreDatabase } from '../../store/file/open.ts';
import { onlyOne } from '../../selection/by-name.ts';
import { NO_SWEEP_NUMBERS, sweepNumbers } from '../../store/sweeps/overview.ts';
import { count } from '../../terminal/numbers.ts';
import { findSweepsByPrefix, planOf, unfinishedSweeps } from '../../store/sweeps/sweeps.ts';
import type { Io } from '../../cli/io.ts';
import { readMatrix } from '../plan/index.ts';
import { chooseProgram, noTrtexec } from '../../cli/program.ts';
import { hashModel } from '../../files/hashes.ts';
import { sha256OfFile } from '../../files/files.ts';
import { hashOf } from '../../text/canonical-json.ts';
import type { Environment } from '../../records/environment.ts';
import type { Matrix } from '../../matrix/load.ts';
import { builtModelsOf, environmentsOf } from '../../store/sweeps/environments.ts';
import type { Machine } from '../../machine/machine.ts';

/**
 * The sweep to resume: the named one, else the newest unfinished one, of this matrix if given. Null when all are
 * finished.
 * @param confirms whether a finished sweep also counts, because its pairs are to be measured
 */
export function resumable(
  { db, path }: OpenStore,
  matrixPath: string | undefined,
  requested: string | true,
  io: Io,
  confirms = false,
) {
  const matrix = matrixPath === undefined ? null : readMatrix(matrixPath, io).name;
  const sweep =
    requested === true || requested === 'latest'
      ? newestUnfinished(db, artefactsFolderOf(path), matrix)
      : namedSweep(db, requested, confirms);
  if (sweep === null) return null;
  const stored = readStoredPlan(planOf(db, sweep.sweepId));
  ensure(stored !== null, `sweep ${sweep.sweepId.slice(0, 8)} has no plan that can be resumed`);
  if (stored.slurmRun !== null) {
    throw new UsageError(
      `sweep ${sweep.sweepId.slice(0, 8)} was handed to Slurm: collect its results with \`bench slurm collect ${shellQuote(stored.slurmRun)}\`, continue with \`bench slurm resume ${shellQuote(stored.slurmRun)}\``,
    );
  }
  const { trtexec, replayFolder } = stored.program;
  const isThere = trtexec === null || existsSync(trtexec);
  ensure(isThere, `the sweep ran with ${printable(trtexec ?? '')}, which no longer exists`);
  if (stored.plan.tensorrt === NO_TENSORRT) return { sweep, stored, program: noTrtexec(io) };
  const stated = replayFolder === null ? { trtexec: trtexec ?? 'trtexec' } : { replay: replayFolder };
  const { program } = chooseProgram(stated, { replay: null, trtexec: null }, io);
  return { sweep, stored, program };
}

/** @throws UsageError for one that ended with failures */
function namedSweep(db: StoreDatabase, prefix: string, takesFinished: boolean): Sweep | null {
  const only = onlyOne(prefix, findSweepsByPrefix(db, prefix), 'sweeps');
  ensure(only !== null, `sweep ${printable(prefix)} is not in this store`);
  if (only.state !== 'finished' || takesFinished) return only;
  const { builds, built, measured, runs } = sweepNumbers(db, [only.sweepId]).get(only.sweepId) ?? NO_SWEEP_NUMBERS;
  if (runs + builds === measured + built) return null;
  const [id, failures] = [only.sweepId.slice(0, 8), count(runs - measured + builds - built, 'failure')];
  const how = `measure the rest with \`bench run MATRIX --filter CELL\` (see bench show ${id})`;
  throw new UsageError(`sweep ${id} ended, with ${failures}: ${how}`);
}

function newestUnfinished(db: StoreDatabase, artefactsFolder: string, name: string | null): Sweep | null {
  const unfinished = unfinishedSweeps(db).filter(
    // `bench bisect --resume` and `bench compare --run` resume their own sweeps.
    ({ branch, sweepId }) => !OFF_BRANCHES.includes(branch) && sweepLockHolder(artefactsFolder, sweepId) === null,
  );
  return unfinished.find(({ matrix }) => name === null || matrix === name) ?? null;
}

/** Keys that do not affect the meaning: positions in the file, and names of dimensions, whose sizes do. */
const MEANINGLESS: ReadonlySet<string> = new Set(['at', 'shapesAt', 'precisionAt', 'namedShapes']);

/** Equal for files with the same meaning: ignores comments and the order of keys. */
export function matrixIdentity({ cells, profile, repeats }: Matrix): string {
  const bare = JSON.stringify({ cells, profile, repeats }, (key, value: unknown) =>
    MEANINGLESS.has(key) ? undefined : value,
  );
  return hashOf(JSON.parse(bare));
}

/** @throws UsageError that lists what has changed since, unless the user wants to continue anyway */
export async function refuseChanges(
  db: StoreDatabase,
  { sweep, stored }: { readonly sweep: Sweep; readonly stored: StoredPlan },
  machines: readonly Machine[],
  anyway: boolean,
  io: Io,
): Promise<void> {
  const what = [
    ...changedMatrix(stored, io),
    ...(await changedModels(db, sweep, stored)),
    ...(await changedTrtexec(stored)),
    ...changedMachine(environmentsOf(db, sweep.sweepId), machines),
  ].join('; ');
  if (what === '') return;
  const id = sweep.sweepId.slice(0, 8);
  ensure(anyway, `sweep ${id} cannot resume unchanged: ${what}. Start a new one, or add --anyway`);
  io.err(`note: continuing although ${what}\n`);
}

function changedMatrix({ matrix }: StoredPlan, io: Io): string[] {
  if (matrix === null) return [];
  const name = printable(matrix.file);
  try {
    return matrixIdentity(readMatrix(matrix.file, io)) === matrix.identity ? [] : [`the matrix ${name} has changed`];
  } catch {
    return [`the matrix ${name} can no longer be read`];
  }
}

async function changedModels(db: StoreDatabase, sweep: Sweep, { plan }: StoredPlan): Promise<string[]> {
  const before = builtModelsOf(db, sweep.sweepId);
  // A changed base only means that the variant is made again.
  const given = plan.builds.flatMap(({ model, onnxPath, variantRef }): [string, string][] =>
    onnxPath === null || variantRef !== null ? [] : [[onnxPath, model]],
  );
  const changes = [...new Map(given)].map(async ([path, model]) => {
    const hashes = before.get(model);
    const now = hashes && (await hashModel(path).catch(() => null));
    if (now === null) return [`the model ${printable(path)} no longer exists`];
    return now === undefined || hashes?.has(now) === true ? [] : [`the model ${printable(path)} has changed`];
  });
  return (await Promise.all(changes)).flat();
}

async function changedTrtexec({ program }: StoredPlan): Promise<string[]> {
  const { trtexec, trtexecSha256 } = program;
  if (trtexec === null || trtexecSha256 === null) return [];
  const now = await sha256OfFile(trtexec).catch(() => null);
  return now?.sha256 === trtexecSha256 ? [] : [`${printable(trtexec)} has changed`];
}

function changedMachine(before: readonly Partial<Environment>[], machines: readonly Machine[]): string[] {
  const changes = (['host', 'driver'] as const).flatMap((field) => {
    const old = distinct(before.map((environment) => environment[field]));
    const now = distinct(machines.map(({ environment }) => environment[field]));
    if (old.length === 0 || now.length === 0 || old.some((value) => now.includes(value))) return [];
    return [`the ${field} was ${printable(old.join(', '))} and is ${printable(now.join(', '))}`];
  });
  const uuids = distinct(machines.map(({ environment }) => environment.gpuUuid));
  const used = distinct(before.map(({ gpuUuid }) => gpuUuid));
  const gone = uuids.length === 0 ? [] : used.filter((uuid) => !uuids.includes(uuid));
  return [...changes, ...gone.map((uuid) => `it ran on ${printable(uuid)}, which is not used now`)];
}

function distinct(values: readonly (string | null | undefined)[]): string[] {
  return [...new Set(values.flatMap((value) => value ?? []))];
}
