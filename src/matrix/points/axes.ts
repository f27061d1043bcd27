import { ENV_AXIS, type Shapes } from '../../records/cell.ts';
import { namedAxis } from '../../records/axis.ts';
import { printable } from '../../text/printable.ts';
import { isRecord } from '../../text/unknown-values.ts';
import { isSecret, SECRETS_ARE_INHERITED } from '../../text/redact.ts';
import { MATRIX_DEFAULTS } from '../../records/matrix-defaults.ts';
import type { MistakeList, Placed, SourcePath } from '../yaml/yaml-source.ts';
import { AXIS_NAMES, type AxesFile, type ShapeSet } from '../schema/schema.ts';

/** A word, a number, on or off, or a set of shapes. */
export type AxisValue = string | number | boolean | ShapeSet;

export type Axes = ReadonlyMap<string, readonly Placed<AxisValue>[]>;

export type Point = ReadonlyMap<string, Placed<AxisValue>>;

export interface ShapedPoint {
  readonly point: Point;
  readonly template: ShapeSet | null;
  readonly shapes: Shapes | null;
  readonly dimensions: Readonly<Record<string, number>>;
}

/** Axes in the order of the file, which determines the order of cells. */
export function readAxes(axes: AxesFile | undefined, path: SourcePath, list: MistakeList): Axes {
  const read = new Map<string, readonly Placed<AxisValue>[]>();
  for (const [name, stated] of Object.entries(axes ?? {})) {
    if (stated === undefined) continue;
    if (name === 'env')
      for (const [variable, values] of envAxes(stated, [...path, name], list)) read.set(variable, values);
    else {
      const placed = eachStated(stated, [...path, name]).flatMap(({ value, at }) =>
        axisValues(name, value, at, list).map((inner) => ({ value: inner, at: list.at(at) })),
      );
      read.set(name, placed);
    }
  }
  return read;
}

/** A value, or each value of a list, with its path. */
export function eachStated(stated: unknown, path: SourcePath): { readonly value: unknown; readonly at: SourcePath }[] {
  if (!Array.isArray(stated)) return [{ value: stated, at: path }];
  return stated.map((value: unknown, index) => ({ value, at: [...path, index] }));
}

function envAxes(stated: unknown, path: SourcePath, list: MistakeList): [string, readonly Placed<AxisValue>[]][] {
  return Object.entries(isRecord(stated) ? stated : {}).map(([variable, values]) => {
    const each = eachStated(values, [...path, variable]);
    if (each.some(({ value }) => isSecret(variable, String(value)))) {
      list.addAtKey([...path, variable], `${variable}: ${SECRETS_ARE_INHERITED}`);
    }
    // `off` unsets a variable.
    const placed = each.map(({ value, at }) => ({
      value: value === null || value === 'unset' ? false : String(value),
      at: list.at(at),
    }));
    return [`${ENV_AXIS}${variable}`, placed];
  });
}

function axisValues(name: string, value: unknown, path: SourcePath, list: MistakeList): AxisValue[] {
  const word = String(value);
  if (isShapeSet(value)) return [value];
  const isFlag = name.startsWith('-');
  if (typeof value === 'boolean' && (isFlag || AXIS_NAMES.includes(name))) return [value];
  if (name === 'precision' || (isFlag && !RANGE.test(word))) return [word];
  const named = namedAxis(name);
  if (named !== undefined) {
    if (named.spell(word) !== null) return [word];
    list.add(path, `${name}: ${printable(word)} is not valid here: it takes ${named.takes}`);
    return [];
  }
  if (name.startsWith(ENV_AXIS)) {
    const variable = name.slice(ENV_AXIS.length);
    list.add(path, `${name}: a variable is an axis under env, as in axes: {env: {${variable}: [unset, "1"]}}`);
    return [];
  }
  if (typeof value === 'number') return [value];
  const range = readRange(word);
  if (typeof range !== 'string') return isFlag ? range.map(String) : range;
  // Harnesses may take words.
  if (/^[A-Za-z][\w./+-]*$/.test(word)) return [word];
  list.add(path, `${name}: ${range}`);
  return [];
}

function isShapeSet(value: unknown): value is ShapeSet {
  return isRecord(value);
}

export function defaultAxes(list: MistakeList): Axes {
  const { cudaGraph, dataTransfers, precision, spinWait, streams } = MATRIX_DEFAULTS;
  const at = list.at([]);
  const defaults = Object.entries({ precision, cudaGraph, dataTransfers, spinWait, streams });
  return new Map(defaults.map(([name, value]) => [name, [value].flat().map((each) => ({ value: each, at }))]));
}

/** True for a dimension that `shapes` must name, because it is neither a known axis nor an option. */
export function isDimensionAxis(name: string): boolean {
  return !AXIS_NAMES.includes(name) && !name.startsWith('-') && !name.startsWith(ENV_AXIS);
}

/** Cartesian product; the last axis changes fastest. */
export function product(axes: Axes): Point[] {
  let points: Point[] = [new Map()];
  for (const [name, values] of axes) {
    points = points.flatMap((point) => values.map((value) => new Map([...point, [name, value]])));
  }
  return points;
}

const MAX_VALUES = 1000;
const RANGE = /^(\d+)\.\.(\d+)(?:([*+])(\d+))?$/;

/**
 * Reads `1..8`, `0..512+64`, `1..1024*2`: from, to, and a step to add or to multiply by. Returns a text for a problem.
 */
function readRange(text: string): number[] | string {
  const match = RANGE.exec(text.replaceAll(' ', ''));
  const [from = 0, to = 0, step = 1] = [match?.[1], match?.[2], match?.[4] ?? 1].map(Number);
  const multiplies = match?.[3] === '*';
  const isEndless = step < 1 || (multiplies && (step < 2 || from < 1));
  if (match === null || to < from || isEndless) {
    return `"${text}" is neither a number nor a range that ends, such as 1..1024*2`;
  }
  const values: number[] = [];
  for (let value = from; value <= to; value = multiplies ? value * step : value + step) {
    values.push(value);
    if (values.length > MAX_VALUES) return `"${text}" has more than ${MAX_VALUES} values`;
  }
  return values;
}
