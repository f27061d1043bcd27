import { basename } from 'node:path';

import { isRecord } from '../../src/text/unknown-values.ts';

/** Columns of `--exportTimes` under today's names, row by row as they stand in the file. */
export type TimesRows = readonly ReadonlyMap<string, number>[];

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
export function timesRows(text: string): TimesRows | null {
  const parsed = parsedJson(text);
  if (!Array.isArray(parsed)) return null;
  const entries: readonly unknown[] = parsed;
  return entries.every(isRecord) ? entries.map(timesRow) : null;
}

function timesRow(row: Readonly<Record<string, unknown>>): ReadonlyMap<string, number> {
  const isSwapped = 'startInMs' in row && 'startEnqMs' in row;
  return new Map(
    Object.entries(row).flatMap(([name, value]): [string, number][] => {
      const current = (isSwapped ? SWAPPED.get(name) : undefined) ?? NAMES_7.get(name) ?? name;
      return typeof value === 'number' && current !== 'endToEndMs' ? [[current, value]] : [];
    }),
  );
}

export interface ProfileRow {
  readonly name: string | null;
  readonly numbers: ReadonlyMap<string, number>;
}

export interface ProfileRows {
  /** False when `JSON.parse` refuses it. */
  readonly isJson: boolean;
  readonly iterations: number;
  readonly rows: readonly ProfileRow[];
}

/** `--exportProfile`: names by `JSON.parse`, null where trtexec did not escape them; numbers as they stand. */
export function profileRows(text: string): ProfileRows | null {
  const iterations = /"count" : (\d+)/.exec(text)?.[1];
  if (iterations === undefined) return null;
  const parsed = parsedJson(text);
  const names = Array.isArray(parsed)
    ? parsed.flatMap((entry: unknown) => {
        const name = isRecord(entry) ? entry['name'] : null;
        return typeof name === 'string' ? [name] : [];
      })
    : null;
  const rows = text.split('\n').filter((line) => /"timeMs" : /.test(line));
  return {
    isJson: names !== null,
    iterations: Number(iterations),
    rows: rows.map((line, index) => ({
      name: names?.[index] ?? null,
      numbers: new Map(
        [...line.matchAll(/"(timeMs|averageMs|medianMs|percentage)" : ([^\s,}]+)/g)].flatMap(
          ([, key = '', value]): [string, number][] => (Number.isFinite(Number(value)) ? [[key, Number(value)]] : []),
        ),
      ),
    })),
  };
}

/** Names of the layers of `--exportLayerInfo`; null when it is not JSON as `JSON.parse` knows it. */
export function layerNames(text: string): string[] | null {
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

/**
 * The file that a flag names, without its folder.
 * @param runJson text of `run.json`, null when there is none
 */
export function exportName(flag: string, runJson: string | null, usual: string): string {
  const requested = new RegExp(`"${flag}=((?:[^"\\\\]|\\\\.)*)"`).exec(runJson ?? '')?.[1];
  return requested === undefined ? usual : basename(requested);
}
