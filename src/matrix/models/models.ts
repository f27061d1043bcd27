import type { SourcePosition } from '../../errors.ts';
import type { EngineSource, Placed } from '../matrix.ts';
import { foldedNote } from '../../text/note.ts';
import { DEFAULT_ROUTE, type Precision } from '../../records/cell.ts';
import { type Axes, readAxes } from '../points/axes.ts';
import { type ShapeSet, shapeSet } from '../points/shapes.ts';
import type { ConversionFile } from '../schema/conversion-schema.ts';
import { readConversion } from './conversions.ts';
import { type ReadInputs, shapesOfModel } from './shapes-of-model.ts';
import type { OnnxTensorInfo } from '../../tools/onnx/facts.ts';
import { type ModelHarness, readHarness } from '../schema/harness.ts';
import type { MistakeList, SourcePath } from '../yaml/source-node.ts';
import type { BuildFile, MatrixFile, ModelFile, PluginsFile, PrecisionSource } from '../schema/schema.ts';

export interface MatrixModel {
  readonly name: string;
  readonly path: SourcePath;
  readonly onnx: Placed<string> | null;
  readonly engine: Placed<string> | null;
  readonly harness: ModelHarness | null;
  /** Null for `static`; undefined when neither the matrix nor the model says them. */
  readonly shapes: ShapeSet | null | undefined;
  /** Of a model that states no shapes; null where its file cannot be read. */
  readonly inputs: readonly OnnxTensorInfo[] | null;
  readonly inputFiles: Readonly<Record<string, Placed<string>>>;
  readonly axes: Axes;
  /** Undefined: the file's plugins. */
  readonly plugins: PluginsFile | undefined;
  readonly build: BuildFile;
  readonly precisions: ReadonlyMap<string, Placed<PrecisionSource>>;
  readonly note: string | null;
}

export function readModels(file: MatrixFile, readInputs: ReadInputs, list: MistakeList): MatrixModel[] {
  return Object.entries(file.models).map(([name, model]) => readModel(name, model, file, readInputs, list));
}

function readModel(
  name: string,
  model: ModelFile,
  file: MatrixFile,
  readInputs: ReadInputs,
  list: MistakeList,
): MatrixModel {
  const path: SourcePath = ['models', name];
  if (name !== name.trim()) list.addAtKey(path, `model "${name}": a name has no space around it`);
  const fileAt = (at: SourcePath, stated: string): Placed<string> => {
    const position = list.at(at);
    return { value: list.pathFrom(position, stated), at: position };
  };
  const inputs = Object.entries(model.inputs ?? {});
  refuseWithHarness(model, path, list);
  const onnx = model.onnx === undefined ? null : fileAt([...path, 'onnx'], model.onnx);
  const precisions = new Map([
    ...placedPrecisions(file.precisions, ['precisions'], list),
    ...placedPrecisions(model.precisions, [...path, 'precisions'], list),
  ]);
  const isStated = model.shapes !== undefined || model.harness !== undefined;
  const files = [...precisions.values()].flatMap(({ at, value }) =>
    typeof value === 'object' && 'onnx' in value ? list.pathFrom(at, value.onnx) : [],
  );
  const first = onnx?.value ?? files[0];
  const known = isStated || first === undefined ? null : readInputs(first);
  const unstated = model.harness === undefined ? shapesOfModel(known) : null;
  return {
    name,
    path,
    onnx,
    engine: model.engine === undefined ? null : fileAt([...path, 'engine'], model.engine),
    harness: readHarness(model.harness, [...path, 'harness'], (stated) =>
      list.pathFrom(list.at([...path, 'harness']), stated),
    ),
    shapes: model.shapes === 'static' ? null : model.shapes === undefined ? unstated : shapeSet(model.shapes),
    inputs: known,
    inputFiles: Object.fromEntries(
      inputs.map(([input, stated]) => [input, fileAt([...path, 'inputs', input], stated)]),
    ),
    axes: readAxes(model.axes, [...path, 'axes'], list),
    plugins: model.plugins,
    build: model.build ?? {},
    precisions,
    note: noteOf(model),
  };
}

function refuseWithHarness(model: ModelFile, path: SourcePath, list: MistakeList): void {
  if (model.harness === undefined) return;
  for (const name of ['onnx', 'engine', 'precisions', 'inputs', 'build'] as const) {
    if (model[name] === undefined) continue;
    list.addAtKey([...path, name], `${name} and harness exclude each other: a harness brings its own model`);
  }
}

function placedPrecisions(
  stated: MatrixFile['precisions'],
  path: SourcePath,
  list: MistakeList,
): [string, Placed<PrecisionSource>][] {
  return Object.entries(stated ?? {}).map(([precision, value]) => [
    precision,
    { value, at: list.at([...path, precision]) },
  ]);
}

function noteOf({ note }: { readonly note?: string | undefined }): string | null {
  return note === undefined ? null : foldedNote(note);
}

export interface Reached {
  readonly via: 'flag' | 'onnx' | 'autocast' | 'modelopt' | 'engine';
  readonly source: EngineSource;
  readonly note: string | null;
}

export interface Unreachable {
  readonly problem: string;
  /** Null for the default. */
  readonly at: SourcePosition | null;
}

export function reachPrecision(model: MatrixModel, precision: Precision, list: MistakeList): Reached | Unreachable {
  if (model.engine !== null) {
    return { via: 'engine', source: { kind: 'engine', engine: model.engine }, note: null };
  }
  const stated = model.precisions.get(precision);
  const route = stated?.value ?? DEFAULT_ROUTE[precision];
  if (typeof route === 'object') {
    const at = stated?.at ?? { file: '', line: 0, column: 0 };
    if ('via' in route) return reachByConversion(model, precision, route, at, list);
    const text = 'onnx' in route ? route.onnx : route.engine;
    const placed = { value: list.pathFrom(at, text), at };
    const note = noteOf(route);
    return 'onnx' in route
      ? { via: 'onnx', source: { kind: 'onnx', onnx: placed }, note }
      : { via: 'engine', source: { kind: 'engine', engine: placed }, note };
  }
  if (route === 'autocast' || route === 'modelopt') {
    return reachByConversion(model, precision, { via: route }, stated?.at ?? null, list);
  }
  const { onnx } = model;
  if (onnx === null) return nothingFor(model, precision);
  return { via: route === 'flag' ? 'flag' : 'onnx', source: { kind: 'onnx', onnx }, note: null };
}

function reachByConversion(
  model: MatrixModel,
  precision: Precision,
  stated: ConversionFile,
  at: SourcePosition | null,
  list: MistakeList,
): Reached | Unreachable {
  if (model.onnx === null) return nothingFor(model, precision);
  const options = readConversion(precision, stated, (path) => list.pathFrom(at ?? { file: '' }, path));
  if ('problem' in options) return { ...options, at };
  const { via } = stated;
  return { via, source: { kind: 'converted', by: via, onnx: model.onnx, options }, note: null };
}

function nothingFor(model: MatrixModel, precision: Precision): Unreachable {
  return {
    at: null,
    problem: `model "${model.name}" has nothing for ${precision}: give its base model (onnx: FILE), or a file for it (precisions: {${precision}: {onnx: FILE}})`,
  };
}
