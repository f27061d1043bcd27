import { accessSync, constants, existsSync, readFileSync, statSync, realpathSync } from 'node:fs';
import { hostname } from 'node:os';
import { resolve } from 'node:path';

import { sha256OfFileSync } from '../../files/files.ts';
import {
  EnvironmentLackingError,
  MatrixError,
  UsageError,
  errorCode,
  formatMistake,
  type Mistake,
  throwMistakes,
} from '../../errors.ts';
import { findFlag } from '../../trtexec/flags/flag-table.ts';
import { type MatrixCell, statedFlags, type TwoSidedCells, withNeighborCells } from '../../matrix/matrix.ts';
import { onnxOf } from '../../matrix/models/models.ts';
import type { Placed } from '../../matrix/yaml/yaml-source.ts';
import { NO_TENSORRT } from '../../records/plan.ts';
import { didYouMean } from '../../text/nearest.ts';
import { printable } from '../../text/printable.ts';
import { parseTensorrtVersion } from '../../text/version.ts';
import { selectCells } from '../../matrix/filter.ts';
import { NO_MATRIX, loadMatrix, type Matrix } from '../../matrix/load.ts';
import { Dialect } from '../../trtexec/arguments/dialect.ts';
import { isColdStart } from '../../records/harness.ts';
import { makePlan } from '../../matrix/plan/make-plan.ts';
import type { CoolDown } from '../../machine/requests.ts';
import { checkRecorded } from '../../trtexec/replay/recording-set.ts';
import { probeTrtexec } from '../../trtexec/program/find-trtexec.ts';
import type { PlanOptions } from './command.ts';
import type { Io } from '../../cli/io.ts';
import { loadModule } from '../../cli/load-module.ts';
import { chooseProgram, noTrtexec, type ProgramOptions } from '../../cli/program.ts';
import { onnxInputs, readOnnxFacts } from '../../tools/onnx/onnx-file.ts';
import { NoModelError } from '../../tools/onnx/wire-reader.ts';
import { onnxProblem, readingProblem } from '../../selection/find-runs.ts';
import type { OnnxFacts } from '../../tools/onnx/facts.ts';
import { readReport } from '../../tools/nvidia-smi/nvidia-smi.ts';
import { controlFlowIn, modelMistakes, modelNotes, onnxFilesOf } from '../../matrix/models/check-model.ts';
import { firstVisibleGpu, lacksFp8 } from '../../tools/nvidia-smi/gpu-report.ts';
import { sizeOf } from '../../files/folders.ts';
import { isInside } from '../../files/layout.ts';
import type { Sweep } from '../../records/sweep.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { matrixFileOf } from '../../store/sweeps/sweeps.ts';
import { repositoryFolder } from '../../tools/git/git.ts';

export interface PrepareOptions extends Partial<Omit<PlanOptions, 'profile'>>, ProgramOptions {
  readonly profile?: boolean;
  readonly forceCache?: boolean;
  readonly coolDown?: CoolDown | undefined;
}

/** For `plan` a missing model is a remark, and for `run` it is an error. */
export type ModelsNeeded = 'models needed' | 'models maybe later';

/** Changes the cells of a matrix for an experiment. */
export type Trial = (cells: readonly MatrixCell[]) => TwoSidedCells;

/** A plan that is only shown must be reproducible. */
const SHOWN_SEED = 1;
const MAX_MATRIX_BYTES = 8 << 20;

export function readMatrix(path: string, io: Io, isUntrusted = false): Matrix {
  return loadMatrix(
    path,
    {
      cwd: io.cwd,
      readText: (file) => readMatrixFile(resolve(io.cwd, file)),
      hashFiles: (files) => new Map(files.flatMap((file) => hashedOrNothing(file))),
      readInputs: (file) => {
        try {
          return onnxInputs(file);
        } catch (error) {
          return errorCode(error) === 'ENOENT' ? 'file not found' : onnxProblem(error);
        }
      },
      loadModule,
    },
    { isUntrusted },
  );
}

/** Version for matrices without trtexec cells. */
const NEWEST = { major: 11, minor: 0, patch: 0 };

/** The cells of a matrix and their program, which is null if only its version is stated. Starts no process. */
export function requestedCells(path: string, options: PrepareOptions, io: Io, trial: Trial | null = null) {
  const matrix = readMatrix(path, io, options.untrusted === true);
  const chosen = filterCells(matrix, options.filter);
  const { cells, experiment } = trial?.(chosen) ?? { cells: chosen, experiment: null };
  const isWithoutTrtexec =
    cells.every(({ harness }) => harness !== null) && options.trtexec === undefined && options.replay === undefined;
  const { program, set } =
    isWithoutTrtexec || options.tensorrt !== undefined
      ? { program: isWithoutTrtexec ? noTrtexec(io) : null, set: null }
      : chooseProgram(options, matrix, io);
  return { matrix, cells, experiment, isWithoutTrtexec, program, set };
}

type Requested = ReturnType<typeof requestedCells>;

export async function prepare(
  path: string,
  options: PrepareOptions,
  models: ModelsNeeded,
  io: Io,
  requested: Requested = requestedCells(path, options, io),
) {
  const { cells, isWithoutTrtexec, matrix, program, set } = requested;
  const { version, flags } = await versionOf(requested, options, io);
  const dialect = new Dialect(version);
  if (dialect.refusal !== null) throw new EnvironmentLackingError(dialect.refusal);
  const loaded = withNeighborCells(cells);
  // Recordings have no cold starts.
  const planned = set === null ? cells : cells.filter(({ cell }) => !isColdStart(cell));
  const plan = makePlan(matrix, planned, dialect, {
    seed: options.seed ?? matrix.seed ?? (models === 'models needed' ? io.now().getTime() % 2 ** 31 : SHOWN_SEED),
    repeats: options.repeats ?? matrix.repeats,
    builds: buildsOf(matrix, cells, options),
    profile: options.profile ?? matrix.profile,
    forcesTimingCaches: options.forceCache === true,
    coolDown: options.coolDown ?? matrix.coolDown,
  });
  // Recordings need no model.
  const checked = await checkModels(set === null ? loaded : [], io);
  const lacking = set === null ? [...missingFiles(loaded), ...checked.lacking] : checkRecorded(set, plan, planned);
  const isLackingWrong = set !== null || models === 'models needed';
  throwMistakes([
    ...(isLackingWrong ? lacking : []),
    ...checked.mistakes,
    ...(flags === null ? [] : flagsNotIn(flags, cells)),
  ]);
  const notes: readonly string[] = [
    // A foreign matrix may execute foreign programs.
    ...(models === 'models needed'
      ? []
      : matrix.executes.map((each) => `executes what the matrix names: ${formatMistake(each)}`)),
    ...plan.notes,
    ...lacking.map(formatMistake),
    ...checked.notes,
    ...(planned.length < cells.length ? ['coldStart: left out, as recordings have none'] : []),
  ];
  const tensorrt = isWithoutTrtexec ? NO_TENSORRT : plan.tensorrt;
  return { matrix, plan: { ...plan, notes, tensorrt }, program, controlFlow: checked.controlFlow };
}

export type Prepared = Awaited<ReturnType<typeof prepare>>;

/** A given engine cannot be built several times. */
function buildsOf(matrix: Matrix, cells: readonly MatrixCell[], options: PrepareOptions): number {
  const builds = options.builds ?? matrix.builds;
  const frozen = cells.find(({ build }) => build.isFrozen);
  if (builds > 1 && frozen !== undefined) {
    const problem = `${builds} builds of each engine and build.engine: frozen cannot be used together`;
    throw new MatrixError([{ at: frozen.at, problem }]);
  }
  return builds;
}

async function versionOf({ isWithoutTrtexec, program, set }: Requested, { tensorrt = '' }: PrepareOptions, io: Io) {
  if (isWithoutTrtexec) return { version: NEWEST, flags: null };
  if (program !== null && set === null) return probeTrtexec(program, io.signal);
  const version = parseTensorrtVersion(set?.tensorrt ?? tensorrt);
  if (version !== null) return { version, flags: null };
  const stated = `--tensorrt ${tensorrt}: write a version such as 10.6`;
  throw new UsageError(set === null ? stated : `${set.folder}: its manifest names no version`);
}

function flagsNotIn(helpFlags: ReadonlySet<string>, cells: readonly MatrixCell[]): Mistake[] {
  return [...new Map(cells.flatMap(statedFlags))].flatMap(([flag, { at }]) =>
    findFlag(flag) === undefined && !helpFlags.has(flag)
      ? [{ at, problem: `neither bench nor the help of this trtexec knows ${flag}${didYouMean(flag, [...helpFlags])}` }]
      : [],
  );
}

function missingFiles(cells: readonly MatrixCell[]): Mistake[] {
  const files = new Map(cells.flatMap(filesOf).map(({ at, value }) => [value, at]));
  const engines = new Set(cells.map(({ build: { source } }) => source.kind === 'engine' && source.engine.value));
  return [...files].flatMap(([path, at]) => {
    const problem =
      fileProblem(path) ?? (engines.has(path) && sizeOf(path) === 0 ? 'has 0 bytes: build it again' : null);
    return problem === null ? [] : [{ at, problem: `${printable(path)}: ${problem}` }];
  });
}

function fileProblem(path: string): string | null {
  if (!existsSync(path)) return 'file not found';
  try {
    accessSync(path, constants.R_OK);
    return statSync(path).isDirectory() ? 'is a folder' : null;
  } catch (error) {
    return readingProblem(error);
  }
}

function filesOf(cell: MatrixCell): Placed<string>[] {
  const { plugins, source, timingCache } = cell.build;
  const placed = source.kind === 'engine' ? source.engine : onnxOf(source);
  // The arrays in it are checked when a Python is there, before it is used.
  const data = source.kind === 'converted' ? source.options.value.calibration?.data : undefined;
  return [
    ...(placed === null ? [] : [placed]),
    ...(source.kind === 'converted' && data !== undefined ? [{ value: data, at: source.options.at }] : []),
    ...(timingCache.kind === 'file' ? [timingCache.file] : []),
    ...plugins.static,
    ...plugins.dynamic,
    ...statedFlags(cell).flatMap(([flag, { at, value }]) =>
      findFlag(flag)?.isPath === true && flag !== '--tempdir' ? value.map((path) => ({ value: path, at })) : [],
    ),
  ];
}

export function filterCells(matrix: Matrix, expression: string | undefined): MatrixCell[] {
  if (expression === undefined) return [...matrix.cells];
  const reading = selectCells(expression, matrix.cells);
  if (reading.kind === 'faulty') {
    throw new UsageError(`--filter, at character ${reading.offset + 1}: ${reading.problem}`);
  }
  if (reading.cells.length === 0) {
    throw new UsageError(`--filter ${JSON.stringify(expression)} matches none of the ${matrix.cells.length} cells`);
  }
  return reading.cells;
}

/** @throws UsageError for a device, or a file that is too large or binary */
function readMatrixFile(path: string): string | null {
  let bytes: Buffer;
  try {
    const info = statSync(path);
    if (!info.isFile()) throw new UsageError('not a regular file');
    if (info.size > MAX_MATRIX_BYTES) {
      throw new UsageError(`is larger than ${MAX_MATRIX_BYTES >> 20} MiB: ${NO_MATRIX}`);
    }
    bytes = readFileSync(path);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    if (['ENOENT', 'ENOTDIR'].includes(errorCode(error))) return null;
    throw new UsageError(readingProblem(error));
  }
  if (bytes.includes(0)) throw new UsageError(`is not a UTF-8 text file: ${NO_MATRIX}`);
  return bytes.toString('utf8');
}

function hashedOrNothing(path: string): [string, ReturnType<typeof sha256OfFileSync>][] {
  try {
    // A pipe or device would never end.
    return statSync(path).isFile() ? [[path, sha256OfFileSync(path)]] : [];
  } catch {
    return [];
  }
}

/** FP8 that the GPU here lacks according to nvidia-smi. This is a note, because another GPU may be meant. */
async function fp8Notes(cells: readonly MatrixCell[], io: Io): Promise<string[]> {
  const fp8 = cells.find(({ cell }) => cell.precision === 'fp8');
  const report = fp8 === undefined ? '' : await readReport(io.env);
  const gpu = typeof report === 'string' ? null : firstVisibleGpu(report.gpus, io.env);
  if (fp8 === undefined || gpu === null || !lacksFp8(gpu)) return [];
  const problem = `FP8 needs a GPU of SM 8.9 (Ada) or newer, and ${printable(gpu.name ?? 'GPU')} is older`;
  return [formatMistake({ at: fp8.precisionAt, problem })];
}

/**
 * Checks the matrix against its models. An ONNX file that bench cannot read only gives a remark, because trtexec
 * decides.
 */
async function checkModels(cells: readonly MatrixCell[], io: Io) {
  const models = new Map<string, OnnxFacts>();
  const lacking: Mistake[] = [];
  const notes: string[] = [];
  for (const { value: path, at } of onnxFilesOf(cells)) {
    if (!existsSync(path)) continue;
    try {
      const facts = await readOnnxFacts(path);
      models.set(path, facts);
      for (const { location, problem } of facts.externalFiles) {
        if (problem === null) continue;
        lacking.push({ at, problem: `${printable(path)}: weights in ${printable(location)}: ${problem}` });
      }
    } catch (error) {
      const problem = `${printable(path)}: ${onnxProblem(error)}`;
      if (error instanceof NoModelError) lacking.push({ at, problem });
      else notes.push(formatMistake({ at, problem: `${problem}; its inputs are not checked` }));
    }
  }
  notes.push(...modelNotes(cells, models), ...(await fp8Notes(cells, io)));
  return { mistakes: modelMistakes(cells, models), lacking, notes, controlFlow: controlFlowIn(cells, models) };
}

/** Folders in which a matrix file may lie that the command line does not name. */
export async function placesOf({ cwd }: Io): Promise<readonly string[]> {
  return [cwd, await repositoryFolder(cwd)].flatMap((folder) => folder ?? []);
}

/**
 * The matrix of a sweep, which may execute code. Null unless the sweep was measured here and the file lies in one of
 * the folders; links are followed.
 * @throws BenchError when the file can no longer be read
 */
export function matrixOfSweep(db: StoreDatabase, sweep: Sweep, folders: readonly string[], io: Io): Matrix | null {
  const { host, provenance, source } = sweep;
  const isHere = source === 'run' && (host === hostname() || (host === null && provenance === 'recorded'));
  const file = isHere ? matrixFileOf(db, sweep.sweepId) : null;
  if (file === null || !existsSync(file)) return null;
  const isUnder = (folder: string): boolean => isInside(realpathSync(folder), realpathSync(file));
  const matrix = folders.some(isUnder) ? readMatrix(file, io) : null;
  return matrix?.name === sweep.matrix ? matrix : null;
}
