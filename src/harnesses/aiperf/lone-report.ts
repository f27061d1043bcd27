import { isRecord } from '../../text/unknown-values.ts';
import type { LoneReport } from '../driver.ts';
import { checkReport, parsedJson } from '../json-report.ts';
import { REQUEST_THROUGHPUT, statedIdentity } from '../llm-values.ts';
import { judgedBy } from './judged-by.ts';
import { DOUBT, flawOf, HARNESS_NAME, readingOf } from './read.ts';
import { type AiperfReport, aiperfReport } from './report.ts';

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
