import * as z from 'zod';

import { orAxis } from '../driver.ts';
import { limitSettings } from '../started-program.ts';

const count = (least: number) => orAxis(z.number().int().min(least));
const tokens = z.strictObject({ mean: count(1), stddev: orAxis(z.number().min(0)).optional() });

export const DEFAULT_ESTIMATE_S = 60;

export const aiperfSettings = z
  .strictObject({
    kind: z.literal('aiperf'),
    program: z
      .string()
      .min(1)
      .describe('Name or path of AIPerf, such as /opt/aiperf/bin/aiperf. Default: aiperf')
      .optional(),
    url: z
      .string()
      .min(1)
      .describe('Where the server listens: http://localhost:8000. No part of the cell. Without a password'),
    model: z.string().min(1).describe('The model, as the server calls it'),
    endpointType: orAxis(z.string().regex(/^[a-z][a-z-]*$/))
      .describe('chat, completions, or another that AIPerf knows. Default: chat')
      .optional(),
    streaming: orAxis(z.union([z.boolean(), z.enum(['on', 'off'])]))
      .describe('Tokens as they come: only then TTFT and ITL are measured')
      .optional(),
    concurrency: count(1)
      .describe('Requests under way at the same time. Default: 1, no limit with a requestRate')
      .optional(),
    requestRate: orAxis(z.number().gt(0)).describe('Requests a second, whether or not the server keeps up').optional(),
    requestCount: count(1).describe('Requests of one run'),
    warmup: count(0).describe('Requests before the timed ones. Default: none').optional(),
    inputTokens: tokens.describe('Length of the made-up prompts. Default of AIPerf: 550').optional(),
    outputTokens: tokens.describe('Tokens that are asked for. Default: the model ends by itself').optional(),
    seed: orAxis(z.number().int().min(0)).describe('Of the prompts: the same in each run. Default: 0').optional(),
    tokenizer: z
      .string()
      .min(1)
      .describe('What counts tokens: a name at Hugging Face, or a folder (with / or . in front). Default: the model')
      .optional(),
    extraInputs: z
      .record(z.string().regex(/^\w+$/), z.union([z.string(), z.number(), z.boolean()]))
      .describe('Fields of each request: {ignore_eos: true}')
      .optional(),
    config: z
      .string()
      .min(1)
      .describe(
        "AIPerf's own YAML; settings here stand above it, its content is part of the cell. The place for a key: api_key: ${OPENAI_API_KEY}",
      )
      .optional(),
    apiKey: z
      .unknown()
      .describe('Refused: settings are stored. A key stands in a variable that config: names')
      .optional(),
    extraArgs: z.array(z.string()).describe('More arguments of aiperf profile; they are part of the cell').optional(),
    ...limitSettings(DEFAULT_ESTIMATE_S),
  })
  .describe("A server that speaks OpenAI's protocol, by NVIDIA's AIPerf (options as in 0.13.0)");

export type AiperfSettings = z.infer<typeof aiperfSettings>;
