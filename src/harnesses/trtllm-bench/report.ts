import * as z from 'zod';

/** In nanoseconds inside of TensorRT-LLM, in milliseconds here: `PercentileStats` of statistics.py. */
const statistics = z.object({
  minimum: z.number(),
  maximum: z.number(),
  average: z.number(),
  p50: z.number(),
  p90: z.number(),
  p95: z.number(),
  p99: z.number(),
});

/**
 * What `--report_json` writes: `ReportUtility.get_statistics_dict` in tensorrt_llm/bench/dataclasses/reporting.py of
 * NVIDIA/TensorRT-LLM 1.2.0rc3 (commit 0249976). Fields that bench does not use are left out, those that came late are
 * optional.
 */
export const trtllmReport = z.object({
  engine: z.object({
    model: z.string(),
    version: z.string(),
    /** `TRT`, or `Pytorch` for the other two. */
    backend: z.string(),
    dtype: z.string().nullish(),
    quantization: z.string().nullish(),
  }),
  world_info: z.object({
    tp_size: z.number().optional(),
    pp_size: z.number().optional(),
    ep_size: z.number().nullish(),
    world_size: z.number().optional(),
  }),
  request_info: z.object({
    num_requests: z.number(),
    avg_num_concurrent_requests: z.number(),
    avg_input_length: z.number(),
    avg_output_length: z.number(),
  }),
  performance: z.object({
    request_throughput_req_s: z.number(),
    system_output_throughput_tok_s: z.number(),
    system_total_throughput_tok_s: z.number().optional(),
    output_throughput_per_user_tok_s: z.number(),
    output_throughput_per_gpu_tok_s: z.number(),
    avg_request_latency_ms: z.number(),
    request_latency_percentiles_ms: statistics,
  }),
  streaming_metrics: z
    .object({
      token_output_speed_tok_s: z.number(),
      avg_ttft_ms: z.number(),
      avg_tpot_ms: z.number(),
      ttft_percentiles: statistics,
      tpot_percentiles: statistics,
    })
    .optional(),
});

export type TrtllmReport = z.infer<typeof trtllmReport>;
export type TrtllmStatistics = z.infer<typeof statistics>;
