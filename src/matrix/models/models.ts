import type { SourcePosition } from '../../errors.ts';
import { type CellInputs, DEFAULT_ROUTE, type Precision } from '../../records/cell.ts';
import { foldedNote } from '../../text/printable.ts';
import type { OnnxTensorInfo } from '../../tools/onnx/facts.ts';
import type { EngineSource, HashedFiles, Placed } from '../matrix.ts';
import { type Axes, readAxes } from '../points/axes.ts';
import { type ShapeSet, shapeSet } from '../points/shapes.ts';
import { type ModelHarness, readHarness } from '../schema/harness.ts';
import type { BuildFile, MatrixFile, ModelFile, PluginsFile, PrecisionSource } from '../schema/schema.ts';
import type { MistakeList, SourcePath } from '../yaml/source-node.ts';
import { type ConversionFile, readConversion } from './conversions.ts';

export interface MatrixModel {
  readonly name: string;
  readonly path: SourcePath;
  readonly onnx: Placed<string> | null;
  readonly engine: Placed<string> | null;
  readonly harness: ModelHarness | null;
  /** Null for `static`; undefined if neither the matrix nor the model gives shapes. */
  readonly shapes: ShapeSet | null | undefined;
  readonly inputFiles: Readonly<Record<string, Placed<string>>>;
  readonly axes: Axes;
  /** Undefined for the plugins of the file. */
  readonly plugins: PluginsFile | undefined;
  readonly build: BuildFile;
  readonly precisions: ReadonlyMap<string, Placed<PrecisionSource>>;
  readonly note: string | null;
}

export function readModels(file: MatrixFile, readInputs: ReadInputs, list: MistakeList): MatrixModel[] {
  return Object.entries(file.models).map(([name, model]): MatrixModel => {
    const path: SourcePath = ['models', name];
    if (name !== name.trim()) list.addAtKey(path, `model "${name}": a name cannot start or end with a space`);
    const fileAt = (stated: string | undefined, ...keys: readonly string[]): Placed<string> | null => {
      const at = list.at([...path, ...keys]);
      return stated === undefined ? null : { value: list.pathFrom(at, stated), at };
    };
    refuseWithHarness(model, path, list);
    const onnx = fileAt(model.onnx, 'onnx');
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
      engine: fileAt(model.engine, 'engine'),
      harness: readHarness(model.harness, [...path, 'harness'], (stated) =>
        list.pathFrom(list.at([...path, 'harness']), stated),
      ),
      shapes: model.shapes === 'static' ? null : model.shapes === undefined ? unstated : shapeSet(model.shapes),
      inputFiles: Object.fromEntries(
        Object.entries(model.inputs ?? {}).flatMap(([input, stated]) => {
          const placed = fileAt(stated, 'inputs', input);
          return placed === null ? [] : [[input, placed]];
        }),
      ),
      axes: readAxes(model.axes, [...path, 'axes'], list),
      plugins: model.plugins,
      build: model.build ?? {},
      precisions,
      note: noteOf(model),
    };
  });
}

function refuseWithHarness(model: ModelFile, path: SourcePath, list: MistakeList): void {
  if (model.harness === undefined) return;
  for (const name of ['onnx', 'engine', 'precisions', 'inputs', 'build'] as const) {
    if (model[name] === undefined) continue;
    list.addAtKey([...path, name], `${name} and harness cannot be used together: a harness brings its own model`);
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
  /** Null for the default value. */
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

export function inputsOf(model: MatrixModel, hashed: HashedFiles, list: MistakeList): CellInputs {
  const files = Object.entries(model.inputFiles);
  if (files.length === 0) return { kind: 'random' };
  const sha256ByInput: Record<string, string> = {};
  for (const [input, { value: path, at }] of files) {
    const wrong = (problem: string): void => list.addAt(at, `inputs.${input}: ${problem}`);
    if (/[,:]/.test(path)) wrong(`${path}: trtexec does not support a path with , or :`);
    const file = hashed.get(path);
    if (file === undefined) {
      wrong(`${path}: file not found or not readable`);
      continue;
    }
    sha256ByInput[input] = file.sha256;
  }
  return { kind: 'files', sha256ByInput };
}

/** Returns the inputs of an ONNX file; null if it cannot be read. */
export type ReadInputs = (path: string) => readonly OnnxTensorInfo[] | null;

/**
 * Shapes of a model without stated ones: `batch` for a first dimension if no other one is dynamic. Null for a model
 * without dynamic dimensions; undefined if the user must state the shapes.
 */
function shapesOfModel(inputs: ReturnType<ReadInputs>): ShapeSet | null | undefined {
  if (inputs === null) return undefined;
  const dynamic = inputs.filter(isDynamic);
  if (dynamic.length === 0) return null;
  const shapes = dynamic.map(({ name, shape }) => {
    const rest = (shape ?? [null]).slice(1).filter((size) => typeof size === 'number');
    return rest.length + 1 === shape?.length ? ([name, ['batch', ...rest]] as const) : null;
  });
  return shapes.includes(null) ? undefined : Object.fromEntries(shapes.filter((each) => each !== null));
}

export function isDynamic({ shape }: OnnxTensorInfo): boolean {
  return shape === null || shape.some((size) => typeof size !== 'number');
}
