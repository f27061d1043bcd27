import * as z from 'zod';

import type { LayerProfile, LayerTime } from '../../records/layer-info.ts';
import { isRecord } from '../../text/unknown-values.ts';
import { ExportFormatError } from '../../errors.ts';
import { parseJson } from './json-repair.ts';

const id = z.union([z.number(), z.string()]).optional().catch(undefined);

/** An event of a trace: `dur` in microseconds. Category and ids are those of PyTorch's profiler. */
const eventSchema = z.object({
  name: z.string(),
  ph: z.literal('X'),
  dur: z.number().min(0),
  cat: z.string().optional().catch(undefined),
  args: z.object({ 'External id': id, 'external id': id, correlation: id }).optional().catch(undefined),
});

type TraceEvent = z.infer<typeof eventSchema>;

type SummedTime = Pick<LayerTime, 'name' | 'timeMs'>;

const OPERATOR = 'cpu_op';
const ON_GPU = ['kernel', 'gpu_memcpy', 'gpu_memset'];
const STEP = /^ProfilerStep#\d+$/;

/**
 * Parses Chrome's trace events. Torch-TensorRT's engine trace has one for each layer. In a trace of PyTorch's profiler,
 * GPU time is summed by the operator that launched the work, as `key_averages()` does.
 * @param runs number of runs that the times sum up; null takes the number of profiler steps in the trace
 * @throws ExportFormatError for any other file, and if nothing states the number of runs
 */
export function parseTraceEvents(text: string, runs: number | null): LayerProfile {
  const { data: events, error } = z.array(eventSchema).safeParse(eventsOf(text));
  if (events === undefined) {
    const [{ message = 'invalid', path: [place, ...field] = [] } = {}] = error.issues;
    throw new ExportFormatError(`event ${Number(place) + 1}: ${field.join('.')}: ${message}`);
  }
  if (events.length === 0) throw new ExportFormatError('no complete event ("ph": "X") in it');
  const isTorch = events.some(({ cat }) => cat === OPERATOR || cat === 'kernel');
  const steps = new Set(events.flatMap(({ name }) => (isTorch && STEP.test(name) ? [name] : []))).size;
  const iterations = runs ?? steps;
  if (iterations === 0) {
    throw new ExportFormatError('its times are summed over all runs, and it does not say how many: add --runs N');
  }
  const times = isTorch ? byOperator(events) : events.map(({ dur, name }) => ({ name, timeMs: dur / 1000 }));
  return summedProfile(times, iterations);
}

/** @param times summed over all iterations */
export function summedProfile(times: readonly SummedTime[], iterations: number): LayerProfile {
  const totalMs = times.reduce((sum, { timeMs }) => sum + timeMs, 0);
  return {
    iterations,
    layers: times.map(({ name, timeMs }, index) => ({
      index,
      name,
      timeMs,
      averageMs: timeMs / iterations,
      medianMs: null,
      percentage: totalMs === 0 ? 0 : (timeMs / totalMs) * 100,
    })),
  };
}

/**
 * Sums GPU times by operator. Kernels that no operator launched one by one, such as those of a CUDA graph, keep their
 * names.
 */
function byOperator(events: readonly TraceEvent[]): SummedTime[] {
  const operators = new Map<unknown, string>();
  const launches = new Map<unknown, unknown>();
  for (const event of events) {
    if (event.cat === OPERATOR) operators.set(operatorId(event), event.name);
    else if (!isOnGpu(event)) launches.set(event.args?.correlation, operatorId(event));
  }
  operators.delete(undefined);
  launches.delete(undefined);
  const sums = new Map<string, number>();
  for (const event of events.filter(isOnGpu)) {
    const operator = operators.get(operatorId(event) ?? launches.get(event.args?.correlation)) ?? event.name;
    sums.set(operator, (sums.get(operator) ?? 0) + event.dur / 1000);
  }
  if (sums.size > 0) return [...sums].map(([name, timeMs]) => ({ name, timeMs }));
  throw new ExportFormatError('no work of the GPU in it: profile with ProfilerActivity.CUDA as well');
}

function isOnGpu({ cat = '' }: TraceEvent): boolean {
  return ON_GPU.includes(cat);
}

function operatorId({ args }: TraceEvent): unknown {
  return args?.['External id'] ?? args?.['external id'];
}

/** A list, a list under `traceEvents`, or one event. Marks and counters are not layers. */
function eventsOf(text: string): readonly unknown[] {
  const parsed = parseJson(text);
  const inner: unknown = isRecord(parsed) ? (parsed['traceEvents'] ?? [parsed]) : parsed;
  if (!Array.isArray(inner)) throw new ExportFormatError('not a list of trace events');
  return inner.filter((event) => isRecord(event) && event['ph'] === 'X');
}
