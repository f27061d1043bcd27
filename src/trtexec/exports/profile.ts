import { StringDecoder } from 'node:string_decoder';

import { ExportFormatError } from '../../errors.ts';
import { isRecord } from '../../text/unknown-values.ts';
import type { LayerProfile, LayerTime } from '../log/parsed-log.ts';
import { escapeName, parseTensorrtJson } from './json-repair.ts';

/**
 * Parses `--exportProfile` of any version. Layers are identified by position and name, as names repeat. Fixes names,
 * which trtexec does not escape, and `nan`, the share of a zero total.
 * @throws ExportFormatError for any other file
 */
export function parseProfile(text: string): LayerProfile {
  const entries = parseEntries(text);
  let iterations = 0;
  const layers: LayerTime[] = [];
  for (const entry of entries) {
    if (!isRecord(entry)) throw new ExportFormatError('an entry is no object');
    const name = entry['name'];
    if (typeof name === 'string') layers.push(layerTime(layers.length, name, entry));
    else if (typeof entry['count'] === 'number') iterations = entry['count'];
  }
  return { iterations, layers };
}

function parseEntries(text: string): readonly unknown[] {
  let parsed: unknown;
  try {
    parsed = parseTensorrtJson(text);
  } catch {
    parsed = parseTensorrtJson(text.split('\n').map(escapeEntry).join('\n'));
  }
  if (!Array.isArray(parsed)) throw new ExportFormatError('no array of layers');
  return parsed;
}

const NAME = '"name" : "';
const TIMES = '", "timeMs" : ';

/** One layer per line: its name ends at the line's last `", "timeMs" : `. */
function escapeEntry(line: string): string {
  const open = line.indexOf(NAME) + NAME.length;
  const close = line.lastIndexOf(TIMES);
  if (open < NAME.length || close < open) return line;
  return line.slice(0, open) + escapeName(line.slice(open, close)) + line.slice(close);
}

function layerTime(index: number, name: string, entry: Readonly<Record<string, unknown>>): LayerTime {
  return {
    index,
    name,
    timeMs: numberOf(entry['timeMs']) ?? 0,
    averageMs: numberOf(entry['averageMs']) ?? 0,
    medianMs: numberOf(entry['medianMs']),
    percentage: numberOf(entry['percentage']) ?? 0,
  };
}

function numberOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

const VALUES = /^([^,]+), "averageMs" : ([^,]+),(?: "medianMs" : ([^,]+),)? "percentage" : ([^ ]+) \},?$/;
const COUNT = /^\[?[\s,]*\{ "count" : (\d+) \},?$/;
const BRACKET = /^\s*[[\]]?\s*$/;
/** A line is one layer. */
const MAX_LINE_CHARACTERS = 4 << 20;

/**
 * Reads `--exportProfile` as trtexec writes it, one layer per line, in chunks: the parsed objects would take several
 * times the memory. A file in any other form is left to `parseProfile`.
 */
export class ProfileReader {
  /** False after a line that trtexec would not write: no more need be pushed. */
  isRegular = true;
  private readonly decoder = new StringDecoder('utf8');
  private carry = '';
  private readonly layers: LayerTime[] = [];
  /** Networks repeat their blocks, and exports their names: each is stored once. */
  private readonly names = new Map<string, string>();
  private iterations = 0;

  push(chunk: Buffer): void {
    if (!this.isRegular) return;
    const lines = (this.carry + this.decoder.write(chunk)).split('\n');
    this.carry = lines.pop() ?? '';
    this.isRegular = lines.every((line) => this.readLine(line)) && this.carry.length <= MAX_LINE_CHARACTERS;
  }

  /** Null if a line was not as trtexec writes it. */
  end(): LayerProfile | null {
    this.isRegular &&= this.readLine(this.carry + this.decoder.end());
    return this.isRegular && this.layers.length > 0 ? { iterations: this.iterations, layers: this.layers } : null;
  }

  private readLine(line: string): boolean {
    const open = line.indexOf(`{ ${NAME}`);
    if (open === -1) {
      const counted = COUNT.exec(line);
      if (counted !== null) this.iterations = Number(counted[1]);
      return counted !== null || BRACKET.test(line);
    }
    // The name ends at the last mark of the times, as names are not escaped.
    const close = line.lastIndexOf(TIMES);
    const values = close < open ? null : VALUES.exec(line.slice(close + TIMES.length));
    const name = line.slice(open + `{ ${NAME}`.length, close);
    // The name was escaped by another program.
    if (values === null || name.includes('\\')) return false;
    const [timeMs, averageMs, medianMs, percentage] = values.slice(1).map(Number);
    this.layers.push(layerTime(this.layers.length, this.sharedName(name), { timeMs, averageMs, medianMs, percentage }));
    return true;
  }

  private sharedName(name: string): string {
    const known = this.names.get(name);
    if (known !== undefined) return known;
    // A slice would keep its whole chunk alive.
    const own = Buffer.from(name).toString('utf8');
    this.names.set(own, own);
    return own;
  }
}
