import type { Mistake, SourcePosition } from '../../errors.ts';
import { type CellInputs, DEFAULT_ROUTE, type Precision, type PrecisionRoute } from '../../records/cell.ts';
import { calibrationShapes, CONVERTED_PRECISIONS, METHODS_BY_PRECISION } from '../../records/conversion.ts';
import type { Conversion } from '../../records/conversion.ts';
import { foldedNote } from '../../text/printable.ts';
import { isOneOf } from '../../text/unknown-values.ts';
import { isDynamic, type OnnxTensorInfo } from '../../tools/onnx/facts.ts';
import { readAxes } from '../points/axes.ts';
import { type HashedFiles, readHarness } from '../schema/harness.ts';
import type { MatrixFile, ModelFile, PrecisionSource, ShapeSet } from '../schema/schema.ts';
import type { MistakeList, Placed, SourcePath } from '../yaml/yaml-source.ts';

export function readModels(file: MatrixFile, readInputs: ReadInputs, list: MistakeList) {
  return Object.entries(file.models).map(([name, model]) => {
    const path: SourcePath = ['models', name];
    if (name !== name.trim()) list.addAtKey(path, `model "${name}": a name cannot start or end with a space`);
    const fileAt = (stated: string, ...keys: readonly string[]) => list.fileAt([...path, ...keys], stated);
    refuseTogether(model, path, list);
    const onnx = model.onnx === undefined ? null : fileAt(model.onnx, 'onnx');
    const precisions = new Map<string, Placed<PrecisionSource>>();
    for (const [stated, above] of [[file.precisions, []] as const, [model.precisions, path] as const]) {
      for (const [precision, value] of Object.entries(stated ?? {})) {
        precisions.set(precision, { value, at: list.at([...above, 'precisions', precision]) });
      }
    }
    const isStated = model.shapes !== undefined || model.harness !== undefined;
    const files = [...precisions.values()].flatMap(({ at, value }) =>
      typeof value === 'object' && 'onnx' in value ? [{ value: list.pathFrom(at, value.onnx), at }] : [],
    );
    const first = onnx ?? files[0];
    const known = isStated || first === undefined ? null : readInputs(first.value);
    const unstated = model.harness === undefined ? shapesOfModel(known) : null;
    return {
      name,
      path,
      onnx,
      engine: model.engine === undefined ? null : fileAt(model.engine, 'engine'),
      harness: readHarness(model.harness, [...path, 'harness']),
      /** Null for `static`; undefined if neither the matrix nor the model gives shapes. */
      shapes: model.shapes === 'static' ? null : model.shapes === undefined ? unstated : model.shapes,
      /** The mistake in the file that would give the shapes. */
      unread:
        first === undefined || typeof known !== 'string'
          ? null
          : { at: first.at, problem: `${first.value}, which gives the shapes of model "${name}": ${known}` },
      inputFiles: Object.fromEntries(
        Object.entries(model.inputs ?? {}).map(([input, stated]) => [input, fileAt(stated, 'inputs', input)]),
      ),
      axes: readAxes(model.axes, [...path, 'axes'], list),
      /** Undefined for the plugins of the file. */
      plugins: model.plugins,
      build: model.build ?? {},
      precisions,
      note: noteOf(model),
    };
  });
}

export type MatrixModel = ReturnType<typeof readModels>[number];

function refuseTogether(model: ModelFile, path: SourcePath, list: MistakeList): void {
  if (model.engine !== undefined && model.build !== undefined) {
    list.addAtKey([...path, 'build'], 'build has no effect on a built engine: leave it, or engine, out');
  }
  if (model.harness === undefined) return;
  for (const name of ['onnx', 'engine', 'precisions', 'inputs', 'build'] as const) {
    if (model[name] === undefined) continue;
    list.addAtKey([...path, name], `${name} and harness cannot be used together: a harness brings its own model`);
  }
}

function noteOf({ note }: { readonly note?: string | undefined }): string | null {
  return note === undefined ? null : foldedNote(note);
}

export type EngineSource =
  /** No source: another harness names its model in its settings, or the model lacks something for the precision. */
  | { readonly kind: 'none'; readonly lacks: Mistake | null }
  | { readonly kind: 'onnx'; readonly onnx: Placed<string> }
  | { readonly kind: 'engine'; readonly engine: Placed<string> }
  | { readonly kind: 'converted'; readonly onnx: Placed<string>; readonly options: Placed<Conversion> };

export function onnxOf(source: EngineSource): Placed<string> | null {
  return 'onnx' in source ? source.onnx : null;
}

interface Reached {
  readonly via: PrecisionRoute;
  readonly source: EngineSource;
  readonly note: string | null;
}

/** @param precisionAt position of the precision, for a mistake of a default route */
export function reachPrecision(
  model: MatrixModel,
  precision: Precision,
  precisionAt: SourcePosition,
  list: MistakeList,
): Reached {
  if (model.engine !== null) {
    return { via: 'engine', source: { kind: 'engine', engine: model.engine }, note: null };
  }
  const stated = model.precisions.get(precision);
  const route = stated?.value ?? DEFAULT_ROUTE[precision];
  const at = stated?.at ?? precisionAt;
  if (typeof route === 'object' && !('via' in route)) {
    const file = (path: string): Placed<string> => ({ value: list.pathFrom(at, path), at });
    return 'onnx' in route
      ? { via: 'onnx', source: { kind: 'onnx', onnx: file(route.onnx) }, note: noteOf(route) }
      : { via: 'engine', source: { kind: 'engine', engine: file(route.engine) }, note: noteOf(route) };
  }
  const { name, onnx } = model;
  if (onnx === null) {
    const advice = `give its base model (onnx: FILE), or a file for it (precisions: {${precision}: {onnx: FILE}})`;
    return lacking(`model "${name}" has nothing for ${precision}: ${advice}`, precisionAt);
  }
  if (route === 'flag' || route === 'onnx' || route === 'engine') {
    return { via: route === 'flag' ? 'flag' : 'onnx', source: { kind: 'onnx', onnx }, note: null };
  }
  const conversion = typeof route === 'object' ? route : { via: route };
  const problem = conversionProblem(precision, conversion);
  if (problem !== null) return lacking(problem, at);
  const options = withDataFrom(conversion, (path) => list.pathFrom(at, path));
  return { via: conversion.via, source: { kind: 'converted', onnx, options: { value: options, at } }, note: null };
}

function lacking(problem: string, at: SourcePosition): Reached {
  return { via: 'onnx', source: { kind: 'none', lacks: { at, problem } }, note: null };
}

/** Settings of ModelOpt alone, which do not apply to AutoCast. */
const ONLY_MODELOPT = ['highPrecision', 'opTypes', 'dqOnly', 'quantizeAttention'] as const;

export function conversionProblem(precision: Precision, stated: Conversion): string | null {
  const { via, calibration } = stated;
  if (!isOneOf<Precision>(CONVERTED_PRECISIONS[via], precision)) {
    return `${precision} is not made by ${via}: autocast makes ${CONVERTED_PRECISIONS.autocast.join(', ')}, modelopt makes ${CONVERTED_PRECISIONS.modelopt.join(', ')}`;
  }
  const slip = via === 'autocast' ? ONLY_MODELOPT.find((option) => stated[option] !== undefined) : undefined;
  if (slip !== undefined) return `${precision} by autocast: ${slip} is an option of modelopt`;
  const methods = METHODS_BY_PRECISION[precision] ?? [];
  const method = calibration?.method;
  if (method !== undefined && !methods.includes(method)) {
    return `${precision}: the calibration method ${method} is for another precision; ${precision} has ${methods.join(' and ') || 'none'}`;
  }
  const wrong = Object.entries(calibrationShapes(stated)).find(
    ([, sizes]) => !sizes.every((size) => Number.isInteger(size) && size > 0),
  )?.[0];
  if (wrong === undefined) return null;
  const shape = String(calibration?.shapes?.[wrong]);
  return `calibration.shapes: "${shape}" is not a shape; write ${wrong}: 8x3x224x224`;
}

/** @param resolvePath makes a path absolute */
export function withDataFrom(stated: Conversion, resolvePath: (path: string) => string): Conversion {
  const data = stated.calibration?.data;
  return data === undefined ? stated : { ...stated, calibration: { ...stated.calibration, data: resolvePath(data) } };
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

/** Returns the inputs of an ONNX file, or why it cannot be read; null if it is not looked at. */
export type ReadInputs = (path: string) => readonly OnnxTensorInfo[] | string | null;

/**
 * Shapes of a model without stated ones: `batch` for a first dimension if no other one is dynamic. Null for a model
 * without dynamic dimensions; undefined if the user must state the shapes.
 */
function shapesOfModel(inputs: ReturnType<ReadInputs>): ShapeSet | null | undefined {
  if (inputs === null || typeof inputs === 'string') return undefined;
  const dynamic = inputs.filter(isDynamic);
  if (dynamic.length === 0) return null;
  const shapes = dynamic.map(({ name, shape }) => {
    const rest = (shape ?? [null]).slice(1).filter((size) => typeof size === 'number');
    return rest.length + 1 === shape?.length ? ([name, ['batch', ...rest]] as const) : null;
  });
  return shapes.includes(null) ? undefined : Object.fromEntries(shapes.filter((each) => each !== null));
}
