import { ExportFormatError } from '../../errors.ts';
import { isRecord } from '../../text/unknown-values.ts';
import type { LayerProfile, LayerTime } from '../../records/layer-info.ts';
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
    if (!isRecord(entry)) throw new ExportFormatError('an entry is not an object');
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
  if (!Array.isArray(parsed)) throw new ExportFormatError('not an array of layers');
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
