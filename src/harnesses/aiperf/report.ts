import * as z from 'zod';
import type { HarnessReading, HarnessResult } from '../../records/harness.ts';
import type { MetricId } from '../../records/metric.ts';
import { isRecord } from '../../text/unknown-values.ts';
import type { HarnessFiles, LoneReport } from '../driver.ts';
import { checkReport, parsedJson, readReport } from '../json-report.ts';
import {
  latencyOf,
  OUTPUT_THROUGHPUT,
  REQUEST_LATENCY,
  REQUEST_THROUGHPUT,
  statedIdentity,
  timesInMs,
  tokenRate,
  TTFT,
} from '../llm-values.ts';
import { type AiperfSettings, concurrencyOf, isStreaming, REPORT_NAME } from './settings.ts';

const unit = (name: string) => z.literal(name);
const one = (name: string) => z.object({ unit: unit(name), avg: z.number() });
const spread = (name: string) =>
  z.object({
    unit: unit(name),
    avg: z.number(),
    min: z.number(),
    max: z.number(),
    p50: z.number(),
    p90: z.number(),
    p95: z.number(),
    p99: z.number(),
  });

/** What was asked for, as AIPerf repeats it. */
const inputConfig = z.object({
  models: z.object({ items: z.array(z.object({ name: z.string() })) }).optional(),
  endpoint: z
    .object({
      type: z.string().optional(),
      streaming: z.boolean().optional(),
      extra: z.record(z.string(), z.unknown()).optional(),
    })
    .optional(),
  datasets: z
    .array(
      z.object({
        random_seed: z.number().optional(),
        prompts: z
          .object({
            isl: z.object({ mean: z.number(), stddev: z.number().optional() }).optional(),
            osl: z.object({ mean: z.number(), stddev: z.number().optional() }).optional(),
          })
          .optional(),
      }),
    )
    .optional(),
  phases: z
    .array(
      z.object({
        name: z.string().optional(),
        requests: z.number().optional(),
        concurrency: z.number().optional(),
        rate: z.number().optional(),
      }),
    )
    .optional(),
});

/**
 * `profile_export_aiperf.json` of AIPerf 0.13.0, its schema 1.4: `JsonExportData` in aiperf/common/models/export_models.py.
 * What depends on streaming, or on there being tokens at all, is optional.
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

/** At a given rate the throughput is what was asked for, and the latency tells. */
export function judgedBy(asked: {
  readonly hasTokens: boolean;
  readonly isStreaming: boolean;
  readonly hasRate: boolean;
}): MetricId {
  if (asked.hasRate) return asked.isStreaming ? TTFT : REQUEST_LATENCY;
  return asked.hasTokens ? OUTPUT_THROUGHPUT : REQUEST_THROUGHPUT;
}

export const HARNESS_NAME = 'aiperf';
const DOUBT = 'is it a report of AIPerf 0.13?';
/** Endpoints that answer with tokens. */
const TOKEN_ENDPOINTS = ['chat', 'completions'];

export function hasTokens(endpointType: string | undefined): boolean {
  return TOKEN_ENDPOINTS.includes(endpointType ?? 'chat');
}

/** The numbers of the report that a run left. */
export function readAiperf(settings: AiperfSettings, files: HarnessFiles): HarnessResult {
  const checked = readReport(aiperfReport, files, REPORT_NAME, DOUBT);
  if (checked.kind === 'faulty') {
    const said = lastError(files.text('stdout.log') ?? '');
    return said === null ? checked : { kind: 'faulty', problem: `${checked.problem}: ${said}` };
  }
  const report = checked.data;
  const flaw = flawOf(report);
  if (flaw !== null) return faulty(flaw);
  const wanted = [
    ...(hasTokens(settings.endpointType) ? (['output_token_throughput'] as const) : []),
    ...(isStreaming(settings) ? (['time_to_first_token', 'inter_token_latency'] as const) : []),
  ];
  const missing = wanted.find((name) => report[name] === undefined);
  if (missing !== undefined) return faulty(`no field ${missing}: ${DOUBT}`);
  const concurrency = concurrencyOf(settings);
  return {
    kind: 'read',
    reading: readingOf(report, {
      inFlight: concurrency === undefined ? null : Number(concurrency),
      warmUpRuns: Number(settings.warmup ?? 0),
    }),
  };
}

function faulty(problem: string): HarnessResult {
  return { kind: 'faulty', problem: `${REPORT_NAME}: ${problem}` };
}

/** Why its numbers are none of what was asked for; null for nothing. */
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

/** What of a report becomes metrics. */
function readingOf(
  report: AiperfReport,
  how: { readonly inFlight: number | null; readonly warmUpRuns: number | null },
): HarnessReading {
  const latency = report.request_latency;
  const { inter_token_latency: itl, time_to_first_token: ttft } = report;
  const output = report.output_token_throughput?.avg;
  return {
    method: {
      harness: HARNESS_NAME,
      harnessVersion: report.aiperf_version ?? null,
      // time.perf_counter_ns around each request, at the client: aiperf/transports/aiohttp_trace.py.
      timer: 'wall',
      inFlight: how.inFlight,
      // Between two values, as numpy's default: metric_result_from_array in aiperf/metrics/metric_dicts.py.
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

/** AIPerf says on standard output what went wrong. */
function lastError(stdout: string): string | null {
  const lines = stdout.split('\n').flatMap((line) => ERROR_LINE.exec(line)?.[1] ?? []);
  return lines.at(-1)?.slice(0, MAX_SAID) ?? null;
}

/**
 * AIPerf repeats in its report what it was asked for: nearly the cell of a matrix.
 * When it started stands there in the time of its host, without the zone: it is not taken.
 */
export function aiperfReports(text: string, fileName: string): LoneReport[] {
  const value = parsedJson(text);
  if (!isAiperfReport(value)) return [];
  const nothing = { model: null, precision: null, shapes: null, cudaGraph: null, startedAt: null };
  const checked = checkReport(aiperfReport, value, fileName, DOUBT);
  if (checked.kind === 'faulty') {
    const harness = { name: HARNESS_NAME, timer: 'wall', metric: REQUEST_THROUGHPUT } as const;
    return [{ ...nothing, harness, result: checked, identity: {} }];
  }
  const report = checked.data;
  const flaw = flawOf(report);
  const phase = report.input_config?.phases?.find(({ name }) => name === 'profiling');
  const warmUp = report.input_config?.phases?.find(({ name }) => name === 'warmup');
  const warmUpRuns = report.input_config === undefined ? null : (warmUp?.requests ?? 0);
  return [
    {
      ...nothing,
      harness: {
        name: HARNESS_NAME,
        timer: 'wall',
        metric: judgedBy({
          hasTokens: report.output_token_throughput !== undefined,
          isStreaming: report.time_to_first_token !== undefined,
          hasRate: phase?.rate !== undefined,
        }),
      },
      result:
        flaw === null
          ? { kind: 'read', reading: readingOf(report, { inFlight: phase?.concurrency ?? null, warmUpRuns }) }
          : { kind: 'faulty', problem: `${fileName}: ${flaw}` },
      model: report.input_config?.models?.items[0]?.name ?? null,
      identity: identityOf(report),
    },
  ];
}

function isAiperfReport(value: unknown): boolean {
  return isRecord(value) && 'aiperf_version' in value && 'benchmark_id' in value;
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
