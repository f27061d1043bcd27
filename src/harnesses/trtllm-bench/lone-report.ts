import type { LoneReport } from '../driver.ts';
import { checkReport, parsedJson } from '../json-report.ts';
import { OUTPUT_THROUGHPUT } from '../llm-values.ts';
import { DOUBT, HARNESS_NAME, readingOf } from './read.ts';
import { type TrtllmReport, trtllmReport } from './report.ts';
import { isRecord } from '../../text/unknown-values.ts';

/**
 * A report alone says neither its mode nor what concurrency or which data set was asked for, only what came of them:
 * the cell is named by the size of the requests.
 */
export function trtllmReports(text: string, fileName: string): LoneReport[] {
  const value = parsedJson(text);
  if (!isTrtllmReport(value)) return [];
  const harness = { name: HARNESS_NAME, timer: 'wall', metric: OUTPUT_THROUGHPUT } as const;
  const nothing = { model: null, precision: null, shapes: null, cudaGraph: null, startedAt: null };
  const checked = checkReport(trtllmReport, value, fileName, DOUBT);
  if (checked.kind === 'faulty') return [{ harness, result: checked, ...nothing, identity: {} }];
  const report = checked.data;
  return [
    {
      ...nothing,
      harness,
      result: { kind: 'read', reading: readingOf(report, { inFlight: null, warmUpRuns: null }) },
      model: report.engine.model,
      precision: precisionOf(report.engine),
      identity: identityOf(report),
    },
  ];
}

/** True for what has its blocks, whole or not: then a missing field is told. */
function isTrtllmReport(value: unknown): boolean {
  return (
    isRecord(value) && ['engine', 'request_info', 'performance', 'world_info'].every((block) => isRecord(value[block]))
  );
}

function identityOf({ engine, request_info: info, streaming_metrics, world_info }: TrtllmReport) {
  const { tp_size: tp = 1, pp_size: pp = 1 } = world_info;
  return {
    backend: engine.backend.toLowerCase() === 'trt' ? 'tensorrt' : engine.backend.toLowerCase(),
    requests: String(info.num_requests),
    inputTokens: averageText(info.avg_input_length),
    outputTokens: averageText(info.avg_output_length),
    ...(streaming_metrics === undefined ? {} : { streaming: '' }),
    ...(tp === 1 ? {} : { tp: String(tp) }),
    ...(pp === 1 ? {} : { pp: String(pp) }),
  };
}

function averageText(length: number): string {
  return String(Math.round(length));
}

const PRECISION_OF_TYPE: Readonly<Record<string, string>> = { float32: 'fp32', float16: 'fp16', bfloat16: 'bf16' };

/** Null for a quantization that bench has no word for. */
function precisionOf({ dtype, quantization }: TrtllmReport['engine']): string | null {
  if (quantization === 'FP8') return 'fp8';
  if (quantization !== null && quantization !== undefined) return null;
  return PRECISION_OF_TYPE[dtype ?? ''] ?? null;
}
