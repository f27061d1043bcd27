import type { MetricId } from '../../records/metric.ts';
import { OUTPUT_THROUGHPUT, REQUEST_LATENCY, REQUEST_THROUGHPUT, TTFT } from '../llm-values.ts';

/** At a given rate the throughput is what was asked for, and the latency tells. */
export function judgedBy(asked: {
  readonly hasTokens: boolean;
  readonly isStreaming: boolean;
  readonly hasRate: boolean;
}): MetricId {
  if (asked.hasRate) return asked.isStreaming ? TTFT : REQUEST_LATENCY;
  return asked.hasTokens ? OUTPUT_THROUGHPUT : REQUEST_THROUGHPUT;
}
