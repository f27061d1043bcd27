import { basename } from 'node:path';

import { keyedCell, PRECISIONS, type Shapes } from '../records/cell.ts';
import type { CellKey } from '../records/scalars.ts';
import type { SourcePosition } from '../errors.ts';
import { type CoolDown, readCoolDown } from '../machine/requests.ts';
import type { HashedFiles, Matrix, MatrixCell } from './matrix.ts';
import { namedWords } from '../records/axis.ts';
import { defined, isOneOf } from '../text/unknown-values.ts';
import { isDimensionAxis, isOn, type Point, productSize } from './points/axes.ts';
import { buildShapes, checkLimitNames, type Outside, outsideProfile } from './points/shapes.ts';
import { readGate, readKeptBytes, readNotify } from './gate.ts';
import { cellFields } from './cell-fields.ts';
import { coldStarts } from './cold-starts.ts';
import { type Filter, readFilter } from './filter.ts';
import { MATRIX_DEFAULTS } from './schema/defaults.ts';
import { checkParameters, drivenCell, envFlags, envOf, harnessFiles, type ModelHarness } from './schema/harness.ts';
import { inputsOf } from './models/input-files.ts';
import { mergeBuild, readBuild, readMethod } from './schema/settings.ts';
import { type MatrixModel, reachPrecision, readModels, type Unreachable } from './models/models.ts';
import type { ReadInputs } from './models/shapes-of-model.ts';
import { axisFlags, isOnDla } from './points/flags.ts';
import type { MistakeList, SourcePath } from './yaml/source-node.ts';
import { type ModelPoints, pointsOf, type ShapedPoint, shapePlaces, templatesOf } from './points/points.ts';
import type { MatrixFile } from './schema/schema.ts';

/** More cells are a mistake in the file. */
const MAX_CELLS = 20_000;

/** Files that a matrix names. */
export interface NamedFiles {
  readonly hashFiles: (paths: readonly string[]) => HashedFiles;
  /** For a model that states no shapes. */
  readonly readInputs: ReadInputs;
}

/**
 * Turns a checked file into its cells. Mistakes of meaning go to the list; what is free of them is expanded anyway,
 * so that all of them are found at once.
 */
export function expandMatrix(
  file: MatrixFile,
  fileName: string,
  { hashFiles, readInputs }: NamedFiles,
  list: MistakeList,
): Omit<Matrix, 'executes'> {
  const models = readModels(file, readInputs, list);
  const points = pointsOf(file, models, list);
  const hashed = hashFiles(points.flatMap(filesOf));
  checkBuildNames(file, points, list);
  const size = points.reduce(
    (sum, entry) => sum + entry.blocks.reduce((inner, axes) => inner + productSize(axes), 0),
    0,
  );
  if (size > MAX_CELLS) list.add(['axes'], `${size} cells; at most ${MAX_CELLS} are taken`);
  const lacking = new Map<CellKey, Unreachable>();
  const all = size > MAX_CELLS ? [] : points.flatMap((entry) => modelCells(entry, { file, hashed, lacking, list }));
  const kept = applyExclude(file, all, list);
  for (const { cell, precisionAt } of kept) {
    const found = lacking.get(cell.key);
    if (found !== undefined) list.addAt(found.at ?? precisionAt, found.problem);
  }
  const { cells, merged } = mergeIdentical(kept);
  return {
    name: file.name ?? basename(fileName).replace(/\.ya?ml$/, ''),
    file: fileName,
    replay: file.replay === undefined ? null : recordingsOf(file.replay, list),
    trtexec: file.trtexec === undefined ? null : list.pathFrom(list.at(['trtexec']), file.trtexec),
    repeats: file.repeats ?? MATRIX_DEFAULTS.repeats,
    builds: file.builds ?? MATRIX_DEFAULTS.builds,
    profile: file.profile ?? MATRIX_DEFAULTS.profile,
    seed: file.seed ?? null,
    lockClocks: file.lockClocks ?? null,
    retries: { ...MATRIX_DEFAULTS.retries, ...defined(file.retries ?? {}) },
    coolDown: coolDownOf(file, list),
    numa: file.numa ?? 'off',
    slurm: file.slurm ?? {},
    gate: readGate(file, cells, list),
    notify: readNotify(file, list),
    drivers: modulesOf('drivers', file, list),
    reporters: modulesOf('reporters', file, list),
    keptLastGoodBytes: readKeptBytes(file, list),
    cells: [...cells, ...coldStarts(cells, file.coldStart?.repeats ?? null)],
    merged,
    notes: [...notesOf(file), ...dlaNotes(cells), ...prunedNotes(cells)],
  };
}

function filesOf({ model: { harness, inputFiles, name }, points }: ModelPoints): string[] {
  const inputs = Object.values(inputFiles).map(({ value }) => value);
  return harness === null ? inputs : [...inputs, ...harnessFiles(harness, name, points)];
}

function recordingsOf(stated: string, list: MistakeList): string {
  return /^[\w-]+$/.test(stated) ? stated : list.pathFrom(list.at(['replay']), stated);
}

function modulesOf(key: 'drivers' | 'reporters', file: MatrixFile, list: MistakeList): Matrix['drivers'] {
  const stated = file[key] ?? [];
  return (typeof stated === 'string' ? [stated] : stated).map((value, index) => ({ value, at: list.at([key, index]) }));
}

interface Expansion {
  readonly file: MatrixFile;
  readonly hashed: HashedFiles;
  /** Cells that the model has nothing for: mistakes, unless they are excluded. */
  readonly lacking: Map<CellKey, Unreachable>;
  readonly list: MistakeList;
}

function modelCells({ model, points }: ModelPoints, all: Expansion): MatrixCell[] {
  const { file, hashed, list } = all;
  if (model.harness !== null) return harnessCells(model.harness, model, points, all);
  const runs = points.flatMap(({ shapes, dimensions }) => (shapes === null ? [] : [{ shapes, dimensions }]));
  const build = mergeBuild(file.build, model.build);
  const template = points.find((point) => point.template !== null)?.template ?? null;
  const profile =
    template === null || model.engine !== null || runs.length === 0
      ? null
      : buildShapes({ template, build, path: limitsPath(file, model), runs }, list);
  const files = Object.entries(model.inputFiles).map(([input, { value, at }]) => [
    input,
    { value, at, bytes: hashed.get(value)?.bytes ?? 0, isZeros: hashed.get(value)?.isZeros ?? false },
  ]);
  return points.flatMap((shaped) => {
    const { dimensions, point, shapes } = shaped;
    const outside = profile === null || shapes === null ? null : outsideProfile(shapes, profile);
    if (outside !== null) {
      list.addAt(dimensionAt(shaped, outside) ?? list.keyAt(model.path), `model "${model.name}": ${outside.problem}`);
      return [];
    }
    const found = cellOfPoint(model, point, shapes ?? {}, all);
    if (found === null) return [];
    const { cell, note, precisionAt, source } = found;
    const request = readBuild(file, model, point, source, profile, list);
    return [
      {
        cell,
        harness: null,
        env: envOf(point),
        dimensions,
        method: readMethod(file, point, request, list),
        build: request,
        shapesAt: shapePlaces(model, shaped, list),
        inputFiles: Object.fromEntries(files),
        at: list.keyAt(model.path),
        precisionAt,
        notes: [model.note, note].filter((each) => each !== null),
      },
    ];
  });
}

/** Position of a dimension's value on an axis. */
function dimensionAt({ template, point }: ShapedPoint, { input, place }: Outside): SourcePosition | null {
  const symbol = template?.[input]?.[place ?? -1];
  return typeof symbol === 'string' ? (point.get(symbol)?.at ?? null) : null;
}

function harnessCells(
  harness: ModelHarness,
  model: MatrixModel,
  points: readonly ShapedPoint[],
  { file, hashed, list }: Expansion,
): MatrixCell[] {
  const known = new Set(points.flatMap(({ point }) => [...point.keys()]));
  if (points.length > 0) checkParameters(harness, known, list);
  return points.flatMap((shaped) => {
    const { dimensions, point } = shaped;
    const driven = drivenCell(harness, model.name, shaped, hashed, list);
    if (driven === null) return [];
    const build = readBuild(file, model, new Map(), { kind: 'none' }, null, list);
    const method = readMethod(file, new Map(), { ...build, flags: {} }, list);
    return [
      {
        ...driven,
        env: envOf(point),
        dimensions,
        method: { ...method, flags: {} },
        build: { ...build, flags: {}, isFrozen: false, timingCache: { kind: 'none' } },
        shapesAt: shapePlaces(model, shaped, list),
        inputFiles: {},
        at: list.keyAt(model.path),
        precisionAt: point.get('precision')?.at ?? list.keyAt(model.path),
        notes: model.note === null ? [] : [model.note],
      },
    ];
  });
}

function cellOfPoint(model: MatrixModel, point: Point, shapes: Shapes, { hashed, lacking, list }: Expansion) {
  const stated = point.get('precision');
  const precision = stated?.value.kind === 'word' ? stated.value.word : null;
  if (!isOneOf(PRECISIONS, precision)) return null;
  const reached = reachPrecision(model, precision, list);
  const precisionAt = stated?.at ?? list.at(model.path);
  const isLacking = 'problem' in reached;
  const streams = point.get('streams')?.value;
  const cell = keyedCell({
    model: model.name,
    precision: model.engine === null ? precision : 'unstated',
    precisionVia: isLacking ? 'onnx' : reached.via,
    shapes,
    // The DLA takes no launches by graph: trtexec 10.10 and newer disables them.
    cudaGraph: isOn(point.get('cudaGraph')) && !isOnDla(point),
    dataTransfers: isOn(point.get('dataTransfers')),
    streams: streams?.kind === 'number' ? streams.number : 1,
    spinWait: isOn(point.get('spinWait')),
    inputs: inputsOf(model, shapes, hashed, list),
    axisFlags: { ...axisFlags(point), ...envFlags(point) },
  });
  if (!isLacking) return { cell, source: reached.source, note: reached.note, precisionAt };
  lacking.set(cell.key, reached);
  return { cell, source: { kind: 'none' } as const, note: null, precisionAt };
}

function checkBuildNames(file: MatrixFile, entries: readonly ModelPoints[], list: MistakeList): void {
  checkLimitNames(file.build, ['build'], namesOf(entries), list);
  for (const entry of entries) {
    checkLimitNames(entry.model.build, [...entry.model.path, 'build'], namesOf([entry]), list);
  }
}

function namesOf(entries: readonly ModelPoints[]) {
  const axes = entries.flatMap(({ blocks }) => blocks);
  const names = axes.flatMap((block) => [...block.keys()].filter(isDimensionAxis));
  const sets = entries.flatMap(({ model, blocks }) => blocks.flatMap((block) => templatesOf(model, block)));
  return { dimensions: [...new Set(names)], inputs: [...new Set(sets.flatMap((set) => Object.keys(set)))] };
}

function hasLimits(build: MatrixFile['build']): boolean {
  return build?.min !== undefined || build?.opt !== undefined || build?.max !== undefined;
}

/** Position of a profile's limits. */
function limitsPath(file: MatrixFile, model: MatrixModel): SourcePath {
  if (hasLimits(model.build)) return [...model.path, 'build'];
  return hasLimits(file.build) ? ['build'] : model.path;
}

/** A rule that excludes nothing is a mistake. */
function applyExclude(file: MatrixFile, cells: readonly MatrixCell[], list: MistakeList): MatrixCell[] {
  const known = cells.map(({ cell, dimensions }) => cellFields(cell, dimensions));
  let kept = [...cells];
  const taken: string[] = [];
  (file.exclude ?? []).forEach((expression, index) => {
    const reading = readFilter(expression, known);
    if (reading.kind === 'faulty') {
      const at = list.at(['exclude', index]);
      list.addAt({ ...at, column: at.column + reading.offset }, reading.problem);
      return;
    }
    const left = kept.filter((entry) => !matches(entry, reading.filter));
    if (left.length === kept.length && list.mistakes.length === 0) {
      list.add(['exclude', index], `"${expression}" excludes none of the cells`);
    }
    taken.push(`"${expression}" takes ${kept.length - left.length}`);
    kept = left;
  });
  if (kept.length === 0 && cells.length > 0) {
    list.addAtKey(['exclude'], `exclude leaves none of the ${cells.length} cells: ${taken.join(', ')}`);
  }
  return kept;
}

export function matches({ cell, dimensions }: MatrixCell, filter: Filter): boolean {
  return filter(cellFields(cell, dimensions));
}

function mergeIdentical(all: readonly MatrixCell[]): Pick<Matrix, 'cells' | 'merged'> {
  const byKey = [...Map.groupBy(all, ({ cell }) => cell.key)];
  return {
    cells: byKey.flatMap(([, same]) => same.slice(0, 1)),
    merged: byKey.flatMap(([key, { length }]) => (length > 1 ? [{ key, times: length }] : [])),
  };
}

/** Above this, trtexec's float32 stamps are too coarse for short inferences. */
const LONG_DURATION_S = 8;

function notesOf(file: MatrixFile): string[] {
  const duration = file.run?.durationS ?? MATRIX_DEFAULTS.durationS;
  return duration > LONG_DURATION_S
    ? [
        `run.durationS is ${duration}: trtexec's stamps lose resolution after ${LONG_DURATION_S} s; several short runs say more than one long one`,
      ]
    : [];
}

/** Defaults that a DLA does not support. */
function dlaNotes(cells: readonly MatrixCell[]): string[] {
  const devices = cells.flatMap(({ cell }) =>
    namedWords(cell.axisFlags).flatMap(({ name, word }) => (name === 'device' ? [word] : [])),
  );
  const named = [...new Set(devices)].join(', ');
  return named === '' ? [] : [`device ${named}: CUDA graphs are off there, whatever cudaGraph says`];
}

/** What makes engines of wrong outputs, or of easier work than that of real inputs. */
function prunedNotes(cells: readonly MatrixCell[]): string[] {
  return cells.some(({ cell }) => cell.axisFlags['--sparsity'] === 'force')
    ? [
        'sparsity force overwrites weights, and outputs are wrong: for speed only, and deprecated; prune the model instead (polygraphy surgeon prune) and state sparsity: enable',
      ]
    : [];
}

function coolDownOf({ coolDown }: MatrixFile, list: MistakeList): CoolDown | null {
  if (coolDown === undefined) return null;
  const request = readCoolDown(coolDown);
  if (request === null) list.add(['coolDown'], 'write a time such as 10s, or a temperature such as 45C');
  return request;
}
