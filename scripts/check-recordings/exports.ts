import { basename } from 'node:path';

import type { ReadRun } from '../../src/artefacts/read/read-run.ts';
import { isRecord } from '../../src/text/unknown-values.ts';
import type { QueryTimes } from '../../src/trtexec/run-facts.ts';
import { differs, type Facts } from './facts.ts';
import type { StoredRun } from './stored-run.ts';
import { readText, type SourceFiles } from './text.ts';

/** The exported files of a run, by plain `JSON.parse`, against what was read and what is stored. */
export async function checkExports(
  files: SourceFiles,
  runJson: string | null,
  facts: Facts,
  run: ReadRun,
  stored: StoredRun | null,
) {
  const problems: { path: string; what: string }[] = [];
  let rows: TimesRows | null = null;
  let [samples, numbers] = [0, 0];
  const banner = runJson === null ? facts.get('exportTimes')?.text : undefined;
  const fileOf = async (flag: string, usual: string) => {
    const path = files.get(exportName(flag, runJson, usual));
    return path === undefined ? null : { path, text: await readText(path) };
  };
  const timesFile = await fileOf('--exportTimes', banner?.split('/').at(-1) ?? 'times.json');
  if (timesFile !== null) {
    const { path, text } = timesFile;
    rows = text === null ? null : timed(timesRows(text), facts);
    const holders: [string, QueryTimes | null][] = [['the parser', run.exports.times]];
    if (stored !== null) holders.push(['the store', stored.samples]);
    for (const [holder, times] of holders) {
      const found = rows === null ? damagedTimes(text, times) : timesDifference(rows, times);
      if (found !== null) problems.push({ path, what: `${found}, of ${holder}` });
      else if (holder === 'the store') samples += (rows?.length ?? 0) * (rows?.[0]?.size ?? 0);
    }
  }
  const profile = await fileOf('--exportProfile', 'profile.json');
  if (profile !== null && profile.text !== null) {
    const found = profileDifference(profile.text, run);
    if (typeof found === 'number') numbers += found;
    else problems.push({ path: profile.path, what: found });
  }
  const layers = await fileOf('--exportLayerInfo', 'layers.json');
  if (layers !== null && layers.text !== null) {
    const names = layerNames(layers.text);
    const read = run.exports.layerInfo?.map(({ name }) => name) ?? null;
    if (names !== null && JSON.stringify(names) !== JSON.stringify(read)) {
      problems.push({ path: layers.path, what: differs('names of layers', names.join(), read?.join()) });
    }
  }
  // GPU compute time of each timed query in the file, in milliseconds.
  const computeMs = rows?.map((row) => row.get('computeMs') ?? Number.NaN) ?? null;
  return { samples, numbers, computeMs, problems };
}

/**
 * The file that a flag names, without its folder.
 * @param runJson text of `run.json`, null when there is none
 */
function exportName(flag: string, runJson: string | null, usual: string): string {
  const requested = new RegExp(`"${flag}=((?:[^"\\\\]|\\\\.)*)"`).exec(runJson ?? '')?.[1];
  return requested === undefined ? usual : basename(requested);
}

/** Columns of `--exportTimes` under today's names, row by row as they stand in the file. */
type TimesRows = readonly ReadonlyMap<string, number>[];

const NAMES_7: ReadonlyMap<string, string> = new Map([
  ['startInMs', 'startH2dMs'],
  ['endInMs', 'endH2dMs'],
  ['startOutMs', 'startD2hMs'],
  ['endOutMs', 'endD2hMs'],
  ['inMs', 'h2dMs'],
  ['outMs', 'd2hMs'],
]);
/** 7.1 and 7.2 wrote the stamps of the input under the labels of the enqueue call, and the other way round. */
const SWAPPED: ReadonlyMap<string, string> = new Map([
  ['startEnqMs', 'startH2dMs'],
  ['endEnqMs', 'endH2dMs'],
  ['startInMs', 'startEnqMs'],
  ['endInMs', 'endEnqMs'],
]);

/** Null when the file is not JSON as `JSON.parse` knows it, or no array of rows. */
function timesRows(text: string): TimesRows | null {
  const entries = parsedJson(text);
  if (!Array.isArray(entries) || !entries.every(isRecord)) return null;
  return entries.map((row) => {
    const isSwapped = 'startInMs' in row && 'startEnqMs' in row;
    return new Map(
      Object.entries(row).flatMap(([name, value]): [string, number][] => {
        const current = (isSwapped ? SWAPPED.get(name) : undefined) ?? NAMES_7.get(name) ?? name;
        return typeof value === 'number' && current !== 'endToEndMs' ? [[current, value]] : [];
      }),
    );
  });
}

/** Up to 8.4 rows of the warm-up stand in front; a file with too few rows is damaged. */
function timed(rows: TimesRows | null, facts: Facts): TimesRows | null {
  const queries = Number(facts.get('queries')?.text ?? rows?.length);
  if (rows === null || rows.length < queries) return null;
  const kept = rows.slice(rows.length - queries);
  const width = rows[0]?.size;
  const names = [...(rows[0]?.keys() ?? []), 'computeMs'];
  return kept.every((row) => row.size === width && names.every((name) => row.has(name))) ? kept : null;
}

/** trtexec's own `nan` may be mended; of anything else nothing must be kept. */
function damagedTimes(text: string | null, times: QueryTimes | null): string | null {
  if (times === null || (text !== null && /: *-?(?:nan|inf)\b/.test(text))) return null;
  return differs('times of a damaged file', undefined, `${times.count} rows`);
}

function timesDifference(rows: TimesRows, times: QueryTimes | null): string | null {
  if (times === null) return rows.length === 0 ? null : differs('times', `${rows.length} rows`, null);
  if (times.count !== rows.length) return differs('number of rows', rows.length, times.count);
  const columns = new Map<string, Float64Array>(Object.entries(times.columns));
  const names = [...(rows[0]?.keys() ?? [])];
  if (names.toSorted().join() !== [...columns.keys()].toSorted().join() && rows.length > 0) {
    return differs('columns', names.join(), [...columns.keys()].join());
  }
  for (const [index, row] of rows.entries()) {
    for (const [name, value] of row) {
      const got = columns.get(name)?.[index];
      if (!Object.is(value, got)) return differs(`${name} of row ${index + 1}`, value, got);
    }
  }
  return null;
}

const FIGURES = /"(timeMs|averageMs|medianMs|percentage)" : ([^\s,}]+)/g;

/** How many numbers of `--exportProfile` are equal, or what is not: names by `JSON.parse`, numbers as they stand. */
function profileDifference(text: string, run: ReadRun): number | string {
  const iterations = /"count" : (\d+)/.exec(text)?.[1];
  const parsed = parsedJson(text);
  const names = Array.isArray(parsed)
    ? parsed.flatMap((entry: unknown) => (isRecord(entry) && typeof entry['name'] === 'string' ? [entry['name']] : []))
    : null;
  const rows = text.split('\n').filter((line) => line.includes('"timeMs" : '));
  const { profile } = run.exports;
  if (profile === null || iterations === undefined) {
    // What is neither JSON nor to be mended must be named in the notes.
    const isNamed = run.notes.some((note) => note.includes(' is damaged: '));
    const isDamaged = (iterations === undefined || names === null) && isNamed;
    return isDamaged && profile === null ? 0 : differs('profile', iterations === undefined ? null : rows.length, null);
  }
  if (profile.iterations !== Number(iterations)) return differs('iterations', iterations, profile.iterations);
  if (profile.layers.length !== rows.length) return differs('number of layers', rows.length, profile.layers.length);
  let equal = 0;
  for (const [index, row] of rows.entries()) {
    const layer = new Map<string, unknown>(Object.entries(profile.layers[index] ?? {}));
    // trtexec may not escape a name: then there is no JSON.
    const name = names?.[index] ?? layer.get('name');
    if (layer.get('name') !== name) return differs(`name of layer ${index}`, name, layer.get('name'));
    const figures = new Map(Array.from(row.matchAll(FIGURES), ([, key = '', figure]) => [key, Number(figure)]));
    for (const [key, figure] of figures) {
      if (!Number.isFinite(figure)) continue;
      if (!Object.is(layer.get(key), figure)) return differs(`${key} of layer ${index}`, figure, layer.get(key));
      equal += 1;
    }
  }
  return equal;
}

/** Names of the layers of `--exportLayerInfo`; null when it is not JSON as `JSON.parse` knows it. */
function layerNames(text: string): string[] | null {
  const parsed = parsedJson(text);
  const layers: unknown = isRecord(parsed) ? parsed['Layers'] : null;
  if (!Array.isArray(layers)) return null;
  return layers.map((layer: unknown) => {
    const name = isRecord(layer) ? layer['Name'] : layer;
    return typeof name === 'string' ? name : '';
  });
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
