import { ENV_AXIS, keyedCell, PRECISIONS } from '../../records/cell.ts';
import { isSecret, SECRETS_ARE_INHERITED } from '../../text/redact.ts';
import { isOneOf, isRecord } from '../../text/unknown-values.ts';
import { findDriver } from '../../harnesses/registry.ts';
import { isDimensionAxis, type Point, type ShapedPoint } from '../points/axes.ts';
import { symbolsOf } from '../points/shapes.ts';
import type { MistakeList, SourcePath } from '../yaml/yaml-source.ts';
import type { ModelFile } from './schema.ts';

/** Hashes of files that cells depend on, by absolute path; unreadable ones are absent. */
export type HashedFiles = ReadonlyMap<
  string,
  { readonly sha256: string; readonly bytes: number; readonly isConstant?: boolean }
>;

/** Placeholders that are filled in when the run starts. */
const RUN_PLACES = ['runFolder'];
const PLACE = /\{([A-Za-z_]\w*)\}/g;

export function readHarness(stated: ModelFile['harness'], path: SourcePath) {
  const driver = stated === undefined ? null : findDriver(String(stated['kind']));
  if (stated === undefined || driver === null) return null;
  /** `parameters` are axes named in the settings, such as `{concurrency}`. */
  return { driver, settings: stated, path, parameters: namesIn(stated) };
}

export type ModelHarness = NonNullable<ReturnType<typeof readHarness>>;

function namesIn(value: unknown): Set<string> {
  if (typeof value === 'string') {
    const names = [...value.matchAll(PLACE)].map(([, name = '']) => name);
    return new Set(names.filter((name) => !RUN_PLACES.includes(name)));
  }
  const inner = typeof value === 'object' && value !== null ? Object.values(value) : [];
  return new Set(inner.flatMap((each) => [...namesIn(each)]));
}

export function harnessFiles(
  harness: ModelHarness,
  model: string,
  points: readonly { readonly point: Point }[],
  list: MistakeList,
): string[] {
  const { driver, parameters, path, settings } = harness;
  const files = points.flatMap(({ point }) => driver.files(filled(settings, parametersOf(parameters, model, point))));
  return [...new Set(files)].map((file) => list.pathFrom(list.at(path), file));
}

export function checkParameters(harness: ModelHarness, known: ReadonlySet<string>, list: MistakeList): void {
  for (const name of harness.parameters) {
    if (name === 'model' || known.has(name)) continue;
    list.addAtKey(harness.path, `{${name}} has no values: add an axis, as in axes: {${name}: [1, 8]}`);
  }
}

/** Null if there is a mistake, which is added to the list. */
export function drivenCell(
  { driver, parameters: named, path, settings: stated }: ModelHarness,
  model: string,
  { point, shapes, template }: ShapedPoint,
  hashed: HashedFiles,
  list: MistakeList,
) {
  const parameters = parametersOf(named, model, point);
  const settings = filled(stated, parameters);
  const resolve = (file: string): string => list.pathFrom(list.at(path), file);
  const sha256Of = (file: string): string | null => hashed.get(file)?.sha256 ?? null;
  const planned = driver.plan(settings, { model, parameters, resolve, sha256Of });
  if (planned.kind === 'wrong') {
    list.add([...path, ...planned.path], planned.problem);
    return null;
  }
  const { harness, identity, ...started } = planned.cell;
  const secret = Object.entries(started.env).find(([name, value]) => value !== null && isSecret(name, value))?.[0];
  if (secret !== undefined) {
    list.addAtKey([...path, 'env', secret], `${secret}: ${SECRETS_ARE_INHERITED}`);
    return null;
  }
  const precision = point.get('precision')?.value;
  const symbols = symbolsOf(Object.values(template ?? {}));
  // Parameters that are not otherwise part of the cell.
  const own = Object.entries(parameters)
    .filter(([name]) => isDimensionAxis(name) && name !== 'model' && !symbols.has(name))
    .map(([name, value]) => [name, String(value)]);
  const cell = keyedCell({
    model,
    precision: isOneOf(PRECISIONS, precision) ? precision : 'unstated',
    precisionVia: 'engine',
    shapes: shapes ?? {},
    cudaGraph: point.get('cudaGraph')?.value === true,
    dataTransfers: point.get('dataTransfers')?.value === true,
    streams: 1,
    spinWait: true,
    inputs: { kind: 'random' },
    axisFlags: { ...envFlags(point), ...identity, ...Object.fromEntries(own) },
    harness,
  });
  const source = { kind: 'none' as const, lacks: null };
  return { cell, harness: { driver: driver.kind, settings, ...started }, source, note: null };
}

function parametersOf(named: ReadonlySet<string>, model: string, point: Point): Record<string, string | number> {
  const parameters: Record<string, string | number> = { model };
  for (const [name, { value }] of point) {
    if (typeof value === 'object' || !named.has(name)) continue;
    parameters[name] = typeof value === 'boolean' ? (value ? 'on' : 'off') : value;
  }
  return parameters;
}

/** Variables on axes for the process; null unsets one. */
export function envOf(point: Point): Record<string, string | null> {
  return Object.fromEntries(
    [...point].flatMap(([name, { value }]) =>
      name.startsWith(ENV_AXIS) ? [[name.slice(ENV_AXIS.length), typeof value === 'string' ? value : null]] : [],
    ),
  );
}

/** Variables on axes as part of the cell; a variable that is unset is not part of it. */
export function envFlags(point: Point): Record<string, string> {
  return Object.fromEntries(
    Object.entries(envOf(point)).flatMap(([name, value]) => (value === null ? [] : [[ENV_AXIS + name, value]])),
  );
}

/** Replaces names of axes in settings. A text that is only a name takes the type of the value. */
function filled(value: unknown, parameters: Readonly<Record<string, string | number>>): unknown {
  if (typeof value === 'string') {
    const [, only = ''] = /^\{([A-Za-z_]\w*)\}$/.exec(value) ?? [];
    const whole = parameters[only];
    if (whole !== undefined) return whole;
    return value.replaceAll(PLACE, (text, name: string) => String(parameters[name] ?? text));
  }
  if (Array.isArray(value)) return value.map((each) => filled(each, parameters));
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, filled(each, parameters)]));
}
