import type { ReadRun } from '../../src/artefacts/read/read-run.ts';
import type { QueryTimes } from '../../src/trtexec/run-facts.ts';
import type { Facts } from './facts.ts';
import { exportName, layerNames, profileRows, type TimesRows, timesRows } from './export-facts.ts';
import { differs } from './report.ts';
import type { SourceFiles } from './source-text.ts';
import type { StoredRun } from './stored-run.ts';
import { readText } from './text-lines.ts';

export interface ExportProblem {
  readonly path: string;
  readonly what: string;
}

export interface ExportCheck {
  readonly samples: number;
  readonly numbers: number;
  /** GPU compute time of each timed query in the file, in milliseconds. */
  readonly computeMs: readonly number[] | null;
  readonly problems: readonly ExportProblem[];
}

/** The exported files of a run, by plain `JSON.parse`, against what was read and what is stored. */
export async function checkExports(
  files: SourceFiles,
  runJson: string | null,
  facts: Facts,
  run: ReadRun,
  stored: StoredRun | null,
): Promise<ExportCheck> {
  const problems: ExportProblem[] = [];
  let computeMs: readonly number[] | null = null;
  let samples = 0;
  let numbers = 0;
  const banner = runJson === null ? facts.get('exportTimes')?.text : undefined;
  const named = (flag: string, usual: string): string | undefined => files.get(exportName(flag, runJson, usual));
  const timesPath = files.get(exportName('--exportTimes', runJson, nameIn(banner) ?? 'times.json'));
  if (timesPath !== undefined) {
    const text = await readText(timesPath);
    const rows = text === null ? null : timed(timesRows(text), facts);
    computeMs = rows?.map((row) => row.get('computeMs') ?? Number.NaN) ?? null;
    const holders: [string, QueryTimes | null][] = [['the parser', run.exports.times]];
    if (stored !== null) holders.push(['the store', stored.samples]);
    for (const [holder, times] of holders) {
      const found = rows === null ? damagedTimes(text, times) : timesDifference(rows, times);
      if (found !== null) problems.push({ path: timesPath, what: `${found}, of ${holder}` });
      else samples += holder === 'the store' ? (rows?.length ?? 0) * (rows?.[0]?.size ?? 0) : 0;
    }
  }
  const profilePath = named('--exportProfile', 'profile.json');
  if (profilePath !== undefined) {
    const text = await readText(profilePath);
    const found = text === null ? 0 : profileDifference(text, run);
    if (typeof found === 'number') numbers += found;
    else problems.push({ path: profilePath, what: found });
  }
  const layersPath = named('--exportLayerInfo', 'layers.json');
  if (layersPath !== undefined) {
    const text = await readText(layersPath);
    const names = text === null ? null : layerNames(text);
    const read = run.exports.layerInfo?.layers.map(({ name }) => name) ?? null;
    if (names !== null && JSON.stringify(names) !== JSON.stringify(read)) {
      const what = differs('names of layers', names.join(), read?.join());
      problems.push({ path: layersPath, what });
    }
  }
  return { samples, numbers, computeMs, problems };
}

function nameIn(path: string | undefined): string | null {
  return path === undefined ? null : (path.split('/').at(-1) ?? null);
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

/** How many numbers are equal, or what is not. */
function profileDifference(text: string, run: ReadRun): number | string {
  const expected = profileRows(text);
  const profile = run.exports.profile;
  if (profile === null || expected === null) {
    // What is neither JSON nor to be mended must be named in the notes.
    const isNamed = run.notes.some((note) => note.includes(' is damaged: '));
    const isDamaged = expected?.isJson !== true && isNamed;
    return isDamaged && profile === null ? 0 : differs('profile', expected?.rows.length, null);
  }
  if (profile.iterations !== expected.iterations) {
    return differs('iterations', expected.iterations, profile.iterations);
  }
  if (profile.layers.length !== expected.rows.length) {
    return differs('number of layers', expected.rows.length, profile.layers.length);
  }
  let equal = 0;
  for (const [index, { name, numbers }] of expected.rows.entries()) {
    const layer = new Map<string, unknown>(Object.entries(profile.layers[index] ?? {}));
    if (name !== null && layer.get('name') !== name) {
      return differs(`name of layer ${index}`, name, layer.get('name'));
    }
    for (const [key, value] of numbers) {
      if (!Object.is(layer.get(key), value)) {
        return differs(`${key} of layer ${index}`, value, layer.get(key));
      }
      equal += 1;
    }
  }
  return equal;
}
