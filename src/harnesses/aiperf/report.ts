import * as z from 'zod';
import type { HarnessReading, HarnessResult, Method } from '../../records/harness.ts';
import type { MetricId } from '../../records/metric.ts';
import { isRecord } from '../../text/unknown-values.ts';
import { faulty, type HarnessFiles, type StandaloneReport, NOTHING_STATED } from '../driver.ts';
import { checkReport, parsedJson, readReport } from '../json-report.ts';
import {
  isStreaming,
  latencyOf,
  OUTPUT_THROUGHPUT,
  REQUEST_LATENCY,
  REQUEST_THROUGHPUT,
  statedIdentity,
  timesInMs,
  tokenRate,
  TTFT,
} from '../llm-values.ts';
import { type AiperfSettings, concurrencyOf, REPORT_NAME } from './settings.ts';

const one = (unit: string) => z.object({ unit: z.literal(unit), avg: z.number() });
const number = z.number();
const spread = (unit: string) =>
  one(unit).extend({ min: number, max: number, p50: number, p90: number, p95: number, p99: number });

const tokens = z.object({ mean: number, stddev: number.optional() });

const inputConfig = z
  .object({
    models: z.object({ items: z.array(z.object({ name: z.string() })) }),
    endpoint: z
      .object({ type: z.string(), streaming: z.boolean(), extra: z.record(z.string(), z.unknown()) })
      .partial(),
    datasets: z.array(
      z.object({ random_seed: number, prompts: z.object({ isl: tokens, osl: tokens }).partial() }).partial(),
    ),
    phases: z.array(z.object({ name: z.string(), requests: number, concurrency: number, rate: number }).partial()),
  })
  .partial();

/**
 * `profile_export_aiperf.json` of AIPerf 0.13.0, its schema 1.4: `JsonExportData` in
 * aiperf/common/models/export_models.py. Fields that depend on streaming or on tokens are optional.
 */
const aiperfReport = z.object({
  aiperf_version: z.string().optional(),
  input_config: inputConfig.optional(),
  was_cancelled: z.boolean().optional(),
  is_complete: z.boolean().optional(),
  error_summary: z
    .array(
      z.object({
        error_details: z.object({ code: z.union([z.number(), z.string()]).nullish(), type: z.string().nullish() }),
        count: z.number(),
      }),
    )
    .optional(),
  error_request_count: one('requests').optional(),
  request_count: one('requests'),
  request_throughput: one('requests/sec'),
  request_latency: spread('ms'),
  output_token_throughput: one('tokens/sec').optional(),
  total_token_throughput: one('tokens/sec').optional(),
  output_token_throughput_per_user: spread('tokens/sec/user').optional(),
  time_to_first_token: spread('ms').optional(),
  inter_token_latency: spread('ms').optional(),
});

type AiperfReport = z.infer<typeof aiperfReport>;

/** At a fixed request rate throughput is an input, so latency decides. */
export function judgedBy(requested: {
  readonly hasTokens: boolean;
  readonly isStreaming: boolean;
  readonly hasRate: boolean;
}): MetricId {
  if (requested.hasRate) return requested.isStreaming ? TTFT : REQUEST_LATENCY;
  return requested.hasTokens ? OUTPUT_THROUGHPUT : REQUEST_THROUGHPUT;
}

export const HARNESS_NAME = 'aiperf';
const HINT = 'is it a report of AIPerf 0.13?';
const TOKEN_ENDPOINTS = ['chat', 'completions'];

export function hasTokens(endpointType: string | undefined): boolean {
  return TOKEN_ENDPOINTS.includes(endpointType ?? 'chat');
}

export function readAiperf(settings: AiperfSettings, files: HarnessFiles): HarnessResult {
  const checked = readReport(aiperfReport, files, REPORT_NAME, HINT);
  if (checked.kind === 'faulty') {
    const error = lastError(files.text('stdout.log') ?? '');
    return error === null ? checked : faulty(`${checked.problem}: ${error}`);
  }
  const report = checked.data;
  const flaw = flawOf(report);
  if (flaw !== null) return faulty(`${REPORT_NAME}: ${flaw}`);
  const wanted = [
    ...(hasTokens(settings.endpointType) ? (['output_token_throughput'] as const) : []),
    ...(isStreaming(settings) ? (['time_to_first_token', 'inter_token_latency'] as const) : []),
  ];
  const missing = wanted.find((name) => report[name] === undefined);
  if (missing !== undefined) return faulty(`${REPORT_NAME}: no field ${missing}: ${HINT}`);
  const concurrency = concurrencyOf(settings);
  return {
    kind: 'read',
    reading: readingOf(report, {
      inFlight: concurrency === undefined ? null : Number(concurrency),
      warmUpRuns: Number(settings.warmup ?? 0),
    }),
  };
}

/** Why the report is unusable; null if it is fine. */
function flawOf(report: AiperfReport): string | null {
  if (report.was_cancelled === true) return 'the run was cancelled';
  const failed = report.error_request_count?.avg ?? 0;
  if (failed > 0) {
    const all = failed + report.request_count.avg;
    const [first] = report.error_summary ?? [];
    const { code, type } = first?.error_details ?? {};
    const what = [code, type].filter((part) => part !== null && part !== undefined).join(' ');
    return `${failed} of ${all} requests failed${what === '' ? '' : `, the first by ${what}`}`;
  }
  return report.is_complete === false ? 'not complete: some records are missing' : null;
}

function readingOf(report: AiperfReport, how: Pick<Method, 'inFlight' | 'warmUpRuns'>): HarnessReading {
  const latency = report.request_latency;
  const { inter_token_latency: itl, time_to_first_token: ttft } = report;
  const output = report.output_token_throughput?.avg;
  return {
    method: {
      harness: HARNESS_NAME,
      harnessVersion: report.aiperf_version ?? null,
      // time.perf_counter_ns around each request, in the client: aiperf/transports/aiohttp_trace.py.
      timer: 'wall',
      inFlight: how.inFlight,
      // Interpolated, numpy's default: metric_result_from_array in aiperf/metrics/metric_dicts.py.
      percentileRule: 'linear',
      transfers: true,
      warmUpRuns: how.warmUpRuns,
      timedRuns: report.request_count.avg,
    },
    latencyMs: latencyOf({ ...named(latency), min: latency.min, max: latency.max }),
    values: [
      { metric: REQUEST_THROUGHPUT, value: report.request_throughput.avg },
      ...(output === undefined ? [] : [{ metric: OUTPUT_THROUGHPUT, value: output }]),
      ...tokenRate('totalThroughput', report.total_token_throughput?.avg),
      ...tokenRate('outputThroughputPerUser', report.output_token_throughput_per_user?.avg),
      { metric: REQUEST_LATENCY, value: latency.avg },
      ...timesInMs('requestLatency', named(latency)).slice(1),
      ...(ttft === undefined ? [] : timesInMs('ttft', named(ttft))),
      ...(itl === undefined ? [] : timesInMs('itl', named(itl))),
    ],
  };
}

function named({ avg, p50, p90, p95, p99 }: AiperfReport['request_latency']) {
  return { mean: avg, p50, p90, p95, p99 };
}

const ERROR_LINE = /^\d\d:\d\d:\d\d\.\d+ ERROR +(.+?)(?: \(\w+\.py:\d+\))?$/;
const MAX_SAID = 200;

/** AIPerf prints errors on standard output. */
function lastError(stdout: string): string | null {
  const lines = stdout.split('\n').flatMap((line) => ERROR_LINE.exec(line)?.[1] ?? []);
  return lines.at(-1)?.slice(0, MAX_SAID) ?? null;
}

/**
 * AIPerf repeats in its report what it was asked for: nearly the cell of a matrix.
 * When it started is there in the time of its host, without the zone: it is not taken.
 */
export function aiperfReports(text: string, fileName: string): StandaloneReport[] {
  const value = parsedJson(text);
  if (!isRecord(value) || !('aiperf_version' in value && 'benchmark_id' in value)) return [];
  const harness = { name: HARNESS_NAME, timer: 'wall', metric: REQUEST_THROUGHPUT } as const;
  const checked = checkReport(aiperfReport, value, fileName, HINT);
  if (checked.kind === 'faulty') return [{ ...NOTHING_STATED, harness, result: checked }];
  const report = checked.data;
  const flaw = flawOf(report);
  const phase = report.input_config?.phases?.find(({ name }) => name === 'profiling');
  const warmUp = report.input_config?.phases?.find(({ name }) => name === 'warmup');
  const warmUpRuns = report.input_config === undefined ? null : (warmUp?.requests ?? 0);
  const metric = judgedBy({
    hasTokens: report.output_token_throughput !== undefined,
    isStreaming: report.time_to_first_token !== undefined,
    hasRate: phase?.rate !== undefined,
  });
  const result: HarnessResult =
    flaw === null
      ? { kind: 'read', reading: readingOf(report, { inFlight: phase?.concurrency ?? null, warmUpRuns }) }
      : faulty(`${fileName}: ${flaw}`);
  const model = report.input_config?.models?.items[0]?.name ?? null;
  return [{ ...NOTHING_STATED, harness: { ...harness, metric }, result, model, identity: identityOf(report) }];
}

function identityOf({ input_config: config }: AiperfReport): Record<string, string> {
  const phase = config?.phases?.find(({ name }) => name === 'profiling');
  const dataset = config?.datasets?.[0];
  return statedIdentity({
    endpoint: config?.endpoint?.type,
    streaming: config?.endpoint?.streaming === true ? '' : undefined,
    concurrency: phase?.concurrency,
    requestRate: phase?.rate,
    requests: phase?.requests,
    inputTokens: dataset?.prompts?.isl?.mean,
    inputStddev: dataset?.prompts?.isl?.stddev || undefined,
    outputTokens: dataset?.prompts?.osl?.mean,
    outputStddev: dataset?.prompts?.osl?.stddev || undefined,
    seed: dataset?.random_seed,
    ...Object.fromEntries(
      Object.entries(config?.endpoint?.extra ?? {}).map(([name, value]) => [`extra.${name}`, String(value)]),
    ),
  });
}
