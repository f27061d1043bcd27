import * as z from 'zod';

import { ExportFormatError } from '../../errors.ts';
import type { LayerProfile, LayerTime } from '../../records/layer-info.ts';
import { isRecord } from '../../text/unknown-values.ts';
import { parseTensorrtJson } from './json-repair.ts';

/** The share of a zero total is not a number. */
const number = z.number().catch(0);
const layerSchema = z.object({
  name: z.string(),
  timeMs: number,
  averageMs: number,
  medianMs: z.number().nullable().catch(null),
  percentage: number,
});

/**
 * Parses `--exportProfile` of any version. Layers are identified by position and name, as names repeat.
 * @throws ExportFormatError for any other file
 */
export function parseProfile(text: string): LayerProfile {
  const entries = parseTensorrtJson(text);
  if (!Array.isArray(entries)) throw new ExportFormatError('not an array of layers');
  let iterations = 0;
  const layers: LayerTime[] = [];
  for (const entry of entries) {
    if (!isRecord(entry)) throw new ExportFormatError('an entry is not an object');
    const { data } = layerSchema.safeParse(entry);
    if (data !== undefined) layers.push({ index: layers.length, ...data });
    else if (typeof entry['count'] === 'number') iterations = entry['count'];
  }
  return { iterations, layers };
}
