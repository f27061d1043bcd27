import * as z from 'zod';
import { orAxis } from '../driver.ts';
import { isStreaming, streamingSetting } from '../llm-values.ts';
import { countSetting, limitSettings, option, programOf, textSetting } from '../started-program.ts';

const tokens = z.strictObject({ mean: orAxis(z.number().int().min(1)), stddev: orAxis(z.number().min(0)).optional() });

export const DEFAULT_ESTIMATE_S = 60;

export const aiperfSettings = z
  .strictObject({
    kind: z.literal('aiperf'),
    program: textSetting('Name or path of AIPerf, such as /opt/aiperf/bin/aiperf. Default: aiperf').optional(),
    url: textSetting('Where the server listens: http://localhost:8000. No part of the cell. Without a password'),
    model: textSetting('The model, as the server calls it'),
    endpointType: orAxis(z.string().regex(/^[a-z][a-z-]*$/))
      .describe('chat, completions, or another that AIPerf knows. Default: chat')
      .optional(),
    streaming: streamingSetting.describe('Tokens as they come: only then TTFT and ITL are measured').optional(),
    concurrency: countSetting(
      1,
      'Requests under way at the same time. Default: 1, no limit with a requestRate',
    ).optional(),
    requestRate: orAxis(z.number().gt(0)).describe('Requests a second, whether or not the server keeps up').optional(),
    requestCount: countSetting(1, 'Requests of one run'),
    warmup: countSetting(0, 'Requests before the timed ones. Default: none').optional(),
    inputTokens: tokens.describe('Length of the made-up prompts. Default of AIPerf: 550').optional(),
    outputTokens: tokens.describe('Tokens that are asked for. Default: the model ends by itself').optional(),
    seed: countSetting(0, 'Of the prompts: the same in each run. Default: 0').optional(),
    tokenizer: textSetting(
      'What counts tokens: a name at Hugging Face, or a folder (with / or . in front). Default: the model',
    ).optional(),
    extraInputs: z
      .record(z.string().regex(/^\w+$/), z.union([z.string(), z.number(), z.boolean()]))
      .describe('Fields of each request: {ignore_eos: true}')
      .optional(),
    config: textSetting(
      "AIPerf's own YAML; settings here stand above it, its content is part of the cell. The place for a key: api_key: ${OPENAI_API_KEY}",
    ).optional(),
    apiKey: z.unknown().describe('Refused: settings are stored. A key is in a variable that config: names').optional(),
    extraArgs: z.array(z.string()).describe('More arguments of aiperf profile; they are part of the cell').optional(),
    ...limitSettings(DEFAULT_ESTIMATE_S),
  })
  .describe("A server that speaks OpenAI's protocol, by NVIDIA's AIPerf (options as in 0.13.0)");

export type AiperfSettings = z.infer<typeof aiperfSettings>;

export const REPORT_NAME = 'profile_export_aiperf.json';

/** `aiperf profile` with the options of 0.13.0. */
export function aiperfArgs(
  settings: AiperfSettings,
  resolve: (path: string) => string,
): readonly [string, ...string[]] {
  const { config, inputTokens, outputTokens, tokenizer } = settings;
  const [program, ...before] = programOf([settings.program ?? 'aiperf'], resolve);
  return [
    program,
    ...before,
    'profile',
    ...option('--config', config === undefined ? undefined : resolve(config)),
    ...option('--model', settings.model),
    ...option('--url', settings.url),
    ...option('--endpoint-type', settings.endpointType ?? 'chat'),
    ...(isStreaming(settings) ? ['--streaming'] : []),
    ...option('--concurrency', concurrencyOf(settings)),
    ...option('--request-rate', settings.requestRate),
    ...option('--request-count', settings.requestCount),
    ...option('--warmup-request-count', settings.warmup),
    ...option('--synthetic-input-tokens-mean', inputTokens?.mean),
    ...option('--synthetic-input-tokens-stddev', inputTokens?.stddev),
    ...option('--output-tokens-mean', outputTokens?.mean),
    ...option('--output-tokens-stddev', outputTokens?.stddev),
    ...option('--random-seed', settings.seed ?? 0),
    ...option('--tokenizer', isFolder(tokenizer) ? resolve(tokenizer) : tokenizer),
    ...Object.entries(settings.extraInputs ?? {}).flatMap(([name, value]) => [
      '--extra-inputs',
      `${name}:${String(value)}`,
    ]),
    ...(settings.extraArgs ?? []),
    ...option('--artifact-dir', '{runFolder}'),
    ...option('--ui', 'none'),
  ];
}

/** Undefined for no limit: requests are then sent at their rate. */
export function concurrencyOf(settings: AiperfSettings): string | number | undefined {
  return settings.concurrency ?? (settings.requestRate === undefined ? 1 : undefined);
}

export function isFolder(tokenizer: string | undefined): tokenizer is string {
  return tokenizer !== undefined && /^[./]/.test(tokenizer);
}
