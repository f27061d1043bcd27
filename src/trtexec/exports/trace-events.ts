import * as z from 'zod';

import type { LayerProfile } from '../log/parsed-log.ts';
import { isRecord } from '../../text/unknown-values.ts';
import { ExportFormatError } from '../../errors.ts';
import { parseJson } from './json-repair.ts';

/** An event of an engine trace: `dur` in microseconds, summed over all runs. */
const eventSchema = z.object({ name: z.string(), ph: z.literal('X'), dur: z.number().min(0) });

/**
 * Parses the engine trace of Torch-TensorRT (Chrome's trace events): one event per layer.
 * @param runs number of runs summed in its times: the file does not state it
 * @throws ExportFormatError for any other file
 */
export function parseTraceEvents(text: string, runs: number): LayerProfile {
  const layers = eventsOf(text).map((event, index) => {
    const { success, data, error } = eventSchema.safeParse(event);
    if (!success) {
      const [issue] = error.issues;
      throw new ExportFormatError(`event ${index + 1}: ${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'invalid'}`);
    }
    return { name: data.name, timeMs: data.dur / 1000 };
  });
  if (layers.length === 0) throw new ExportFormatError('no complete event ("ph": "X") in it');
  const totalMs = layers.reduce((sum, { timeMs }) => sum + timeMs, 0);
  return {
    iterations: runs,
    layers: layers.map(({ name, timeMs }, index) => ({
      index,
      name,
      timeMs,
      averageMs: timeMs / runs,
      medianMs: null,
      percentage: totalMs === 0 ? 0 : (timeMs / totalMs) * 100,
    })),
  };
}

/** A list, a list under `traceEvents`, or one event. Marks and counters are not layers. */
function eventsOf(text: string): readonly unknown[] {
  const parsed = parseJson(text);
  const inner: unknown = isRecord(parsed) ? (parsed['traceEvents'] ?? [parsed]) : parsed;
  if (!Array.isArray(inner)) throw new ExportFormatError('no list of trace events');
  return inner.filter((event) => isRecord(event) && event['ph'] === 'X');
}
