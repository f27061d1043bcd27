import * as z from 'zod';

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
export const aiperfReport = z.object({
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

export type AiperfReport = z.infer<typeof aiperfReport>;
