import { basename } from 'node:path';

import type { SourcePosition } from '../errors.ts';
import { type BuildShapes, PRECISIONS, type Shapes, keyedCell, outsideProfile, profileFor } from '../records/cell.ts';
import { coldStarts, withNeighborCells, type MatrixCell } from './matrix.ts';
import { namedWords, NEIGHBOR } from '../records/axis.ts';
import { defined, isOneOf, keysOf } from '../text/unknown-values.ts';
import { shortList } from '../text/printable.ts';
import { isDimensionAxis, type Point, type ShapedPoint } from './points/axes.ts';
import { buildProfiles, checkLimitNames } from './points/shapes.ts';
import { readGate, readNotify } from './gate.ts';
import { selectCells } from './filter.ts';
import { MATRIX_DEFAULTS } from '../records/matrix-defaults.ts';
import { checkParameters, drivenCell, envFlags, envOf, type HashedFiles, harnessFiles } from './schema/harness.ts';
import { mergeBuild, readBuild, readMethod } from './schema/settings.ts';
import {
  type EngineSource,
  type MatrixModel,
  type ReadInputs,
  inputsOf,
  reachPrecision,
  readModels,
} from './models/models.ts';
import { axisFlags, isOnDla } from './points/flags.ts';
import type { MistakeList, Placed, SourcePath } from './yaml/yaml-source.ts';
import { actsOnEngine, type ModelPoints, pointsOf, templatesOf } from './points/points.ts';
import type { MatrixFile } from './schema/schema.ts';

/** Files that a matrix names. */
export interface NamedFiles {
  readonly hashFiles: (paths: readonly string[]) => HashedFiles;
  /** Reads the inputs of a model without stated shapes. */
  readonly readInputs: ReadInputs;
}

/** trtexec itself says that it is deprecated, and names Polygraphy. */
const FORCED_SPARSITY =
  'sparsity force is refused: it overwrites weights, so that outputs are wrong, and is deprecated; prune the model (polygraphy surgeon prune MODEL -o PRUNED) and state sparsity: enable';

/**
 * Turns a checked file into its cells. Mistakes of meaning go to the list. Correct parts are expanded anyway, so that
 * all mistakes are found at once.
 */
export function expandMatrix(
  file: MatrixFile,
  fileName: string,
  { hashFiles, readInputs }: NamedFiles,
  list: MistakeList,
) {
  const models = readModels(file, readInputs, list);
  const points = pointsOf(file, models, list);
  const hashed = hashFiles(points.flatMap((entry) => filesOf(entry, list)));
  checkLimitNames(file.build, ['build'], namesOf(points), list);
  for (const entry of points) {
    checkLimitNames(entry.model.build, [...entry.model.path, 'build'], namesOf([entry]), list);
  }
  const all = points.flatMap((entry) => modelCells(entry, { file, hashed, list }));
  const kept = applyExclude(file, all, list).map((entry) => withNeighbor(entry, all, list));
  // A cell for which the model or the profile lacks something is a mistake unless the matrix excludes it.
  for (const { at, build, cell } of withNeighborCells(kept)) {
    const { length, 0: first } = build.profiles;
    const isInside = first === undefined || profileFor(cell.shapes, build.profiles) !== -1;
    const outside = isInside ? null : outsideProfile(cell.shapes, first);
    const others = length > 1 ? `, and no other of the ${length} profiles has it` : '';
    if (outside !== null) list.addAt(at, `model "${cell.model}": ${outside}${others}`);
    if (build.source.kind === 'none' && build.source.lacks !== null) list.mistakes.push(build.source.lacks);
    const sparsity = build.flags['--sparsity'];
    if (sparsity?.value.includes('force') === true) list.addAt(sparsity.at, FORCED_SPARSITY);
  }
  const byKey = [...Map.groupBy(kept, ({ cell }) => cell.key)];
  const cells = byKey.flatMap(([, same]) => same.slice(0, 1));
  return {
    name: file.name ?? basename(fileName).replace(/\.ya?ml$/, ''),
    file: fileName,
    replay:
      file.replay === undefined || /^[\w-]+$/.test(file.replay)
        ? (file.replay ?? null)
        : list.pathFrom(list.at(['replay']), file.replay),
    trtexec: file.trtexec === undefined ? null : list.pathFrom(list.at(['trtexec']), file.trtexec),
    repeats: file.repeats ?? MATRIX_DEFAULTS.repeats,
    builds: file.builds ?? MATRIX_DEFAULTS.builds,
    profile: file.profile ?? MATRIX_DEFAULTS.profile,
    seed: file.seed ?? null,
    lockClocks: file.lockClocks ?? null,
    retries: { ...MATRIX_DEFAULTS.retries, ...defined(file.retries ?? {}) },
    coolDown: file.coolDown ?? null,
    numa: file.numa ?? ('off' as const),
    slurm: file.slurm ?? {},
    gate: readGate(file, cells, list),
    notify: readNotify(file, list),
    /** Plug-ins, each with its name and the file that contains it. */
    drivers: modulesOf('drivers', file, list),
    reporters: modulesOf('reporters', file, list),
    /** Space for the last good engines. */
    keptLastGoodBytes: file.engines?.keepLastGood ?? MATRIX_DEFAULTS.keptLastGoodBytes,
    cells: [...cells, ...coldStarts(cells, file.coldStart?.repeats ?? null)],
    /** Points that equal an earlier cell. */
    merged: byKey.flatMap(([key, { length }]) => (length > 1 ? [{ key, times: length }] : [])),
    notes: notesOf(cells, file, models),
  };
}

function filesOf({ model: { harness, inputFiles, name }, points }: ModelPoints, list: MistakeList): string[] {
  const inputs = Object.values(inputFiles).map(({ value }) => value);
  return harness === null ? inputs : [...inputs, ...harnessFiles(harness, name, points, list)];
}

function modulesOf(key: 'drivers' | 'reporters', file: MatrixFile, list: MistakeList): Placed<string>[] {
  return [file[key] ?? []].flat().map((value, index) => ({ value, at: list.at([key, index]) }));
}

interface Expansion {
  readonly file: MatrixFile;
  readonly hashed: HashedFiles;
  readonly list: MistakeList;
}

function modelCells({ model, points }: ModelPoints, all: Expansion): MatrixCell[] {
  const { file, hashed, list } = all;
  const { harness } = model;
  if (harness !== null && points.length > 0) {
    checkParameters(harness, new Set(points.flatMap(({ point }) => [...point.keys()])), list);
  }
  const runs = points.flatMap(({ shapes, dimensions }) => (shapes === null ? [] : [{ shapes, dimensions }]));
  const build = mergeBuild(file.build, model.build);
  const template = points.find((point) => point.template !== null)?.template ?? null;
  const path = limitsPath(file, model);
  const routes = points.map(({ point }) => model.precisions.get(String(point.get('precision')?.value))?.value);
  const areGiven = routes.every((route) => typeof route === 'object' && 'engine' in route);
  // The limits of a given engine are known only if they are stated.
  const isUnknown = model.engine !== null || (areGiven && path === model.path);
  const profiles =
    harness !== null || template === null || isUnknown || runs.length === 0
      ? []
      : (buildProfiles({ template, build, path, runs }, list) ?? []);
  return points.flatMap((shaped) => {
    const { dimensions, point, shapes } = shaped;
    const precisionAt = point.get('precision')?.at ?? list.keyAt(model.path);
    const found =
      harness === null
        ? cellOfPoint(model, point, all, shapes ?? {}, precisionAt)
        : drivenCell(harness, model.name, shaped, hashed, list);
    if (found === null) return [];
    const { note, source, ...entry } = found;
    return [
      {
        ...entry,
        ...settingsOf(shaped, model, source, profiles, all),
        env: envOf(point),
        dimensions,
        namedShapes: shaped.template ?? {},
        shapesAt: point.get('shapes')?.at ?? list.at([...model.path, 'shapes']),
        at: list.keyAt(model.path),
        precisionAt,
        notes: [model.note, note].filter((each) => each !== null),
      },
    ];
  });
}

/** How a cell is built and measured. Another harness gets no options of trtexec. */
function settingsOf(
  { point }: ShapedPoint,
  model: MatrixModel,
  source: EngineSource,
  profiles: readonly BuildShapes[],
  { file, hashed, list }: Expansion,
): Pick<MatrixCell, 'build' | 'inputFiles' | 'method'> {
  const isDriven = model.harness !== null;
  const read = readBuild(file, model, isDriven ? new Map() : point, source, profiles, list);
  const build = isDriven ? { ...read, flags: {}, isFrozen: false, timingCache: { kind: 'none' as const } } : read;
  const method = readMethod(file, isDriven ? new Map() : point, build, list);
  const files = Object.entries(model.inputFiles).map(([input, { value, at }]) => {
    const { bytes = 0, isConstant = false } = hashed.get(value) ?? {};
    return [input, { value, at, bytes, isConstant }] as const;
  });
  return { build, method: isDriven ? { ...method, flags: {} } : method, inputFiles: Object.fromEntries(files) };
}

function cellOfPoint(
  model: MatrixModel,
  point: Point,
  { hashed, list }: Expansion,
  shapes: Shapes,
  precisionAt: SourcePosition,
) {
  const precision = point.get('precision')?.value;
  if (!isOneOf(PRECISIONS, precision)) return null;
  const { via, ...reached } = reachPrecision(model, precision, precisionAt, list);
  const streams = point.get('streams')?.value;
  const isOn = (axis: string): boolean => point.get(axis)?.value === true;
  const cell = keyedCell({
    model: model.name,
    precision: model.engine === null ? precision : 'unstated',
    precisionVia: via,
    shapes,
    // From trtexec 10.10, graphs are disabled on the DLA, which cannot be launched by graph.
    cudaGraph: isOn('cudaGraph') && !isOnDla(point),
    dataTransfers: isOn('dataTransfers'),
    streams: typeof streams === 'number' ? streams : 1,
    spinWait: isOn('spinWait'),
    inputs: inputsOf(model, hashed, list),
    axisFlags: { ...axisFlags(point), ...envFlags(point) },
  });
  return { cell, harness: null, ...reached };
}

function namesOf(entries: readonly ModelPoints[]) {
  const axes = entries.flatMap(({ blocks }) => blocks);
  const names = axes.flatMap((block) => [...block.keys()].filter(isDimensionAxis));
  const sets = entries.flatMap(({ model, blocks }) => blocks.flatMap((block) => templatesOf(model, block)));
  return { dimensions: [...new Set(names)], inputs: [...new Set(sets.flatMap((set) => Object.keys(set)))] };
}

/** Position of the limits of a profile. */
function limitsPath(file: MatrixFile, model: MatrixModel): SourcePath {
  const [isOwn, isCommon] = [model.build, file.build ?? {}].map((build) =>
    ['min', 'opt', 'max', 'profiles'].some((key) => key in build),
  );
  return isOwn === true ? [...model.path, 'build'] : isCommon === true ? ['build'] : model.path;
}

/** An exclude rule that excludes nothing is a mistake. */
function applyExclude(file: MatrixFile, cells: readonly MatrixCell[], list: MistakeList): MatrixCell[] {
  let kept = [...cells];
  (file.exclude ?? []).forEach((expression, index) => {
    const reading = selectCells(expression, cells);
    if (reading.kind === 'faulty') {
      list.add(['exclude', index], reading.problem);
      return;
    }
    const excluded = new Set(reading.cells);
    const left = kept.filter((entry) => !excluded.has(entry));
    if (left.length === kept.length && list.mistakes.length === 0) {
      list.add(['exclude', index], `"${expression}" excludes none of the cells`);
    }
    kept = left;
  });
  if (kept.length === 0 && cells.length > 0) {
    list.addAtKey(['exclude'], `exclude leaves none of the ${cells.length} cells`);
  }
  return kept;
}

/** Adds the neighbor: the first cell of the model that `with` names in the same precision, excluded or not. */
function withNeighbor(entry: MatrixCell, all: readonly MatrixCell[], list: MistakeList): MatrixCell {
  const { model, precision } = entry.cell;
  const name = entry.cell.axisFlags[NEIGHBOR];
  if (name === undefined || entry.harness !== null) return entry;
  const ofModel = all.filter(({ cell, harness }) => cell.model === name && harness === null);
  // The precision of a given engine may be unstated: then any precision fits.
  const neighbor = ofModel.find(
    ({ cell }) => [precision, cell.precision].includes('unstated') || cell.precision === precision,
  );
  if (neighbor !== undefined) return { ...entry, neighbor };
  if (ofModel.length > 0) {
    list.addAt(entry.precisionAt, `${NEIGHBOR}: "${name}" has no cell in ${precision} to run next to "${model}"`);
  }
  return entry;
}

function notesOf(cells: readonly MatrixCell[], { axes }: MatrixFile, models: readonly MatrixModel[]): string[] {
  const precisions = [axes?.precision ?? []].flat();
  const words = cells.flatMap(({ cell }) => namedWords(cell.axisFlags));
  const idle = keysOf(axes ?? {}).filter((name) => !actsOnEngine(name));
  const given = models.flatMap(({ engine, harness, name }) =>
    engine === null || harness !== null ? [] : [`"${name}"`],
  );
  const devices = new Set(words.flatMap(({ name, word }) => (name === 'device' ? [word] : [])));
  return [
    devices.size > 0 ? `device ${[...devices].join(', ')}: CUDA graphs are off there, whatever cudaGraph says` : null,
    idle.length > 0 && given.length > 0
      ? `axes ${idle.join(', ')}: no effect on the given engine of ${shortList(given, 3)}`
      : null,
    ...models.map(({ axes: own, engine, name }) => {
      const isUnstated = cells.some(({ cell }) => cell.model === name && cell.precision === 'unstated');
      const why = engine === null ? 'its harness takes none' : 'that of a given engine is not known';
      if (!isUnstated || (own.get('precision') ?? precisions).length < 2) return null;
      return `model "${name}": one cell for all precisions, because ${why}`;
    }),
  ].filter((note) => note !== null);
}
