import type { HarnessReading, HarnessResult } from '../../records/harness.ts';
import type { HarnessFiles } from '../driver.ts';
import { readReport } from '../json-report.ts';
import {
  latencyOf,
  OUTPUT_THROUGHPUT,
  REQUEST_LATENCY,
  REQUEST_THROUGHPUT,
  timesInMs,
  tokenRate,
} from '../llm-values.ts';
import { concurrencyOf, isStreaming, REPORT_NAME } from './args.ts';
import { type AiperfReport, aiperfReport } from './report.ts';
import type { AiperfSettings } from './settings.ts';

export const HARNESS_NAME = 'aiperf';
export const DOUBT = 'is it a report of AIPerf 0.13?';
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
export function flawOf(report: AiperfReport): string | null {
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
export function readingOf(
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
