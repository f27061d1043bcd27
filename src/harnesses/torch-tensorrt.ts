import * as z from 'zod';

import { PRECISIONS } from '../records/cell.ts';
import type { CellHarness, HarnessValue, TimeStatistics } from '../records/harness.ts';
import { customMetric, type CustomMetricId } from '../records/metric.ts';
import { defineHarness, type FoundReport } from './define-harness.ts';
import * as setting from './settings.ts';

const HEADER = /^\s*Latency over (\d+) runs? \(ms\):\s*$/;
const ROW = /^\s*(Mean|Median|Min|Max|P\d+(?:\.\d+)?):\s*(\S+)\s*$/;
const NAMED_PRECISIONS = PRECISIONS.filter((precision) => precision !== 'best');
const PRECISION = new RegExp(`\\b(?:${NAMED_PRECISIONS.join('|')})\\b`);
const BATCH = /\bbatch(?:[ _-]?size)?\s*[:=]?\s*(\d+)/;
const GRAPH = /(?:\b(no|without|with)\s+)?\bcuda[ _-]?graphs?\b\s*[:=]?\s*(on|off|enabled|disabled|true|false)?/;
const COMMENT = /^\s*#\s*(.*)$/;
const ROWS = ['Mean', 'Median', 'Min', 'Max', 'P90', 'P95', 'P99'] as const;

/**
 * Metrics from the conversion's log of each engine, printed by `torch_tensorrt.dynamo.conversion._TRTInterpreter`. If a
 * graph becomes several engines, their sum counts.
 */
const CONVERSION = [
  [customMetric('networkConstruction', 'lower', 's'), /TRT INetwork construction elapsed time: (\S+)/g, secondsOf],
  [customMetric('engineBuild', 'lower', 's'), /Build TRT engine elapsed time: (\S+)/g, secondsOf],
  [
    customMetric('engineMemory', 'lower', 'MiB'),
    /TRT Engine uses: (\d+) bytes of Memory/g,
    (bytes) => Number(bytes) / 2 ** 20,
  ],
  [customMetric('engines', 'lower', 'engines'), /Build TRT engine elapsed time: (\S+)/g, () => 1],
] as const satisfies readonly (readonly [CustomMetricId, RegExp, (text: string) => number])[];
const ENGINE_BUILD = CONVERSION[1][0];

/** The harness of a cell whose timer is not stated. */
export const TORCH_CELL: CellHarness = { name: 'torch-tensorrt', timer: 'unknown', metric: 'latencyMs' };

/**
 * A Torch-TensorRT harness as in TensorRT's benchmarking guide, which prints one block of latencies. It calls
 * numpy.percentile, which interpolates. Blocks of warm-ups precede the block of the result.
 */
export const torchTensorrtDriver = defineHarness({
  kind: 'torch-tensorrt',
  about: 'A Torch-TensorRT script that prints the block of latencies of the benchmarking guide',
  settings: {
    run: setting.run(
      'The script and its arguments; no shell reads them. It prints a block that begins with "Latency over N runs (ms):". {batch} is replaced by the value of an axis, {cudaGraph} is on or off, {runFolder} the folder of the run',
    ),
    timer: setting.timer,
    transfers: z.boolean().describe('Whether the times include copies between host and GPU, if known').optional(),
    warmUpRuns: setting.warmUpRuns,
    ...setting.program(60),
  },
  defaultEstimateS: 60,
  timer: 'unknown',
  inFlight: 1,
  percentileRule: 'linear',
  needs: ['precision', 'shapes', 'cudaGraph'],
  mark: /^[^\S\n]*Latency over \d+ runs? \(ms\):|Build TRT engine elapsed time: /m,
  report: 'stdout.log',
  advice: 'a block that begins with "Latency over N runs (ms):" is needed',
  hasWarmUps: true,
  started: ({ run }) => ({ run }),
  found: (text, isStandalone, stderr) => {
    const lines = text.split(/\r?\n/);
    const printed = conversionIn(text);
    const values = printed.length > 0 ? printed : conversionIn(stderr);
    const blocks = lines.flatMap((line, place): FoundReport[] => {
      const runs = HEADER.exec(line)?.[1];
      if (runs === undefined) return [];
      const comments = commentsAbove(lines, place);
      const latencyMs = statisticsBelow(lines, place);
      const found = typeof latencyMs === 'string' ? { problem: latencyMs } : { latencyMs };
      const stated = { ...statedIn(comments), notes: notesIn(comments) };
      return [{ ...found, timedRuns: Number(runs), stated }];
    });
    if (values.length === 0) return blocks;
    const last = blocks.at(-1);
    if (last !== undefined) return [...blocks.slice(0, -1), { ...last, values }];
    return isStandalone ? [{ metric: ENGINE_BUILD, values }] : [];
  },
});

function conversionIn(text: string): HarnessValue[] {
  return CONVERSION.flatMap(([metric, line, read]) => {
    const found = [...text.matchAll(line)].map(([, value = '']) => read(value));
    return found.length === 0 ? [] : [{ metric, value: found.reduce((sum, value) => sum + value, 0) }];
  });
}

/** Parses a duration as Python prints it: `0:01:12.345678`. */
function secondsOf(text: string): number {
  return text.split(':').reduce((seconds, part) => 60 * seconds + Number(part), 0);
}

/** The comments above a line, without their `#`. */
function commentsAbove(lines: readonly string[], header: number): string[] {
  const first = lines.slice(0, header).findLastIndex((line) => !COMMENT.test(line)) + 1;
  return lines.slice(first, header).map((line) => COMMENT.exec(line)?.[1] ?? '');
}

/** @returns a text for a problem */
function statisticsBelow(lines: readonly string[], header: number): TimeStatistics | string {
  const rows = new Map<string, number>();
  for (const line of lines.slice(header + 1)) {
    const [, name, value = ''] = ROW.exec(line) ?? [];
    if (name === undefined) break;
    rows.set(name, Number(value));
  }
  const ms = (name: string): number => rows.get(name) ?? Number.NaN;
  const wrong = ROWS.filter((name) => !(ms(name) >= 0 && Number.isFinite(ms(name))));
  if (wrong.length > 0) return `line ${header + 1}: the block of latencies has no time for ${wrong.join(', ')}`;
  const known = [...rows].filter(([name]) => /^P\d/.test(name)).map(([name, value]) => [name.slice(1), value]);
  const percentiles: Record<string, number> = Object.fromEntries(known);
  return { min: ms('Min'), max: ms('Max'), mean: ms('Mean'), median: ms('Median'), percentiles };
}

/** The cell according to the comments above a block: `# FP8, batch size 256, CUDA graph on`. */
function statedIn(comments: readonly string[]) {
  const text = comments.join(', ').toLowerCase();
  const words = new Set(text.split(/[^a-z0-9]+/));
  const precisions = NAMED_PRECISIONS.filter((precision) => words.has(precision));
  const [precision] = precisions;
  const batch = BATCH.exec(text)?.[1];
  const graph = GRAPH.exec(text);
  const word = graph?.[2] ?? graph?.[1];
  return {
    // Two precisions are ambiguous.
    precision: precisions.length === 1 ? (precision ?? null) : null,
    shapes: batch === undefined ? null : { input: [Number(batch)] },
    cudaGraph: word === undefined ? null : ['on', 'enabled', 'true', 'with'].includes(word),
  };
}

/** Comments that say more, such as `FP16, Input(min_shape=(1, 3), opt_shape=(8, 3), max_shape=(32, 3))`. */
function notesIn(comments: readonly string[]): string[] {
  return comments.filter((comment) => {
    const more = [PRECISION, BATCH, GRAPH].reduce((text, stated) => text.replace(stated, ''), comment.toLowerCase());
    return /\w/.test(more);
  });
}
